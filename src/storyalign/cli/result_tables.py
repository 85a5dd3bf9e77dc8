"""The table of results on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from storyalign.cli.terminal import NAMED, new_table, say
from storyalign.evaluation.wording import interval, label, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from storyalign.evaluation.results import Results, ScorerResult


def print_results(out: Console, results: Results) -> None:
    """Print the table, the parts by dimension and source, and everything that a figure must not go without."""
    data = results.data
    facts = f"{data['n']} groups, {data['n_premises']} premises, chance {percent(results.chance)}%"
    say(out, f"{data['name']}: {facts}", "bold")
    for note in data["notes"]:
        say(out, note, "")
    out.print()
    out.print(_overall(results))
    for title, key, counts in (
        ("By dimension", "by_dimension", data["n_by_dimension"]),
        ("By source", "by_source", data["n_by_source"]),
    ):
        if counts:
            out.print()
            out.print(_by_name(results, title, key, counts))
    out.print()
    for line in _notes(results):
        say(out, line)


def _overall(results: Results) -> Table:
    table = new_table("Scorer", "Accuracy (95%)", "Macro (95%)", "n", "Ties", "Cut", "Unscored")
    for r in results.scorers:
        macro = "–" if r.macro_accuracy is None else f"{percent(r.macro_accuracy)} ({interval(r.macro_ci)})"
        table.add_row(
            _name(r),
            f"{percent(r.accuracy)} ({interval(r.ci)})",
            macro,
            str(r.n),
            f"{r.n_ties} ({r.n_ties_cut} cut)" if r.n_ties_cut else str(r.n_ties),
            str(r.n_truncated),
            str(r.n_unscored),
            style="dim" if r.kind == "null" else "",
        )
    return table


def _by_name(results: Results, title: str, key: str, counts: Mapping[str, int]) -> Table:
    table = new_table(title, *(f"{label(name)}\nn={n}" for name, n in counts.items()))
    for r in results.scorers:
        parts: Mapping[str, Any] = getattr(r, key)
        cells = [f"{percent(parts[name]['accuracy'])}\n{interval(parts[name]['ci'])}" for name in counts]
        table.add_row(_name(r), *cells, style="dim" if r.kind == "null" else "")
    return table


def _notes(results: Results) -> list[str]:
    methods = ", ".join(dict.fromkeys(r.ci_method for r in results.scorers if r.ci_method)) or "none"
    ties = "a tie of k at the top earns 1/k" if results.tie_policy == "split" else "a tie at the top is wrong"
    lines = [
        f"Percent. Accuracy weighs every group the same, macro every dimension; {ties}. Intervals: {methods}.",
        *(f"left out: {reason} ({n})" for reason, n in results.dropped.items()),
    ]
    for r in results.scorers:
        if r.n_unscored:
            wrong = f"{percent(r.accuracy_unscored_wrong)} ({interval(r.ci_unscored_wrong)})"
            lines.append(f"{r.name}: {r.n_unscored} unscored groups; counted as wrong, accuracy is {wrong}")
            lines += [f"  {group['id']}: {group['reason']}" for group in r.unscored[:NAMED]]
            lines += [f"  ... and {r.n_unscored - NAMED} more"] if r.n_unscored > NAMED else []
        if r.report.get("flip_rate") is not None:
            lines.append(f"{r.name}: flip rate {percent(r.report['flip_rate'])}% (n={r.report.get('flips_of')})")
    return [*lines, results.signature, *(r.signature for r in results.scorers if r.kind != "null")]


def _name(result: ScorerResult) -> Text:
    return Text(label(result.name) if result.kind == "null" else result.name)
