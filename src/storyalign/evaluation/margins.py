"""By how much the chosen story wins or loses, and the groups that a scorer finds hardest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from storyalign.choices import margin, ranked_highest
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.records import Instance


class Miss(NamedTuple):
    """A group in which a rejected story got the highest reward."""

    instance: Instance
    highest: int
    """The candidate that the scorer ranks highest, 1 or more."""
    margin: float
    """Reward of the chosen story minus reward of that one, below 0."""
    rewards: list[float]


def margins(scored: ScoredSet, instances: Sequence[Instance]) -> dict[str, float]:
    """Return the margin (``choices.margin``) of each scored group, by id."""
    return {i.id: value for i in instances if (value := margin(scored.rewards[i.id])) is not None}


def hardest(scored: ScoredSet, instances: Sequence[Instance], most: int = 8) -> list[Miss]:
    """Return the groups lost by the widest margins, the widest first."""
    own = margins(scored, instances)
    lost = sorted((i for i in instances if own.get(i.id, 0.0) < 0), key=lambda i: (own[i.id], i.id))
    # Of stories that share the highest reward the text decides which one is shown, never the position.
    return [
        Miss(
            i,
            max(ranked_highest(scored.rewards[i.id]), key=lambda place: i.stories[place]),
            own[i.id],
            [float(reward) for reward in scored.rewards[i.id] if reward is not None],
        )
        for i in lost[:most]
    ]
