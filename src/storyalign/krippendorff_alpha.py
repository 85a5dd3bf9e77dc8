"""Krippendorff's alpha: how far raters agree, beyond what chance gives.

K. Krippendorff, Content Analysis (4th edition, 2018), chapter 12. Computed here because the usual library for it is
licensed under the GPL; a test compares the two.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(ratings: ArrayLike, level: Level) -> float | None:
    """Compute alpha from everything that at least two raters have rated.

    Args:
        ratings: shape (raters, units), NaN where a rater has not rated a unit.
        level: ``ordinal`` for places in a ranking, ``interval`` for scores, ``nominal`` for choices.

    Returns:
        1 for perfect agreement, 0 for what chance gives, negative for less than that; None where no unit has two
        ratings, or all ratings are equal, as chance agreement is then perfect too.

    >>> krippendorff_alpha([[1, 2, 3], [1, 2, 3]], "interval"), krippendorff_alpha([[1, 1], [1, 1]], "nominal")
    (1.0, None)
    """
    data = np.asarray(ratings, dtype=np.float64)
    data = data[:, np.count_nonzero(~np.isnan(data), axis=0) > 1]
    values = np.unique(data[~np.isnan(data)])
    if len(values) < 2:
        return None
    # How often each unit was given each value, shape (units, values).
    given = (data[:, :, None] == values).sum(axis=0).astype(np.float64)
    raters = given.sum(axis=1)
    weights = 1.0 / (raters - 1.0)
    coincidences = (given * weights[:, None]).T @ given - np.diag((given * weights[:, None]).sum(axis=0))
    totals = given.sum(axis=0)
    distances = _distances(values, totals, level)
    observed = (coincidences * distances).sum() / totals.sum()
    expected = (np.outer(totals, totals) * distances).sum() / (totals.sum() * (totals.sum() - 1.0))
    return float(1.0 - observed / expected)


def _distances(values: NDArray[np.float64], totals: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Squared distance between any two values."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    # Ordinal values lie as far apart as there are ratings between their middles.
    place = values if level == "interval" else np.cumsum(totals) - totals / 2.0
    squared: NDArray[np.float64] = (place[:, None] - place[None, :]) ** 2
    return squared
