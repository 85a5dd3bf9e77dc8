"""Batches filled by real tokens, drawn from a bounded window so that memory stays flat on streams of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

WINDOW = 256
"""How many items are looked at together by default."""


def plan_batches(
    items: Iterable[T], length: Callable[[T], int], *, budget: int, window: int = WINDOW
) -> Iterator[list[T]]:
    """Group items so that each group holds at most ``budget`` tokens; an item longer than that stands alone.

    Each window is filled longest first, every item going into the first group that still has room for it. All items of
    a window come out before the next window is read.

    Args:
        items: read lazily, ``window`` at a time.
        length: real tokens of one item.
        budget: tokens per group.
        window: items held at once.
    """
    stream = iter(items)
    while chunk := list(islice(stream, window)):
        sized = sorted(((length(item), item) for item in chunk), key=lambda pair: pair[0], reverse=True)
        groups: list[list[T]] = []
        room: list[int] = []
        for size, item in sized:
            place = next((i for i, left in enumerate(room) if size <= left), None)
            if place is None:
                groups.append([item])
                room.append(budget - size)
            else:
                groups[place].append(item)
                room[place] -= size
        yield from groups
