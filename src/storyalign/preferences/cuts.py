"""Cutting a story at a paragraph or sentence end, so that the parts put together are the story again."""

from __future__ import annotations

import re
from typing import NamedTuple

_PARAGRAPH = re.compile(r"\n+")
_SENTENCE = re.compile(r"(?:(?<=[.!?…])[\"'”’)]*[ \t]+|[。！？…]+[”’」』）]*)")
_NEAR = 0.08
"""A paragraph's end so near to the place that was asked for, as a share of the story, is taken before a sentence's."""


class Part(NamedTuple):
    """A part of a story and what stands around it; ``before + text + after`` is the story."""

    before: str
    text: str
    after: str


def cut(story: str, share: float) -> tuple[str, str] | None:
    """Cut a story in two near a share of its characters; None where it has no place to cut.

    >>> cut("One. Two. Three. Four.", 0.5)
    ('One. Two. ', 'Three. Four.')
    """
    place = _place(story, share)
    return None if place is None else (story[:place], story[place:])


def part(story: str, first: float, last: float) -> Part | None:
    """Take the part between two shares of a story; None where there is no such part, or it is all of it."""
    start = 0 if first <= 0 else _place(story, first)
    end = len(story) if last >= 1 else _place(story, last)
    if start is None or end is None or start >= end or (start, end) == (0, len(story)):
        return None
    text = story[start:end]
    blank = len(text) - len(text.rstrip())
    end -= blank
    return Part(story[:start], story[start:end], story[end:]) if story[start:end].strip() else None


def _place(story: str, share: float) -> int | None:
    wanted = share * len(story)
    for pattern, near in ((_PARAGRAPH, _NEAR * len(story)), (_SENTENCE, len(story))):
        places = [m.end() for m in pattern.finditer(story) if m.start() > 0 and m.end() < len(story)]
        best = min(places, key=lambda place: abs(place - wanted), default=None)
        if best is not None and abs(best - wanted) <= near:
            return best
    return None
