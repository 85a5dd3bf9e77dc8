"""Keeping the sample's books: no surface cue may tell an edited story from the original.

For each dimension the ledger counts how often the rejected story had more of a cue than the chosen one, minus how often
it had less. Among several edits the one is preferred that brings these counts back towards zero.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from storyalign.audit.surface import burstiness, kurtosis, prompt_overlap, sentence_lengths
from storyalign.preferences.offline_edits.operators import Edit
from storyalign.preferences.offline_edits.text import Tale, count_words
from storyalign.text import distinct_words

_CHARACTERS = 1e9
"""More than any story has: characters decide only between equal numbers of words."""

_QUOTES, _MARKS = re.compile('["“”]'), re.compile(r"[^\w\s]")
_WEIGHTS = {"length": 3, "burstiness": 2}
"""1 for all others."""

_MOST = 3
"""Beyond this a count weighs no more: one cue that can't be balanced must not drown the others."""


@lru_cache(maxsize=65536)
def _cues(premise: str, story: str, language: str) -> dict[str, float]:
    lengths, words = sentence_lengths(story, language), count_words(story)
    return {
        "length": words + len(story) / _CHARACTERS,
        "sentences": len(lengths),
        "burstiness": burstiness(lengths),
        "kurtosis": kurtosis(lengths) or 0.0,
        "different words": len(distinct_words(story)) / words,
        "quotation marks": len(_QUOTES.findall(story)),
        "marks": len(_MARKS.findall(story)) / len(story),
        "overlap with the premise": prompt_overlap(premise, story),
    }


def more_or_less(tale: Tale, edit: Edit) -> dict[str, int]:
    """Return for each cue whether the edited story has more (1), less (-1) or as much of it as the original (0)."""
    before = _cues(tale.premise, tale.story, tale.language)
    after = _cues(tale.premise, edit.story, tale.language)
    return {cue: (after[cue] > before[cue]) - (after[cue] < before[cue]) for cue in before}


class Ledger:
    """Counts of more minus less, by dimension and cue."""

    def __init__(self) -> None:
        self._count: Counter[tuple[str, str]] = Counter()

    def enter(self, dimension: str, tale: Tale, edit: Edit) -> None:
        """Count an edit that was taken."""
        for cue, sign in more_or_less(tale, edit).items():
            self._count[dimension, cue] += sign

    def cost(self, dimension: str, tale: Tale, edit: Edit) -> float:
        """Return how much further from balance the books would be with this edit; below zero where it helps."""
        return sum(
            sign * _WEIGHTS.get(cue, 1) * max(-_MOST, min(_MOST, self._count[dimension, cue]))
            for cue, sign in more_or_less(tale, edit).items()
        )
