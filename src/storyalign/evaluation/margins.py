"""By how much the chosen story wins or loses, and the groups that a scorer finds hardest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.records import Instance


class Miss(NamedTuple):
    """A group in which a rejected story got the highest reward."""

    instance: Instance
    preferred: int
    """The candidate that the scorer prefers, 1 or more."""
    margin: float
    """Reward of the chosen story minus reward of the preferred one, below 0."""
    rewards: list[float]


def margins(scored: ScoredSet, instances: Sequence[Instance]) -> dict[str, float]:
    """Return the chosen story's reward minus the highest reward of the others, for each scored group, by id."""
    found = {}
    for instance in instances:
        rewards = [reward for reward in scored.rewards[instance.id] if reward is not None]
        if len(rewards) == len(instance.stories):
            found[instance.id] = rewards[0] - max(rewards[1:])
    return found


def hardest(scored: ScoredSet, instances: Sequence[Instance], most: int = 8) -> list[Miss]:
    """Return the groups lost by the widest margins, the widest first."""
    own = margins(scored, instances)
    lost = sorted((i for i in instances if own.get(i.id, 0.0) < 0), key=lambda i: (own[i.id], i.id))
    misses = []
    for instance in lost[:most]:
        rewards = [float(reward) for reward in scored.rewards[instance.id] if reward is not None]
        # Of equal rewards the text decides which story is shown, never the position.
        preferred = max(range(1, len(rewards)), key=lambda place: (rewards[place], instance.stories[place]))
        misses.append(Miss(instance, preferred, own[instance.id], rewards))
    return misses
