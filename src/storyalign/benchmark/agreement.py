"""How far judges agree on the order of a group's stories: Kendall's tau and its mean over pairs of judges (Eq. 1, 2).

Groups come as one array of scores, shape (groups, judges, candidates), higher is better, NaN where a judge has no valid
score. A judge that left a story of a group unscored has no ranking of that group and is left out of it, whole; nothing
is put in the place of the missing score.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Variant = Literal["a", "b"]


def kendall_tau(one: ArrayLike, other: ArrayLike, variant: Variant = "a") -> Floats:
    """Compare two rankings, or many pairs of them, by their scores.

    Args:
        one: scores, shape (..., candidates).
        other: scores of the same candidates, same shape.
        variant: ``a`` is Eq. 1: concordant minus discordant pairs over all pairs, so that pairs tied in either ranking
            count neither way; ``b`` leaves tied pairs out of the denominator as well.

    Returns:
        Tau from -1 to 1, shape (...). NaN where a score is NaN, with fewer than 2 candidates, and, for ``b``, where a
        ranking ties all candidates.
    """
    return mean_tau(np.stack(np.broadcast_arrays(one, other), axis=-2), variant)


def mean_tau(scores: ArrayLike, variant: Variant = "a", min_judges: int = 2) -> Floats:
    """Return the mean of tau over all pairs of judges (Eq. 2), for all groups at once.

    The sum over pairs of judges comes out of two sums over judges, so the work grows with judges, not with their pairs.

    Args:
        scores: shape (..., judges, candidates).
        variant: see ``kendall_tau``.
        min_judges: groups with fewer complete rankings get NaN; at least 2.

    Returns:
        The mean, shape (...), from -1 to 1. NaN with fewer than ``min_judges`` complete rankings or fewer than 2
        candidates, and, for ``b``, where a judge ties all candidates, as its tau is undefined then.

    >>> float(mean_tau([[4, 3, 2, 1], [4, 3, 2, 1], [3, 4, 2, 1]]))  # 1, 4/6 and 4/6
    0.7777777777777778
    """
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim < 2:
        raise ValueError(f"expected scores of shape (..., judges, candidates), found {array.shape}")
    if min_judges < 2:
        raise ValueError(f"min_judges is {min_judges}; two rankings are the fewest that can agree")
    complete = complete_rankings(array)
    judges = complete.sum(-1)
    n_pairs = array.shape[-1] * (array.shape[-1] - 1) // 2
    signs = _signs(array) * complete[..., None]
    if variant == "b":
        untied = np.count_nonzero(signs, axis=-1)
        # A ranking without any order makes 0/0 here, and NaN is what its group has to get.
        with np.errstate(invalid="ignore"):
            vectors = np.where(complete[..., None], signs / np.sqrt(untied)[..., None], 0.0)
        pairs = judges * (judges - 1.0)
    else:
        vectors = signs
        # One division of whole numbers: a mean of exactly 0.6 is the float 0.6, and not below it.
        pairs = judges * (judges - 1.0) * n_pairs
    agreeing = (vectors.sum(-2) ** 2 - (vectors**2).sum(-2)).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where((judges >= min_judges) & (n_pairs > 0), agreeing / pairs, np.nan)
    return np.clip(means, -1.0, 1.0)


def tied_pairs(scores: ArrayLike) -> NDArray[np.int64]:
    """Count the pairs of candidates that a ranking leaves open.

    Args:
        scores: shape (..., candidates).

    Returns:
        Counts, shape (...); a pair with an unscored candidate is not tied.
    """
    array = np.asarray(scores, dtype=np.float64)
    counts: NDArray[np.int64] = (_signs(array) == 0).sum(-1, dtype=np.int64)
    return counts


def complete_rankings(scores: ArrayLike) -> NDArray[np.bool_]:
    """Return which judges scored every candidate: shape (..., judges) of scores of shape (..., judges, candidates)."""
    complete: NDArray[np.bool_] = np.all(np.isfinite(np.asarray(scores, dtype=np.float64)), axis=-1)
    return complete


def _signs(scores: Floats) -> Floats:
    """Return for each pair of candidates which one is higher: 1, 0 or -1, and 2 where a score is missing."""
    first, second = np.triu_indices(scores.shape[-1], k=1)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.sign(scores[..., first] - scores[..., second]), nan=2.0)
