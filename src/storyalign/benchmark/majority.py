"""From the judges' scores to one ranking, or to the annotators (section 2.2, Appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storyalign.benchmark.agreement import complete_rankings

THRESHOLD = 0.6
"""Mean tau below which judges disagree strongly."""

TOLERANCE = 1e-9
"""Scores this close are equal; sums of floats differ by less for no reason."""

Floats = NDArray[np.float64]
Mode = Literal["mean", "vote"]
Reason = Literal["agreement", "weak_agreement", "no_agreement", "unrated_story", "first_place_tied"]


class Route(NamedTuple):
    """Who settles the ranking of a group, and why."""

    route: Literal["majority", "annotators"]
    reason: Reason


def majority_scores(overall: ArrayLike, mode: Mode = "mean", min_judges: int = 3) -> Floats:
    """Sum up the judges' overall scores of each story.

    Args:
        overall: shape (..., judges, candidates), NaN where unscored.
        mode: ``mean`` is Appendix C: the mean over the judges with a valid score, 1-10. ``vote`` is the introduction:
            each pair of stories goes to the one that more judges put first, a draw is half a point, and a story's score
            is its points, 0 to candidates - 1; only judges with a complete ranking vote.
        min_judges: a story that fewer judges scored (``vote``: a group that fewer judges ranked) gets NaN.

    Returns:
        Scores, shape (..., candidates), NaN where unrated.
    """
    scores = np.asarray(overall, dtype=np.float64)
    if mode == "mean":
        valid = ~np.isnan(scores)
        n = valid.sum(-2)
        with np.errstate(invalid="ignore"):
            means = np.where(valid, scores, 0.0).sum(-2) / n
        return np.where(n >= max(min_judges, 1), means, np.nan)
    complete = complete_rankings(scores)
    votes = np.where(complete[..., None, None], np.sign(scores[..., :, None] - scores[..., None, :]), 0.0).sum(-3)
    points = ((np.sign(votes) + 1) / 2).sum(-1) - 0.5  # a story's draw against itself is no point
    return np.where(complete.sum(-1)[..., None] >= max(min_judges, 1), points, np.nan)


def ranking_of(scores: Sequence[float]) -> tuple[int, ...]:
    """Return the candidates from best to worst; equal ones stay in the order they came in.

    Raises:
        ValueError: a score is NaN.
    """
    if np.isnan(scores).any():
        raise ValueError("a story without a score has no place in a ranking")
    return tuple(sorted(range(len(scores)), key=lambda candidate: -scores[candidate]))


def choose_route(tau_avg: float, scores: Sequence[float], threshold: float = THRESHOLD) -> Route:
    """Decide who settles a group: the judges where they agree and name one best story, else the annotators.

    Args:
        tau_avg: mean tau of the group (Eq. 2), NaN where it is undefined.
        scores: the group's ``majority_scores``.
        threshold: strictly below it is strong disagreement; equal to it is agreement.
    """
    if np.isnan(tau_avg):
        return Route("annotators", "no_agreement")
    if tau_avg < threshold:
        return Route("annotators", "weak_agreement")
    if np.isnan(scores).any():
        return Route("annotators", "unrated_story")
    first = max(scores)
    if sum(first - score <= TOLERANCE for score in scores) > 1:
        return Route("annotators", "first_place_tied")  # never broken by position
    return Route("majority", "agreement")
