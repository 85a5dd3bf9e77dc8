"""Surface cues of a story: what can be read off without understanding it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from storyalign.text import count_words, distinct_words, split_sentences

MIN_SENTENCES = 4
"""Kurtosis of fewer sentences says nothing."""


class Surface(NamedTuple):
    """The cues of one story."""

    words: int
    characters: int
    sentences: int
    """Sentences that hold a word; a line of asterisks is none."""
    burstiness: float
    kurtosis: float | None


def surface_cues(story: str, language: str = "en") -> Surface:
    """Measure one story."""
    lengths = sentence_lengths(story, language)
    return Surface(count_words(story), len(story), len(lengths), burstiness(lengths), kurtosis(lengths))


def sentence_lengths(story: str, language: str = "en") -> list[int]:
    """Return the words of each sentence, in order, sentences without a word left out."""
    return [n for sentence in split_sentences(story, language) if (n := count_words(sentence))]


def burstiness(lengths: Sequence[int]) -> float:
    """Return the coefficient of variation of sentence lengths: population standard deviation over mean, 0 or more.

    0 means that all sentences are equally long; one sentence, or none, does not vary either.

    >>> burstiness([2, 4, 6])
    0.408248290463863
    """
    if not lengths:
        return 0.0
    mean = sum(lengths) / len(lengths)
    return math.sqrt(sum((n - mean) ** 2 for n in lengths) / len(lengths)) / mean


def kurtosis(lengths: Sequence[int]) -> float | None:
    """Return the population excess kurtosis of sentence lengths (Eq. 6), -2 or more; 0 for a normal distribution.

    Returns:
        None with fewer than 4 sentences, or where all are equally long.

    >>> kurtosis([1, 2, 3, 4, 5])
    -1.3
    >>> kurtosis([3, 3, 3, 3]) is None
    True
    """
    if len(lengths) < MIN_SENTENCES or min(lengths) == max(lengths):
        return None
    from scipy import stats

    return float(stats.kurtosis(lengths))


def prompt_overlap(premise: str, story: str) -> float:
    """Return the share of the premise's different words that the story uses, 0 to 1; 0 for a premise without words.

    >>> prompt_overlap("A lost dog returns", "The dog was lost.")
    0.5
    """
    words = distinct_words(premise)
    return len(words & distinct_words(story)) / len(words) if words else 0.0
