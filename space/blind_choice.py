"""The game behind the blind mode: stories in a random order, one click, the answer, and who is ahead."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from storyalign.accuracy import chosen_places, credit
from storyalign.records import Instance


@dataclass(frozen=True, slots=True)
class Tally:
    """Points of the visitor and of scorers over the groups that the visitor has answered."""

    answered: frozenset[str] = frozenset()
    """Ids; a group counts once, at the first answer."""
    you: int = 0
    chance: Fraction = Fraction(0)
    """Points expected from a blind guess."""
    scorers: Mapping[str, tuple[Fraction, int]] = field(default_factory=dict)
    """Scorer -> points and the number of answered groups that it has scored. A tie at the top earns its share."""


def deal(instance: Instance, seed: int | None) -> tuple[int, ...]:
    """Shuffle the candidates: the same visitor sees the same order again, another one sees another."""
    order = list(range(len(instance.stories)))
    random.Random(f"{seed}/{instance.id}").shuffle(order)
    return tuple(order)


def count_answer(
    tally: Tally, instance: Instance, candidate: int, rewards: Mapping[str, Sequence[float | None]]
) -> Tally:
    """Count one answer.

    Args:
        tally: the points so far.
        instance: the group.
        candidate: the chosen candidate; 0 is the right one.
        rewards: scorer -> rewards of this group.
    """
    if instance.id in tally.answered:
        return tally
    return count_scorers(
        replace(
            tally,
            answered=tally.answered | {instance.id},
            you=tally.you + (candidate == 0),
            chance=tally.chance + Fraction(1, len(instance.stories)),
        ),
        rewards,
    )


def count_scorers(tally: Tally, rewards: Mapping[str, Sequence[float | None]]) -> Tally:
    """Add the points of scorers for one group; a scorer without all rewards of the group is left as it is."""
    points = dict(tally.scorers)
    for name, own in rewards.items():
        places = chosen_places(own, 0)
        if places is not None:
            total, n = points.get(name, (Fraction(0), 0))
            points[name] = (total + credit(places), n + 1)
    return replace(tally, scorers=points)
