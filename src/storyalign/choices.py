"""What a scorer prefers in one group of stories: the highest reward, whoever shares it."""

from __future__ import annotations

from collections.abc import Sequence


def preferred(rewards: Sequence[float | None]) -> tuple[int, ...]:
    """Return the places of the stories that share the highest reward; none where a reward is missing.

    >>> preferred([0.1, 0.7, 0.7]), preferred([0.1, None])
    ((1, 2), ())
    """
    known = [reward for reward in rewards if reward is not None]
    if len(known) < len(rewards):
        return ()
    return tuple(place for place, reward in enumerate(known) if reward == max(known))


def margin(rewards: Sequence[float | None]) -> float | None:
    """Return the chosen story's reward, which stands first, minus the best other one; None where a reward is missing.

    >>> margin([1.0, 0.5, 2.0]), margin([1.0, None])
    (-1.0, None)
    """
    known = [reward for reward in rewards if reward is not None]
    return known[0] - max(known[1:]) if len(known) == len(rewards) else None
