"""An order of stories by their rewards: how sure it is, and whether length alone gives the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal


def win_probability(reward: float, other: float) -> float:
    """Return the Bradley-Terry probability that the first story is preferred: the sigmoid of the difference."""
    difference = reward - other
    if difference < 0:
        return 1.0 - win_probability(other, reward)
    return 1.0 / (1.0 + math.exp(-difference))


def length_order(rewards: Sequence[float], words: Sequence[int]) -> Literal["longest", "shortest"] | None:
    """Return whether sorting by words alone gives the order of the rewards, longest or shortest first.

    Two stories are always in one of the two orders, so there only ``longest`` is worth a warning.

    Args:
        rewards: of the stories that have one, highest first.
        words: lengths of the same stories.
    """
    if len(rewards) < 2 or len(set(rewards)) < len(rewards):
        return None
    if all(above > below for above, below in pairwise(words)):
        return "longest"
    return "shortest" if len(words) > 2 and all(above < below for above, below in pairwise(words)) else None


def length_warning(rewards: Sequence[float], words: Sequence[int]) -> str | None:
    """Return the warning for an order that length alone gives; see ``length_order``."""
    direction = length_order(rewards, words)
    return direction and (
        f"Sorting by length alone, {direction} first, gives this very order (by chance it would in 1 in "
        f"{math.factorial(len(rewards)):,}). Look at the texts before you trust it."
    )
