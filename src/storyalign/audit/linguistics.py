"""The language of chosen stories beside that of the gold ones, or of one writer's beside another's (Table 8).

A selection is a weighted set of stories: a scorer's choices, the gold stories, what one writer wrote. Each figure is
the weighted mean of the stories' own figures; ``pooled_kurtosis`` is the kurtosis of all their sentences together.
Differences are relative to the baseline, as in Table 8, and both sides are drawn together, premise by premise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from storyalign.audit.reward_bias import GroupRewards
from storyalign.audit.story_language import StoryLanguage, story_language
from storyalign.bootstrap import MIN_PREMISES, Floats, excludes_zero, percentile_interval, premise_totals
from storyalign.choices import ranked_highest
from storyalign.corpus.story_groups import StoryGroup
from storyalign.records import Instance
from storyalign.tables import NO_FIGURE, Table, bounds, figure, label, points, story_count

MEASURES = StoryLanguage._fields
POOLED = "pooled_kurtosis"

Kind = Literal["gold", "all", "right", "wrong", "writer"]


class Picked(NamedTuple):
    """One story of a selection."""

    premise: str
    story: str
    language: str
    weight: float


@dataclass(frozen=True, slots=True)
class Selection:
    """Stories to describe together."""

    name: str
    kind: Kind
    stories: list[Picked]
    n_unscored: int = 0
    """Groups in which the scorer chose nothing."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a selection."""

    value: float | None
    ci: tuple[float, float] | None
    """95%, bootstrap over premises; None where the figure rests on fewer than ``MIN_PREMISES``."""
    n: float
    """Weight of the stories behind it: a story of a k-fold tie counts 1/k."""
    n_undefined: float
    """Weight of the stories that have no such figure."""
    gap: float | None
    """Minus the baseline's figure."""
    gap_ci: tuple[float, float] | None
    difference: float | None
    """The gap as a fraction of the baseline's size, as in Table 8; says little where that is near zero."""
    difference_ci: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Described:
    """A selection's figures."""

    name: str
    kind: Kind
    n: float
    n_unscored: int
    measures: dict[str, Measure]

    @property
    def title(self) -> str:
        """Which stories these are."""
        what = {"right": " (on right choices)", "wrong": " (on wrong choices)", "gold": " (chosen stories)"}
        return label(self.name) + what.get(self.kind, "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def gold_selection(instances: Sequence[Instance]) -> Selection:
    """Take the chosen story of each group."""
    return Selection("gold", "gold", [Picked(i.prompt, i.chosen, i.language, 1.0) for i in instances])


def scorer_selections(name: str, instances: Sequence[Instance], rewards: GroupRewards) -> list[Selection]:
    """Take what a scorer ranks highest: all its choices, the right ones, the wrong ones.

    Of a tie of k at the top each story counts 1/k.
    """
    chosen: dict[Kind, list[Picked]] = {"all": [], "right": [], "wrong": []}
    n_unscored = 0
    for item in instances:
        top = ranked_highest(rewards[item.id])
        n_unscored += not top
        for place in top:
            picked = Picked(item.prompt, item.stories[place], item.language, 1 / len(top))
            chosen["all"].append(picked)
            chosen["wrong" if place else "right"].append(picked)
    return [Selection(name, kind, stories, n_unscored) for kind, stories in chosen.items()]


def writer_selections(groups: Sequence[StoryGroup], human: str = "human") -> list[Selection]:
    """Take the stories of people, of all other writers together, and of each of these.

    Returns:
        The baseline first: people where there are any, else the first writer.
    """
    by_writer: dict[str, list[Picked]] = {}
    for group in groups:
        for story, writer in zip(group.stories, group.writers, strict=True):
            picked = Picked(group.premise, story, group.language, 1.0)
            by_writer.setdefault((writer or "unknown").strip(), []).append(picked)
    people = [name for name in by_writer if name.lower() == human]
    others = [name for name in by_writer if name not in people]
    selections = [Selection(name, "writer", by_writer[name]) for name in (*people, *others)]
    if people and len(others) > 1:
        together = Selection("all others", "writer", [picked for name in others for picked in by_writer[name]])
        selections.insert(1, together)
    return selections


def describe(selections: Sequence[Selection], progress: Callable[[], object] = lambda: None) -> list[Described]:
    """Compute every figure of every selection; the first one is the baseline.

    Args:
        selections: at least one.
        progress: called after each story of each selection.
    """
    premises = sorted({picked.premise for selection in selections for picked in selection.stories})
    places = {premise: place for place, premise in enumerate(premises)}
    sums = [_sums(selection, places, progress) for selection in selections]
    return [_describe(selection, own, sums[0], premises) for selection, own in zip(selections, sums, strict=True)]


_SHOWN = {
    "words": ("Words", ",.0f"),
    "sentences": ("Sentences", ".1f"),
    "words_a_sentence": ("Words a\nsentence", ".1f"),
    "burstiness": ("Burst-\niness", ".2f"),
    "letters_a_word": ("Letters\na word", ".2f"),
    "dialogue_share": ("Dialogue\n%", ".1f"),
    "type_token_ratio": ("Type-\ntoken", ".3f"),
    "moving_type_token_ratio": ("Moving\n(100)", ".3f"),
}
"""Measure -> head and number format of its column."""


def tables_of(name: str, rows: Sequence[Described], signatures: Sequence[str]) -> list[Table]:
    """Return kurtosis with its difference from the first row, then the other figures.

    Args:
        name: what to call the data.
        rows: the baseline first.
        signatures: of data and scorers.
    """
    title = f"{name}: {rows[0].n:g} stories of the first row, which the others are compared with"
    heads = ["Sentence lengths", "n", "Kurtosis", "95%", "Difference %", "Gap", "95%", "Pooled kurtosis"]
    kurtosis = []
    for row in rows:
        k, pooled = row.measures["kurtosis"], row.measures[POOLED]
        gap = [points(k.difference), figure(k.gap, "+.3f"), bounds(k.gap_ci, ".2f")]
        kurtosis.append(
            [
                *(row.title, story_count(row.n), figure(k.value, ".3f"), bounds(k.ci, ".2f")),
                *([NO_FIGURE] * 3 if row is rows[0] else gap),
                f"{figure(pooled.value)} ({bounds(pooled.ci, '.1f')})",
            ]
        )
    figures = [[row.title, *(_beside_baseline(row, m, row is rows[0]) for m in _SHOWN)] for row in rows]
    notes = []
    for row in rows:
        if undefined := row.measures["kurtosis"].n_undefined:
            notes.append(f"{row.title}: {story_count(undefined)} stories have no kurtosis")
        if row.n_unscored and row.kind == "all":
            notes.append(f"{row.title}: {row.n_unscored} groups without a choice, as a reward is missing")
    notes.append(
        f"Kurtosis is Eq. 6 over words, one value a story, averaged; pooled: over all sentences together. Differences "
        f"are relative to {rows[0].title}; * marks gaps whose 95% interval (bootstrap over premises, none with fewer "
        f"than {MIN_PREMISES}) leaves zero out. A story of a k-fold tie counts 1/k. No kurtosis: fewer than 4 "
        "sentences, or all equally long."
    )
    means = Table(
        ["Mean (difference in %)", *(head for head, _ in _SHOWN.values())], figures, notes=notes, signatures=signatures
    )
    return [Table(heads, kurtosis, title), means]


def _beside_baseline(row: Described, name: str, is_baseline: bool) -> str:
    measure, form = row.measures[name], _SHOWN[name][1]
    percent = name == "dialogue_share" and measure.value is not None
    shown = figure(100 * (measure.value or 0.0) if percent else measure.value, form)
    if is_baseline or measure.difference is None:
        return shown
    return f"{shown}\n{100 * measure.difference:+.0f}{'*' * excludes_zero(measure.gap_ci)}"


_WIDTH = 2 * len(MEASURES) + 5
"""Value and weight of each measure, then five sums of powers of the sentence lengths."""


def _sums(selection: Selection, places: Mapping[str, int], progress: Callable[[], object]) -> Floats:
    """Sum up by premise; shape (premises, ``_WIDTH``)."""
    sums = np.zeros((len(places), _WIDTH))
    for picked in selection.stories:
        figures, moments = story_language(picked.story, picked.language)
        row = sums[places[picked.premise]]
        for column, value in enumerate(figures):
            if value is not None:
                row[2 * column] += picked.weight * value
                row[2 * column + 1] += picked.weight
        row[2 * len(MEASURES) :] += picked.weight * np.array(moments)
        progress()
    return sums


def _describe(selection: Selection, own: Floats, baseline: Floats, premises: list[str]) -> Described:
    draws = premise_totals(np.hstack([own, baseline]), premises) if len(premises) >= MIN_PREMISES else None
    total = sum(picked.weight for picked in selection.stories)
    observed = np.hstack([own.sum(axis=0), baseline.sum(axis=0)])[None, :]
    measures = {}
    for column, name in enumerate((*MEASURES, POOLED)):
        value, base = _both(observed, column)
        behind = total if name == POOLED else float(observed[0, 2 * column + 1])
        n_own, n_both = _premises(own, column), min(_premises(own, column), _premises(baseline, column))
        drawn = None if draws is None else _both(draws, column)
        measures[name] = Measure(
            value=_number(value),
            ci=None if drawn is None else percentile_interval(drawn[0], n_own),
            n=behind,
            n_undefined=max(0.0, round(total - behind, 9)),  # sums of thirds do not meet exactly
            gap=_number(value - base),
            gap_ci=None if drawn is None else percentile_interval(drawn[0] - drawn[1], n_both),
            difference=_number(_relative(value, base)),
            difference_ci=None if drawn is None else percentile_interval(_relative(*drawn), n_both),
        )
    return Described(selection.name, selection.kind, total, selection.n_unscored, measures)


def _premises(sums: Floats, column: int) -> int:
    """Count the premises that a figure rests on."""
    weight = 2 * column + 1 if column < len(MEASURES) else 2 * len(MEASURES)
    return int(np.count_nonzero(sums[:, weight]))


def _both(totals: Floats, column: int) -> tuple[Floats, Floats]:
    """Return a measure of the selection and of the baseline, each of shape (draws,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if column < len(MEASURES):
            at = 2 * column
            return totals[:, at] / totals[:, at + 1], totals[:, _WIDTH + at] / totals[:, _WIDTH + at + 1]
        at = 2 * len(MEASURES)
        return _kurtosis(totals[:, at : at + 5]), _kurtosis(totals[:, _WIDTH + at : _WIDTH + at + 5])


def _kurtosis(moments: Floats) -> Floats:
    """Compute Eq. 6 from sums of powers."""
    n, first, second, third, fourth = moments.T
    mean = first / n
    variance = second / n - mean**2
    central = fourth / n - 4 * mean * third / n + 6 * mean**2 * second / n - 3 * mean**4
    return np.asarray(np.where(variance > 1e-9, central / variance**2 - 3, np.nan), dtype=float)


def _relative(value: Floats, base: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((value - base) / np.abs(base), dtype=float)


def _number(figures: Floats) -> float | None:
    return float(figures[0]) if np.isfinite(figures[0]) else None
