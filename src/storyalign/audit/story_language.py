"""What the language of one story looks like: sentence lengths (App. H.4), words, dialogue, variety.

Words are counted as everywhere in the kit: a Chinese or Japanese character is one. Sentences come from sentencex in the
story's own language. Every figure is of one story; means over stories are taken elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from storyalign.audit.surface import burstiness, kurtosis, sentence_lengths
from storyalign.text import count_words, words_of

WINDOW = 100
"""Words of the windows that the moving type-token ratio slides over a story."""


class StoryLanguage(NamedTuple):
    """The figures of one story; None where a story has too little of what is measured."""

    kurtosis: float | None
    """Population excess kurtosis of sentence lengths (Eq. 6)."""
    burstiness: float | None
    """Standard deviation over mean of sentence lengths; None without a sentence."""
    words: float
    sentences: float
    words_a_sentence: float | None
    letters_a_word: float | None
    """Characters of words that are no CJK characters; None where there are none."""
    dialogue_share: float | None
    """Share of words inside double quotation marks, 0 to 1."""
    type_token_ratio: float | None
    """Different words over words, 0 to 1. It falls with length: compare stories of like length only."""
    moving_type_token_ratio: float | None
    """Its mean over all windows of 100 words (Covington & McFall 2010): does not depend on length."""


@lru_cache(maxsize=16_384)  # the scorers of a table choose among the same stories
def story_language(story: str, language: str = "en") -> tuple[StoryLanguage, tuple[int, ...]]:
    """Measure one story.

    Args:
        story: its text.
        language: an ISO 639-1 code, for the sentence rules.

    Returns:
        The figures, and the sums of the sentence lengths to the powers 0 to 4: enough to pool many stories' kurtosis.
    """
    lengths = sentence_lengths(story, language)
    n_words, words = count_words(story), words_of(story)
    spelled = [word for word in words if len(word) > 1 or word.isascii()]
    figures = StoryLanguage(
        kurtosis=kurtosis(lengths),
        burstiness=burstiness(lengths) if lengths else None,
        words=float(n_words),
        sentences=float(len(lengths)),
        words_a_sentence=sum(lengths) / len(lengths) if lengths else None,
        letters_a_word=sum(map(len, spelled)) / len(spelled) if spelled else None,
        dialogue_share=min(1.0, dialogue_words(story) / n_words) if n_words else None,
        type_token_ratio=len(set(words)) / len(words) if words else None,
        moving_type_token_ratio=moving_type_token_ratio(words),
    )
    return figures, tuple(sum(n**power for n in lengths) for power in range(5))


_DIALOGUE = re.compile('“[^”]*|「[^」]*|『[^』]*|«[^»]*|"[^"]*"?')
"""From an opening mark to its closing one, or to the end of the paragraph, as speech over several paragraphs is set."""


def dialogue_words(story: str) -> int:
    """Count the words inside double quotation marks of any make; single ones are too often apostrophes.

    >>> dialogue_words('"Come in," she said. “Now.”')
    3
    >>> dialogue_words("他说：「今天很冷。」")
    4
    """
    plain = story.replace("``", "“").replace("''", "”")  # the Penn Treebank's spelling, found in public story files
    return sum(count_words(quote) for paragraph in plain.splitlines() for quote in _DIALOGUE.findall(paragraph))


def moving_type_token_ratio(words: Sequence[str], window: int = WINDOW) -> float | None:
    """Average the share of different words over all windows of so many words; None for a shorter text.

    >>> moving_type_token_ratio(["a", "b", "a", "a"], window=2)
    0.8333333333333334
    """
    windows = len(words) - window + 1
    if windows < 1:
        return None
    last: dict[str, int] = {}
    total = 0
    for place, word in enumerate(words):
        # A word counts in every window that holds it here for the first time: those that begin behind its last place.
        begins = max(last.get(word, -1) + 1, place - window + 1, 0)
        total += max(0, min(place, windows - 1) - begins + 1)
        last[word] = place
    return total / window / windows
