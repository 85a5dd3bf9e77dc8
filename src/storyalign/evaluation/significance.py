"""Are two scorers different? Paired tests on the same groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from scipy import stats

ALPHA = 0.05

EXACT_BELOW = 50
"""Discordant pairs from which the chi-squared form is close enough."""


class McNemar(NamedTuple):
    """McNemar's test on two scorers' right and wrong groups."""

    only_a: int
    """Groups that the first scorer alone has right."""
    only_b: int
    p_value: float
    method: Literal["exact", "chi-squared"]


def mcnemar(right_a: Sequence[bool], right_b: Sequence[bool]) -> McNemar:
    """Test whether two scorers are right equally often, on the groups where just one of them is right.

    Exact (binomial, two-sided) with fewer than ``EXACT_BELOW`` such groups, chi-squared with continuity correction
    otherwise (McNemar 1947; Edwards 1948). Without any such group the p-value is 1.

    Args:
        right_a: strict correctness of the first scorer; a tie at the top is wrong.
        right_b: the same of the second scorer, group by group.
    """
    only_a = sum(a and not b for a, b in zip(right_a, right_b, strict=True))
    only_b = sum(b and not a for a, b in zip(right_a, right_b, strict=True))
    discordant = only_a + only_b
    if discordant < EXACT_BELOW:
        p_value = stats.binomtest(only_a, discordant, 0.5).pvalue if discordant else 1.0
        return McNemar(only_a, only_b, float(p_value), "exact")
    statistic = max(0.0, abs(only_a - only_b) - 1.0) ** 2 / discordant
    return McNemar(only_a, only_b, float(stats.chi2.sf(statistic, 1)), "chi-squared")


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for having been many (Holm 1979); the order stays.

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
