"""The operators of all dimensions, and how one is applied so that lengths reveal nothing.

Each operator is a pure function ``(tale, donors, rng) -> edited story or None``. ``edit_near`` tries one with several
seeds and keeps the result whose length is closest to the target, so length does not reveal which story was edited.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from storyalign.preferences.offline_edits.characterization import CHARACTERIZATION
from storyalign.preferences.offline_edits.coherence import COHERENCE
from storyalign.preferences.offline_edits.creativity import CREATIVITY
from storyalign.preferences.offline_edits.fluency import FLUENCY
from storyalign.preferences.offline_edits.relevance import RELEVANCE
from storyalign.preferences.offline_edits.text import Operator, Tale, count_words

OPERATORS: dict[str, dict[str, Operator]] = {
    "coherence": COHERENCE,
    "creativity": CREATIVITY,
    "characterization": CHARACTERIZATION,
    "fluency": FLUENCY,
    "relevance": RELEVANCE,
}
"""All operators by dimension and name."""

_BY_NAME = {name: edit for group in OPERATORS.values() for name, edit in group.items()}

HELD_OUT: dict[str, tuple[str, ...]] = {
    "coherence": ("foreign_middle",),
    "creativity": ("dream_ending",),
    "characterization": ("dialogue_exchanged",),
    "fluency": ("scrambled_word_order",),
    "relevance": ("same_theme_story",),
}
"""Operators that the sample's training pairs never use; its benchmark uses them beside the others."""

MAX_LENGTH_CHANGE = 0.10
"""An edited story has at least 90% and at most 110% of the words of the story it was made from."""


class Edit(NamedTuple):
    """One edited story."""

    operator: str
    story: str
    ratio: float
    """Its words divided by the words of the story it was made from."""
    donor: Tale | None
    """The one donor that was offered, or None where none was."""


def edits(name: str, tale: Tale, donors: Sequence[Tale], seed: str, tries: int = 16) -> list[Edit]:
    """Try an operator with several seeds, one donor at a time, and keep what is clean and of nearly equal length.

    Args:
        name: an operator of ``OPERATORS``.
        tale: the story to edit.
        donors: other stories that it may draw on.
        seed: any text; equal arguments give equal edits on every machine.
        tries: how many seeds.

    Returns:
        Different edited stories with as many paragraphs as the original, in the order they were found.
    """
    words, paragraphs = count_words(tale.story), _paragraphs(tale.story)
    order = [d for d in donors if d.story != tale.story]
    random.Random(f"{seed}/donors").shuffle(order)
    found: dict[str, Edit] = {}
    for k in range(tries):
        donor = order[k % len(order)] if order else None
        story = _BY_NAME[name](tale, [donor] if donor else [], random.Random(f"{seed}/{name}/{k}"))
        if story is None or story == tale.story or _paragraphs(story) != paragraphs:
            continue
        ratio = count_words(story) / words
        if abs(ratio - 1) <= MAX_LENGTH_CHANGE:
            found.setdefault(story, Edit(name, story, ratio, donor))
    return list(found.values())


def edit_near(
    name: str, tale: Tale, donors: Sequence[Tale], seed: str, target: float = 1.0, tries: int = 16
) -> Edit | None:
    """Return the edit whose length ratio is closest to ``target``, or None if the operator does not apply."""
    found = edits(name, tale, donors, seed, tries)
    return min(found, key=lambda e: abs(e.ratio - target)) if found else None


def _paragraphs(story: str) -> int:
    return sum(1 for line in story.splitlines() if line.strip())
