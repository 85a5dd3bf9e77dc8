"""Head-to-head results on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.cli.terminal import new_table, say
from storyalign.tables import NO_FIGURE, interval, label, markdown_row, p_value, percent

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.corpus.human_rankings import HumanRankings
    from storyalign.evaluation.head_to_head import Duel, HeadToHead, Share
    from storyalign.evaluation.rater_agreement import Agreement
    from storyalign.evaluation.strengths import Strength

MOST_IN_MATRIX = 2
"""With more scorers than this the matrix says something that the list of duels does not."""

BY_JUDGES = "In Human-LLM groups people confirmed the best story alone; the order of the others is that of LLM judges."

_NOTE = (
    "Percent of the groups. The scorer whose chosen story stands higher in the reference order wins; tie: both choose "
    "the same story; even: the order ranks both stories alike. p: two-sided sign test over premises, each won by the "
    "scorer with more wins than losses in its groups; Holm over the pairs."
)


def print_duels(out: Console, name: str, result: HeadToHead, notes: Sequence[str]) -> None:
    """Print every pair, the matrix of wins, and the strengths."""
    say(out, f"{name}: {result.n} groups with an order", "bold")
    if result.n_unordered:
        say(out, f"{result.n_unordered} groups without an order are left out", "")
    out.print()
    table = new_table("First / second", "n", "Wins", "Tie", "Even", "Loses", "p (Holm)", "Verdict")
    for duel in result.duels:
        verdict = _verdict(duel)
        shares = [_share(share) for share in (duel.win, duel.tie, duel.even, duel.lose)]
        names = Text(f"{label(duel.a)}\n{label(duel.b)}")
        table.add_row(names, str(duel.n), *shares, p_value(duel.p_holm), Text(verdict))
    out.print(table)
    out.print()
    if len(result.names) > MOST_IN_MATRIX:
        table = new_table("Wins of the row over the column, %", *map(_short, result.names))
        for row in result.names:
            table.add_row(Text(label(row)), *(_wins(result, row, column) for column in result.names))
        out.print(table)
        out.print()
    if result.strengths:
        table = new_table("Bradley-Terry", "Strength (log-odds)", "95%")
        for s in result.strengths:
            table.add_row(Text(label(s.name)), f"{s.strength:+.2f}", _bounds(s))
        out.print(table)
        out.print()
    elif result.no_strengths:
        say(out, f"no Bradley-Terry strengths: {result.no_strengths}")
    for duel in result.duels:
        if duel.n_left_out:
            say(
                out, f"{label(duel.a)} / {label(duel.b)}: {duel.n_left_out} groups left out, as one has no choice there"
            )
    for line in (_NOTE, *notes):
        say(out, line)


def agreement_line(agreement: Agreement, rankings: HumanRankings) -> str:
    """Return whose order it is, and how far the annotators agree."""
    n = len(agreement.annotators)
    line = f"reference: {rankings.source}"
    if not rankings.is_stored:
        line += f", {n} annotator{'s' if n != 1 else ''}"
    if rankings.settled:
        line += f", {len(rankings.settled)} groups settled by a senior one"
    if rankings.passed_over:
        line += "".join(f", {count} {reason} passed over" for reason, count in rankings.passed_over.items())
    if agreement.alpha is None:
        return line
    ci = "" if agreement.ci is None else f" (95% {agreement.ci[0]:.2f} to {agreement.ci[1]:.2f})"
    return (
        f"{line}; Krippendorff's alpha ({agreement.scale}) {agreement.alpha:.2f}{ci} over {agreement.n_stories} "
        f"stories of {agreement.n_groups} groups"
    )


def duels_markdown(result: HeadToHead, notes: Sequence[str]) -> str:
    """Write the duels, the matrix and the strengths."""
    rows = [["First", "Second", "n", "Wins [95%]", "Tie", "Even", "Loses [95%]", "p (Holm)"], ["---"] * 8]
    for d in result.duels:
        plain = [NO_FIGURE if s is None else percent(s.value) for s in (d.tie, d.even)]
        shares = [_share(d.win, "[]"), *plain, _share(d.lose, "[]")]
        rows.append([label(d.a), label(d.b), str(d.n), *shares, p_value(d.p_holm)])
    tables = [rows]
    if len(result.names) > MOST_IN_MATRIX:
        heads = [["Wins over", *map(label, result.names)], ["---"] * (1 + len(result.names))]
        tables.append(heads + [[label(row), *(_wins(result, row, c) for c in result.names)] for row in result.names])
    if result.strengths:
        strengths = [[label(s.name), f"{s.strength:+.2f}", _bounds(s)] for s in result.strengths]
        tables.append([["Bradley-Terry", "Strength", "95%"], ["---"] * 3, *strengths])
    blocks = ["\n".join(map(markdown_row, table)) for table in tables]
    return "\n\n".join([*blocks, _NOTE, *notes]) + "\n"


def _bounds(s: Strength) -> str:
    return NO_FIGURE if s.ci is None else f"{s.ci[0]:+.2f} to {s.ci[1]:+.2f}"


def _share(share: Share | None, brackets: str = "()") -> str:
    if share is None:
        return NO_FIGURE
    return f"{percent(share.value)} {brackets[0]}{interval(share.ci)}{brackets[1]}"


def _wins(result: HeadToHead, row: str, column: str) -> str:
    if row == column:
        return ""
    win = result.duel(row, column).win
    return NO_FIGURE if win is None else percent(win.value)


def _verdict(duel: Duel) -> str:
    if duel.p_holm >= 0.05:
        return "not told apart"
    return f"{label(duel.a if duel.n_win > duel.n_lose else duel.b)} chooses better"


def _short(name: str) -> str:
    words = label(name)
    return words if len(words) <= 14 else words[:13] + "…"
