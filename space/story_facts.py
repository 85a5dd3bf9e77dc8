"""What can be counted in a story without a model; shown beside the rewards so that cheap cues stay visible."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean

from storyalign.text import count_words, split_sentences

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """Counts of one story."""

    words: int
    """A Chinese or Japanese character counts as one word."""
    sentences: int
    burstiness: float | None
    """How uneven the sentence lengths are (Eq. 6); None where it is undefined."""
    invisible: int
    """Zero-width characters, soft hyphens and direction marks."""
    language: str
    """``zh``, ``ja`` or ``en``, by script: enough to choose fonts and sentence rules."""

    @property
    def length(self) -> str:
        """The length as people say it."""
        return _length(self.words, self.language)


def story_facts(story: str) -> StoryFacts:
    """Count words, sentences and invisible characters of one story."""
    language = script_language(story)
    lengths = [n for sentence in split_sentences(story, language) if (n := count_words(sentence))]
    return StoryFacts(
        words=count_words(story),
        sentences=len(lengths),
        burstiness=burstiness(lengths),
        invisible=len(_INVISIBLE.findall(story)),
        language=language,
    )


def length_of(story: str) -> str:
    """Say how long a story is, in words, or in characters where these are counted."""
    return _length(count_words(story), script_language(story))


def burstiness(lengths: list[int]) -> float | None:
    """Give the population excess kurtosis of sentence lengths (Eq. 6).

    Args:
        lengths: words in each sentence.

    Returns:
        At least -2; None for fewer than 4 sentences, or where all are equally long.
    """
    if len(lengths) < 4 or len(set(lengths)) == 1:
        return None
    mean = fmean(lengths)
    variance = fmean((n - mean) ** 2 for n in lengths)
    return fmean((n - mean) ** 4 for n in lengths) / variance**2 - 3


def script_language(text: str) -> str:
    """Guess the language from the script: ``ja`` with kana, ``zh`` where a fifth of the letters is Han, else ``en``."""
    letters = len(_LETTER.findall(text))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if letters and kana * 10 >= letters:
        return "ja"
    return "zh" if letters and han * 5 >= letters else "en"


def _length(words: int, language: str) -> str:
    return f"{words:,} {'words' if language == 'en' else 'characters'}"
