"""Comparisons of scorers on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.bootstrap import MIN_PREMISES
from storyalign.cli.terminal import NAMED, new_table, say, shorten
from storyalign.evaluation.wording import label, p_value, percent, points

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.evaluation.comparison import Comparison


def print_comparisons(out: Console, comparisons: Sequence[Comparison], premises: Mapping[str, str]) -> None:
    """Print each pair: the test, the verdict, and where the two differ.

    Args:
        out: where to.
        comparisons: at least one.
        premises: instance id -> premise.
    """
    table = new_table(
        "First / second", "n", "First", "Second", "Difference", "95%", "Only 1st", "Only 2nd", "p (Holm)", "Same choice"
    )
    for c in comparisons:
        table.add_row(
            Text(f"{c.a}\n{c.b}"),
            str(c.n),
            percent(c.accuracy_a),
            percent(c.accuracy_b),
            _signed(c.difference),
            points(c.ci),
            str(c.only_a),
            str(c.only_b),
            p_value(c.p_holm),
            percent(c.agreement),
        )
    out.print()
    out.print(table)
    out.print()
    for c in comparisons:
        _print_one(out, c, premises)
    methods = ", ".join(dict.fromkeys(c.method for c in comparisons))
    say(
        out,
        f"McNemar's test ({methods}) on strict correctness, Holm over {len(comparisons)} pair(s); interval of the "
        f"difference in points, bootstrap over premises, none with fewer than {MIN_PREMISES}. Both must speak before "
        "two scorers are told apart.",
    )


def _print_one(out: Console, c: Comparison, premises: Mapping[str, str]) -> None:
    say(out, f"{c.verdict}.", "bold")
    parts = [
        f"{label(name)} {_signed(part['accuracy_a'] - part['accuracy_b'])} (n={part['n']})"
        for name, part in c.by_dimension.items()
    ]
    if parts:
        say(out, f"  by dimension: {', '.join(parts)}")
    for name, ids in ((c.a, c.only_a_ids), (c.b, c.only_b_ids)):
        if ids:
            rest = f", {NAMED} of them" if len(ids) > NAMED else ""
            say(out, f"  only {name} is right in {len(ids)}{rest}:")
        for key in ids[:NAMED]:
            say(out, f"    {key}  {shorten(premises[key])}")
    if c.n_left_out:
        say(out, f"  {c.n_left_out} groups left out: one of the two has not scored them")


def _signed(difference: float | None) -> str:
    return "–" if difference is None else f"{100 * difference:+.1f}"
