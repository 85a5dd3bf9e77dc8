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

from storyalign.audit.story_language import StoryLanguage, story_language
from storyalign.bootstrap import MIN_PREMISES, Floats, percentile_interval, premise_totals
from storyalign.corpus.story_groups import StoryGroup
from storyalign.records import Instance

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

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


GroupRewards = Mapping[str, Sequence[float | None]]


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
        own = list(rewards[item.id])
        known = [reward for reward in own if reward is not None]
        if len(known) < len(own):
            n_unscored += 1
            continue
        top = [place for place, reward in enumerate(own) if reward == max(known)]
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


_WIDTH = 2 * len(MEASURES) + 5


def _sums(selection: Selection, places: Mapping[str, int], progress: Callable[[], object]) -> Floats:
    """Sum up by premise: value and weight of each measure, then the pooled moments; shape (premises, ``_WIDTH``)."""
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
        value, base = _figure(observed, column)
        behind = total if name == POOLED else float(observed[0, 2 * column + 1])
        n_own, n_both = _premises(own, column), min(_premises(own, column), _premises(baseline, column))
        drawn = None if draws is None else _figure(draws, column)
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


def _figure(totals: Floats, column: int) -> tuple[Floats, Floats]:
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
