"""From a judge's single answers to rewards, so that where a story stands in the request can decide nothing.

``rate``      each story alone; the reward is its score, 1-10.
``criteria``  each story alone, by the six criteria of Chhun et al.; the reward is the mean of the scores, 1-5.
``choose``    all k stories, once in each of k rotations, so that each story stands once in each place; the reward is
              the story's share of the votes, 0-1.
``pairwise``  every pair in both orders; the reward is the number of wins, 0 to 2(k-1).

A group that lacks a vote is unscored as a whole: which replies cannot be read may depend on the story.

A judge that always names the same place gives every story the same reward: a k-fold tie, credit 1/k, flip rate 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

Mode = Literal["rate", "choose", "pairwise", "criteria"]
MODES: tuple[Mode, ...] = ("rate", "choose", "pairwise", "criteria")
RATED: tuple[Mode, ...] = ("rate", "criteria")
"""Modes that show each story alone."""

Order = tuple[int, ...]
"""The candidates that one call shows, in the order shown."""


class Flips(NamedTuple):
    """How often the winner changed with the order alone."""

    changed: int
    compared: int
    """Groups (``choose``) or pairs (``pairwise``); only groups with every vote count."""


def orders(mode: Mode, k: int) -> list[Order]:
    """List the calls that one group of k stories takes: k, in ``pairwise`` k(k-1)."""
    if mode in RATED:
        return [(i,) for i in range(k)]
    if mode == "choose":
        return [tuple((start + i) % k for i in range(k)) for start in range(k)]
    return [order for a, b in combinations(range(k), 2) for order in ((a, b), (b, a))]


def rewards(mode: Mode, k: int, votes: Mapping[Order, float]) -> list[float | None]:
    """Turn valid votes into one reward a story.

    Args:
        mode: how the judge was asked.
        k: number of stories.
        votes: the score (rating modes) or the winning candidate (otherwise) by order; orders without a valid vote are
            left out.

    Returns:
        k rewards; None for a story without a score, and for all k where ``choose`` or ``pairwise`` lacks a vote.
    """
    if mode in RATED:
        return [votes.get((i,)) for i in range(k)]
    if len(votes) < len(orders(mode, k)):
        return [None] * k
    winners: Sequence[float] = list(votes.values())
    total = len(winners) if mode == "choose" else 1
    return [winners.count(i) / total for i in range(k)]


def flips(mode: Mode, k: int, votes: Mapping[Order, float]) -> Flips:
    """Count where the order alone changed the winner of one group of k stories.

    Nothing can flip where each story is shown alone; a group that lacks a vote is not compared.
    """
    if mode in RATED or len(votes) < len(orders(mode, k)):
        return Flips(0, 0)
    if mode == "choose":
        return Flips(int(len(set(votes.values())) > 1), 1)
    pairs = list(combinations(range(k), 2))
    return Flips(sum(votes[a, b] != votes[b, a] for a, b in pairs), len(pairs))
