"""What a scorer ranks highest in one group of stories, whoever shares the place, and by how much.

The story that readers preferred is the chosen one, the first of its group; a scorer is right where it alone is highest.
"""

from __future__ import annotations

from collections.abc import Sequence


def ranked_highest(rewards: Sequence[float | None]) -> tuple[int, ...]:
    """Return the places of the stories that share the highest reward; none where a reward is missing.

    >>> ranked_highest([0.1, 0.7, 0.7]), ranked_highest([0.1, None])
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
