"""Scorers that understand nothing: what they reach, a benchmark gives away for free.

A null scorer is called with the instance's id, the premise and the stories, and returns one reward a story. The stories
come in an order drawn from the id alone, so that ``first`` gains nothing from the chosen story being stored first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from storyalign.audit.surface import burstiness, prompt_overlap, sentence_lengths
from storyalign.records import Instance
from storyalign.text import count_words, digest

NullScorer = Callable[[str, str, Sequence[str]], list[float]]

_CHARACTERS = 1e9
"""More than any story has: characters decide only between equal numbers of words."""


def _random(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    generator = random.Random(digest("null scorer: random", instance_id))
    return [generator.random() for _ in stories]


def _first(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    return [-float(place) for place in range(len(stories))]


@lru_cache(maxsize=64)  # two scorers ask for the same group in turn
def _length(story: str) -> float:
    return count_words(story) + len(story) / _CHARACTERS


def _longest(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    return [_length(story) for story in stories]


def _shortest(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    return [-_length(story) for story in stories]


def _most_bursty(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    return [burstiness(sentence_lengths(story)) for story in stories]


def _most_overlap(instance_id: str, premise: str, stories: Sequence[str]) -> list[float]:
    return [prompt_overlap(premise, story) for story in stories]


NULL_SCORERS: Mapping[str, NullScorer] = MappingProxyType(
    {
        "random": _random,
        "first": _first,
        "longest": _longest,
        "shortest": _shortest,
        "most_bursty": _most_bursty,
        "most_prompt_overlap": _most_overlap,
    }
)
"""Name -> scorer."""


def shown_order(instance: Instance) -> list[int]:
    """Return the candidates in the order in which a null scorer sees them, drawn from the id."""
    order = list(range(len(instance.stories)))
    random.Random(digest("order of the stories", instance.id)).shuffle(order)
    return order


def null_rewards(name: str, instance: Instance) -> list[float]:
    """Return one null scorer's rewards for one instance.

    Returns:
        Rewards in the order of ``instance.stories``.
    """
    order = shown_order(instance)
    shown = NULL_SCORERS[name](instance.id, instance.prompt, [instance.stories[i] for i in order])
    return [shown[order.index(i)] for i in range(len(order))]
