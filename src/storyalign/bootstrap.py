"""Intervals that know which groups share a premise, and hold with few premises.

Several groups may share a premise, and then they are not independent. A share (an accuracy, a win rate) gets Wilson's
interval on the effective number of groups with a t quantile. Any other function of sums over groups gets a seeded
bootstrap: whole premises are drawn, with replacement, and all their groups come along. The bootstrap's percentiles are
expanded as Student's t exceeds the normal (Hesterberg 2015, section 5.3); below ``MIN_PREMISES`` there is no interval.
``benchmarks/interval_coverage.py`` measures how often these intervals cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storyalign.accuracy import credit, score_interval, summarize, wilson_interval

Floats = NDArray[np.float64]

MIN_PREMISES = 8
"""Premises below which no bootstrap interval is returned: it would cover far less often than it says."""

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
    """Return how often each draw has each premise, shape (draws, premises)."""
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
    """Return the bootstrap interval of a figure.

    Args:
        columns: as in ``premise_totals``.
        premises: likewise.
        figure: turns totals of shape (draws, summands) into figures of shape (draws,); NaN where a draw has none.
        confidence: how often such intervals cover the true figure.
        draws: number of draws.
        seed: seed of the draws.

    Returns:
        Lower and upper bound; None with fewer than ``MIN_PREMISES``, or where no draw has a figure.
    """
    n_premises = len(set(premises))
    if n_premises < MIN_PREMISES:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = figure(premise_totals(columns, premises, draws, seed))
    return percentile_interval(figures, n_premises, confidence)


def percentile_interval(figures: Floats, n_premises: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the expanded percentile interval of drawn figures; NaN is a draw without a figure.

    Returns:
        Lower and upper bound; None with fewer than ``MIN_PREMISES``, or where no draw has a figure.
    """
    from scipy import stats

    figures = figures[np.isfinite(figures)]
    if n_premises < MIN_PREMISES or not figures.size:
        return None
    quantile = stats.t.ppf(0.5 + confidence / 2, n_premises - 1)
    tail = float(stats.norm.sf(quantile * np.sqrt(n_premises / (n_premises - 1))))
    low, high = np.quantile(figures, [tail, 1 - tail])
    return float(low), float(high)


def excludes_zero(ci: tuple[float, float] | None) -> bool:
    """Return whether there is an interval and it lies on one side of zero."""
    return ci is not None and (ci[0] > 0 or ci[1] < 0)


def share_interval(values: Floats, premises: Sequence[str], confidence: float = 0.95) -> tuple[float, float]:
    """Return an interval of the mean of values between 0 and 1, one per group.

    Wilson's where every group has a premise of its own. Otherwise Wilson's on the effective number of groups (Korn &
    Graubard 1998): the linearised variance over premises says how many independent groups the values are worth, at most
    all of them, and one per premise where they do not vary; the quantile is Student's t with premises - 1 degrees of
    freedom. With a single premise, it counts as one trial.
    """
    from scipy import stats

    n, mean = len(values), min(1.0, max(0.0, float(values.mean())))
    names, places = np.unique(np.asarray(premises), return_inverse=True)
    n_premises = len(names)
    if n_premises in (1, n):
        return wilson_interval(mean, n_premises, confidence)
    deviations = np.bincount(places, weights=values - mean)
    variance = n_premises / (n_premises - 1) * float(deviations @ deviations) / n**2
    spread = mean * (1 - mean)
    effective = min(n, max(1.0, spread / variance)) if spread > 1e-12 and variance > 1e-12 else n_premises
    return score_interval(mean, effective, float(stats.t.ppf(0.5 + confidence / 2, n_premises - 1)))


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
        has a premise of its own, else ``wilson over premises``; see ``share_interval``.
    """
    summary = summarize(places, tie_policy)
    scored = [(place, premise) for place, premise in zip(places, premises, strict=True) if place is not None]
    if not scored:
        return {**summary, "ci_method": None}
    clusters = [premise for _, premise in scored]
    interval = share_interval(np.array([float(credit(place, tie_policy)) for place, _ in scored]), clusters)
    method = "wilson" if len(set(clusters)) == len(scored) else "wilson over premises"
    return {**summary, "ci": list(interval), "ci_method": method}
