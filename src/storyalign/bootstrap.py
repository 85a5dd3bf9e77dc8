"""Seeded percentile bootstrap over premises, for every figure that is a function of sums over groups.

Several groups may share a premise, and then they are not independent: whole premises are drawn, with replacement, and
all their groups come along. A figure is computed from the drawn sums, so thousands of draws are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storyalign.accuracy import credit, summarize, wilson_interval

Floats = NDArray[np.float64]

DRAWS = 4000
SEED = 20
_CELLS = 2_000_000
"""Drawn premises held in memory at a time."""


def premise_totals(columns: Floats, premises: Sequence[str], draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Draw premises and add up the columns of their groups.

    Args:
        columns: one row a group, one column a summand, shape (groups, summands).
        premises: the premise of each group; groups with equal ones are drawn together.
        draws: how often as many premises as there are get drawn.
        seed: the same seed and premises give the same draws, in whatever order the groups come.

    Returns:
        Totals, shape (draws, summands).
    """
    places = {premise: place for place, premise in enumerate(sorted(set(premises)))}
    sums = np.zeros((len(places), columns.shape[1]))
    np.add.at(sums, [places[premise] for premise in premises], columns)
    step = max(1, _CELLS // len(places))
    starts = range(0, draws, step)
    return np.concatenate(
        [_counts(len(places), min(step, draws - start), seed, start).astype(np.float64) @ sums for start in starts]
    )


@lru_cache(maxsize=16)  # the scorers of a table share their premises, so they share their draws
def _counts(n_premises: int, draws: int, seed: int, start: int) -> NDArray[np.int32]:
    """Say how often each draw has each premise, shape (draws, premises)."""
    drawn = np.random.default_rng([seed, start]).multinomial(
        n_premises, np.full(n_premises, 1 / n_premises), size=draws
    )
    return drawn.astype(np.int32)


def bootstrap_interval(
    columns: Floats,
    premises: Sequence[str],
    figure: Callable[[Floats], Floats],
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = SEED,
) -> tuple[float, float] | None:
    """Give the percentile interval of a figure.

    Args:
        columns: as in ``premise_totals``.
        premises: likewise.
        figure: turns totals of shape (draws, summands) into figures of shape (draws,); NaN where a draw has none.
        confidence: share of the draws inside.
        draws: number of draws.
        seed: seed of the draws.

    Returns:
        Lower and upper bound; None with fewer than 2 premises, or where no draw has a figure.
    """
    if len(set(premises)) < 2:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = figure(premise_totals(columns, premises, draws, seed))
    return percentile_interval(figures, confidence)


def percentile_interval(figures: Floats, confidence: float = 0.95) -> tuple[float, float] | None:
    """Give the interval that holds so many of the drawn figures; NaN is a draw without a figure.

    Returns:
        Lower and upper bound; None where no draw has a figure.
    """
    figures = figures[np.isfinite(figures)]
    if not figures.size:
        return None
    low, high = np.quantile(figures, [0.5 - confidence / 2, 0.5 + confidence / 2])
    return float(low), float(high)


def summarize_over_premises(
    places: Sequence[int | None], premises: Sequence[str], tie_policy: str = "split"
) -> dict[str, Any]:
    """Sum up groups as ``accuracy.summarize`` does, with an interval that knows which groups share a premise.

    Args:
        places: ``accuracy.chosen_places`` of each group.
        premises: the premise of each group.
        tie_policy: ``split`` or ``strict``.

    Returns:
        ``accuracy``, ``ci``, ``n``, ``n_ties``, ``n_unscored`` and ``ci_method``: ``wilson`` where every scored group
        has a premise of its own, ``bootstrap over premises`` otherwise, and ``wilson over premises`` (each premise one
        trial) where all draws agree, since a bootstrap of all right or all wrong groups has no width.
    """
    summary = summarize(places, tie_policy)
    scored = [(place, premise) for place, premise in zip(places, premises, strict=True) if place is not None]
    if not scored:
        return {**summary, "ci_method": None}
    clusters = [premise for _, premise in scored]
    n_premises = len(set(clusters))
    if n_premises == len(scored):
        return {**summary, "ci_method": "wilson"}
    columns = np.array([(float(credit(place, tie_policy)), 1.0) for place, _ in scored])
    interval = bootstrap_interval(columns, clusters, lambda totals: totals[:, 0] / totals[:, 1])
    if interval is None or interval[1] - interval[0] < 1e-9:
        interval, method = wilson_interval(summary["accuracy"], n_premises), "wilson over premises"
    else:
        method = "bootstrap over premises"
    return {**summary, "ci": list(interval), "ci_method": method}
