"""What can be counted in a story without a model; shown beside the rewards so that cheap cues stay visible."""

from __future__ import annotations

import re
from dataclasses import dataclass

from storyalign.audit.surface import surface_cues
from storyalign.text import say_length, script_language

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """Counts of one story."""

    words: int
    """A Chinese or Japanese character counts as one word."""
    sentences: int
    burstiness: float
    """How uneven the sentence lengths are: 0 where all are equal."""
    kurtosis: float | None
    """Excess kurtosis of the sentence lengths (Eq. 6); None where it is undefined."""
    invisible: int
    """Zero-width characters, soft hyphens and direction marks."""
    language: str
    """``zh``, ``ja`` or ``en``, by script: enough to choose fonts and sentence rules."""

    @property
    def length(self) -> str:
        """The length as people say it."""
        return say_length(self.words, self.language)


def story_facts(story: str) -> StoryFacts:
    """Count words, sentences and invisible characters of one story."""
    language = script_language(story)
    cues = surface_cues(story, language)
    return StoryFacts(
        words=cues.words,
        sentences=cues.sentences,
        burstiness=cues.burstiness,
        kurtosis=cues.kurtosis,
        invisible=len(_INVISIBLE.findall(story)),
        language=language,
    )
