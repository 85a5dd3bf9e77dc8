"""Who gets which group next, and in which order its stories lie."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from storyalign.annotation.settling import State
from storyalign.annotation.verdicts import Kind

PATIENCE = 3600.0
"""Seconds after which a group that somebody left open goes to others as well; a late verdict still counts."""

Role = Literal["annotator", "senior"]


class Standing(NamedTuple):
    """Where one group stands."""

    id: str
    state: State
    judged_by: frozenset[str]
    """Annotators with an independent or a senior verdict."""
    claims: tuple[tuple[str, float], ...]
    """Annotators who have the group open, and since when, in seconds."""


class Pick(NamedTuple):
    """The group to show and why."""

    task: str
    kind: Kind


def deal(n: int, *seed: str) -> tuple[int, ...]:
    """Shuffle candidates onto seats: seat ``i`` shows candidate ``deal(...)[i]``; the same seed deals the same."""
    order = list(range(n))
    random.Random("/".join(seed)).shuffle(order)
    return tuple(order)


def next_pick(
    groups: Iterable[Standing],
    annotator: str,
    role: Role,
    *,
    needed: int,
    now: float,
    checks: Sequence[str] = (),
    patience: float = PATIENCE,
) -> Pick | None:
    """Choose the next group for an annotator who has none open.

    Seniors get disputed groups that they did not judge themselves. Others get the checks that are due, then the group
    that needs the fewest further verdicts, in the order of the file; never one that they judged, and never one that
    others already have in hand.

    Args:
        groups: all groups, in order.
        annotator: a key.
        role: ``annotator`` or ``senior``.
        needed: independent verdicts that a group needs.
        now: seconds, on the clock of the claims.
        checks: groups that come back to this annotator, from ``due_checks``.
        patience: see ``PATIENCE``.
    """
    if role == "annotator" and checks:
        return Pick(checks[0], "check")
    best: tuple[int, str] | None = None
    for group in groups:
        if annotator in group.judged_by:
            continue
        others = {who for who, since in group.claims if who != annotator and now - since < patience}
        if role == "senior":
            if group.state == "disputed" and not others:
                return Pick(group.id, "senior")
            continue
        missing = needed - len(group.judged_by | others)
        if group.state == "open" and missing > 0 and (best is None or missing < best[0]):
            best = missing, group.id
    return None if best is None else Pick(best[1], "independent")


def due_checks(done: Sequence[str], checked: Collection[str], every: int, sample: int, seed: str) -> list[str]:
    """Name the groups that come back to an annotator: after every so many groups, a random sample of them (C.1).

    Args:
        done: groups with an independent verdict of this annotator, oldest first.
        checked: those that came back already.
        every: groups between two samples; 0 turns the check off.
        sample: groups of each sample.
        seed: decides the samples; one for each annotator.
    """
    due: list[str] = []
    for batch in range(len(done) // every if every else 0):
        judged = done[batch * every : (batch + 1) * every]
        drawn = random.Random(f"{seed}/{batch}").sample(judged, min(sample, len(judged)))
        due += [task for task in drawn if task not in checked]
    return due
