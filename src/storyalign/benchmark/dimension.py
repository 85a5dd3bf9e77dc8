"""Which dimension sets the chosen story apart most: the categorisation in four stages (section 2.2, Appendix F)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from storyalign.records import BadRow

ORDER = ("creativity", "coherence", "fluency", "characterization", "relevance")
"""The fixed order of stage 4."""

TIE_TOLERANCE = 0.5
"""Mean gaps no further than this from the largest are similar, on a scale of 1-10."""

EXACT = 1e-9
"""Stages 2 and 3 ask for exact ties; floats that differ by less are equal."""

Scores = Mapping[str, float]


class Category(NamedTuple):
    """The dimension of a group and the stage that decided."""

    dimension: str
    stage: int
    """1: mean gap; 2: margin to the best rejected story; 3: variance of the rejected stories; 4: fixed order."""


def categorize(
    chosen: Scores,
    rejected: Sequence[Scores],
    *,
    tie_tolerance: float = TIE_TOLERANCE,
    order: Sequence[str] = ORDER,
) -> Category:
    """Name the most decisive dimension of a group.

    Args:
        chosen: the chosen story's score on each dimension, each the mean over judges.
        rejected: the same of each rejected story; at least one.
        tie_tolerance: stage 1 keeps the dimensions whose mean gap is at most this far from the largest.
        order: the dimensions, in the order of stage 4.

    Raises:
        BadRow: a score is missing or not finite, or there is no rejected story.
    """
    if not rejected:
        raise BadRow("no rejected story to compare with")
    for place, story in enumerate((chosen, *rejected)):
        for dimension in order:
            score = story.get(dimension)
            if score is None or not math.isfinite(score):
                which = "the chosen story" if place == 0 else f"rejected story {place}"
                raise BadRow(f"{which} has no score on {dimension}")

    left = _largest(order, lambda d: mean_gap(chosen, rejected, d), tie_tolerance + EXACT)
    if len(left) == 1:
        return Category(left[0], 1)
    left = _largest(left, lambda d: margin(chosen, rejected, d), EXACT)
    if len(left) == 1:
        return Category(left[0], 2)
    left = _largest(left, lambda d: -variance(rejected, d), EXACT)
    return Category(left[0], 3 if len(left) == 1 else 4)


def mean_gap(chosen: Scores, rejected: Sequence[Scores], dimension: str) -> float:
    """Return the chosen story's lead over the mean of the rejected ones (Eq. 3)."""
    return chosen[dimension] - _mean([story[dimension] for story in rejected])


def margin(chosen: Scores, rejected: Sequence[Scores], dimension: str) -> float:
    """Return the chosen story's lead over the best rejected one (Eq. 4)."""
    return chosen[dimension] - max(story[dimension] for story in rejected)


def variance(rejected: Sequence[Scores], dimension: str) -> float:
    """Return the population variance of the rejected stories' scores (Eq. 5)."""
    scores = [story[dimension] for story in rejected]
    mean = _mean(scores)
    return _mean([(score - mean) ** 2 for score in scores])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _largest(dimensions: Sequence[str], value: Callable[[str], float], within: float) -> list[str]:
    values = {dimension: value(dimension) for dimension in dimensions}
    top = max(values.values())
    return [dimension for dimension in dimensions if top - values[dimension] <= within]
