"""Shortcuts on the terminal: null scorers, what a scorer leans on, flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from storyalign.cli.terminal import new_table, say
from storyalign.tables import NO_FIGURE, interval, label, p_value, percent

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.audit.reward_bias import RewardBias
    from storyalign.audit.shortcuts import ShortcutReport


def print_shortcuts(out: Console, report: ShortcutReport) -> None:
    """Print how far the null scorers get, what a scorer leans on, and the flags."""
    say(out, f"{report.n} groups, {report.n_premises} premises, chance {percent(report.chance)}%", "bold")
    out.print()
    table = new_table("Null scorer", "Accuracy", "95%", "n", "Ties", "p (corrected)", "")
    for null in report.null_scorers:
        table.add_row(
            label(null.name),
            percent(null.accuracy),
            interval(null.ci),
            str(null.n),
            str(null.n_ties),
            NO_FIGURE if null.p_value is None else p_value(null.p_value),
            "flagged" if null.flagged else "",
        )
    out.print(table)
    out.print()
    print_writers(out, {"": report.writers})
    if report.scorer is not None:
        _print_bias(out, report.scorer)
    for flag in report.flags:
        say(out, f"flag: {flag}", "bold red")
    if not report.flags:
        say(out, "no shortcut found", "bold green")


def print_writers(out: Console, balances: Mapping[str, Mapping[str, Any]]) -> None:
    """Print how often each writer's story is chosen, by construction where there are several.

    Args:
        out: the terminal.
        balances: ``WriterBalance.to_json`` by construction.
    """
    table = new_table("Writer", "Chosen", "Rejected", "Share chosen", "95%")
    lines = []
    for name, balance in balances.items():
        place = f"{name}: " if name else ""
        for row in balance["writers"]:
            table.add_row(
                f"{place}{row['writer']}",
                f"{row['chosen']:,}",
                f"{row['rejected']:,}",
                percent(row["share"]),
                interval(row["ci"]),
            )
        if balance["n"]:
            lines.append(
                f"{place}the writer alone tells the chosen story in {percent(balance['accuracy'])}% "
                f"({interval(balance['ci'])}) of {balance['n']:,} comparisons, with shares taken from the same ones"
            )
        if balance["n_unnamed"]:
            lines.append(f"{place}{balance['n_unnamed']:,} comparisons do not name both writers")
    if table.row_count:
        out.print(table)
    for line in lines:
        say(out, line)
    out.print()


def _print_bias(out: Console, bias: RewardBias) -> None:
    table = new_table(bias.name, "Accuracy", "95%", "n", "Chance")
    gap = bias.length_gap
    for name, part, chance in (
        ("top-1, all groups", bias.overall, bias.overall["chance"]),
        ("top-1, against stories as long within a tenth", bias.length_matched, bias.length_matched["chance"]),
        ("pairs, rejected story shorter", gap.shorter_rejected, 0.5),
        ("pairs, as long within a tenth", gap.matched, 0.5),
        ("pairs, rejected story longer", gap.longer_rejected, 0.5),
    ):
        table.add_row(name, percent(part["accuracy"]), interval(part["ci"]), str(part["n"]), percent(chance))
    out.print(table)
    out.print()
    table = new_table("Spearman inside the groups", "rho", "95%", "Gold choice", "n")
    for cue, c in bias.correlation.items():
        if c.rho is None or c.gold is None:
            table.add_row(f"reward and {cue}", NO_FIGURE, NO_FIGURE, NO_FIGURE, "0")
        else:
            ci = NO_FIGURE if c.ci is None else f"{c.ci[0]:+.2f} to {c.ci[1]:+.2f}"
            table.add_row(f"reward and {cue}", f"{c.rho:+.2f}", ci, f"{c.gold:+.2f}", str(c.n))
    out.print(table)
    out.print()
