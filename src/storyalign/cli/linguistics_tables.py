"""The language of selections of stories on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.bootstrap import MIN_PREMISES
from storyalign.cli.terminal import new_table, say
from storyalign.tables import NO_FIGURE, label, story_count

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.audit.linguistics import Described, Measure

_COLUMNS = {
    "words": ("Words", 0),
    "sentences": ("Sentences", 1),
    "words_a_sentence": ("Words a\nsentence", 1),
    "burstiness": ("Burst-\niness", 2),
    "letters_a_word": ("Letters\na word", 2),
    "dialogue_share": ("Dialogue\n%", 1),
    "type_token_ratio": ("Type-\ntoken", 3),
    "moving_type_token_ratio": ("Moving\n(100)", 3),
}


def row_name(row: Described) -> str:
    """Return which stories a row is about."""
    what = {"right": " (on right choices)", "wrong": " (on wrong choices)", "gold": " (chosen stories)"}
    return label(row.name) + what.get(row.kind, "")


def print_linguistics(out: Console, name: str, rows: Sequence[Described], signature: str) -> None:
    """Print kurtosis with its difference from the first row, then the other figures."""
    base = row_name(rows[0])
    say(out, f"{name}: {rows[0].n:g} stories of the first row, which the others are compared with", "bold")
    out.print()
    table = new_table("Sentence lengths", "n", "Kurtosis", "95%", "Difference %", "Gap", "95%", "Pooled kurtosis")
    for row in rows:
        k, pooled = row.measures["kurtosis"], row.measures["pooled_kurtosis"]
        table.add_row(
            Text(row_name(row)),
            story_count(row.n),
            _figure(k.value, 3),
            _range(k.ci, 2),
            NO_FIGURE if k.difference is None or row is rows[0] else f"{100 * k.difference:+.1f}",
            NO_FIGURE if row is rows[0] or k.gap is None else f"{k.gap:+.3f}",
            NO_FIGURE if row is rows[0] else _range(k.gap_ci, 2),
            f"{_figure(pooled.value, 2)} ({_range(pooled.ci, 1)})",
        )
    out.print(table)
    out.print()
    table = new_table("Mean (difference in %)", *(head for head, _ in _COLUMNS.values()))
    for row in rows:
        cells = [_with_difference(row.measures[m], digits, row is rows[0], m) for m, (_, digits) in _COLUMNS.items()]
        table.add_row(Text(row_name(row)), *cells)
    out.print(table)
    out.print()
    for row in rows:
        if undefined := row.measures["kurtosis"].n_undefined:
            say(out, f"{row_name(row)}: {story_count(undefined)} stories have no kurtosis")
        if row.n_unscored and row.kind == "all":
            say(out, f"{row_name(row)}: {row.n_unscored} groups without a choice, as a reward is missing")
    say(
        out,
        f"Kurtosis is Eq. 6 over words, one value a story, averaged; pooled: over all sentences together. Differences "
        f"are relative to {base}; * marks gaps whose 95% interval (bootstrap over premises, none with fewer "
        f"than {MIN_PREMISES}) leaves zero out. A story of a k-fold tie counts 1/k. No kurtosis: fewer than 4 "
        "sentences, or all equally long.",
    )
    for line in signature.splitlines():
        say(out, line)


def _with_difference(measure: Measure, digits: int, is_base: bool, name: str) -> str:
    value = None if measure.value is None else measure.value * (100 if name == "dialogue_share" else 1)
    text = _figure(value, digits)
    if is_base or measure.difference is None:
        return text
    ci = measure.gap_ci
    mark = "*" if ci is not None and (ci[0] > 0 or ci[1] < 0) else ""
    return f"{text}\n{100 * measure.difference:+.0f}{mark}"


def _figure(value: float | None, digits: int) -> str:
    return NO_FIGURE if value is None else f"{value:,.{digits}f}"


def _range(ci: tuple[float, float] | None, digits: int) -> str:
    return NO_FIGURE if ci is None else f"{ci[0]:.{digits}f} to {ci[1]:.{digits}f}"
