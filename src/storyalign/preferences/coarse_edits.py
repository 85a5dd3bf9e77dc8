"""Coarse damage for the embedded sample: versions of a story that nobody would call a story of its premise.

The offline edits keep a story's length and all but one of its qualities, so a model that saw them alone may prefer
shuffled words or a list of keywords to a draft. These pairs teach it the obvious, in several strengths, shorter and
longer than the story. They are in English and for training only: the sample's benchmark holds none of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from storyalign.preferences.sample import CORPUS, pair_of, split_sample
from storyalign.records import PreferencePair
from storyalign.text import count_words

PREFIX = "coarse_"
"""Begins the name of each of these edits."""

SENTENCE_END = re.compile(r"(?<=[.!?”\"])\s+")
_SWAPPED_SHARE = (0.05, 0.15, 0.3)
_KEYWORDS = (20, 30, 60)
_KINDS_PER_STORY = 5

Coarse = Callable[[str, str, Sequence[str], random.Random], str]
"""(premise, story, two stories of other premises, draws) -> weak version."""


def coarse_pairs(seed: int = 0) -> list[PreferencePair]:
    """Return a few pairs for each English story of the training split; each kind of damage comes equally often."""
    stories = [story for story in split_sample(seed).train if story.language == "en"]
    pairs, kinds = [], list(COARSE)
    for place, story in enumerate(stories):
        others = [stories[(place + step) % len(stories)].story for step in (7, 19)]
        for step in range(_KINDS_PER_STORY):
            name = kinds[(place * _KINDS_PER_STORY + step) % len(kinds)]
            draw = random.Random(f"{CORPUS}/{seed}/coarse/{story.id}/{name}")
            pairs.append(pair_of(story, PREFIX + name, COARSE[name](story.premise, story.story, others, draw), "train"))
    return pairs


def shuffled(text: str, unit: Callable[[str], list[str]], draw: random.Random) -> str:
    """Shuffle the words or sentences of a text; paragraphs keep their number of them."""
    paragraphs = [unit(paragraph) for paragraph in text.split("\n\n")]
    units = [one for paragraph in paragraphs for one in paragraph]
    draw.shuffle(units)
    rest = iter(units)
    return "\n\n".join(" ".join(next(rest) for _ in paragraph) for paragraph in paragraphs)


def _some_words_swapped(premise: str, story: str, others: Sequence[str], draw: random.Random) -> str:
    words = story.split(" ")
    for _ in range(int(len(words) * draw.choice(_SWAPPED_SHARE))):
        a, b = draw.randrange(len(words)), draw.randrange(len(words))
        words[a], words[b] = words[b], words[a]
    return " ".join(words)


def repeated(text: str, words: int) -> str:
    """Repeat a text, twice or more, to about so many words."""
    return "\n\n".join([text] * max(2, round(words / count_words(text))))


def _keywords(premise: str, story: str, others: Sequence[str], draw: random.Random) -> str:
    found = list(dict.fromkeys(word.lower() for word in re.findall(r"\w{5,}", story)))
    return ", ".join(found[: draw.choice(_KEYWORDS)])


def _sentences(story: str, draw: random.Random) -> str:
    """Keep five sentences, from first to last."""
    sentences = SENTENCE_END.split(story)
    kept = sorted(draw.sample(range(len(sentences)), min(5, len(sentences))))
    return " ".join(sentences[place] for place in kept)


def _half(premise: str, story: str, others: Sequence[str], draw: random.Random) -> str:
    ends = [end.start() for end in SENTENCE_END.finditer(story)]
    return story[: ends[len(ends) // 2]]


COARSE: dict[str, Coarse] = {
    "words_shuffled": lambda _, story, __, draw: shuffled(story, str.split, draw),
    "words_of_two_shuffled": lambda _, story, others, draw: shuffled(f"{story}\n\n{others[0]}", str.split, draw),
    "some_words_swapped": _some_words_swapped,
    "sentences_shuffled": lambda _, story, __, draw: shuffled(story, SENTENCE_END.split, draw),
    "paragraph_repeated": lambda _, story, __, draw: repeated(draw.choice(story.split("\n\n")), count_words(story)),
    "paragraph_repeated_long": lambda _, story, __, draw: repeated(
        draw.choice(story.split("\n\n")), draw.choice((2, 3)) * count_words(story)
    ),
    "keywords": _keywords,
    "five_sentences": lambda _, story, __, draw: _sentences(story, draw),
    "other_premise": lambda _, __, others, ___: others[0],
    "two_other_premises": lambda _, __, others, ___: "\n\n".join(others),
    "half": _half,
    "premise_copied": lambda premise, _, __, ___: premise,
    "premise_repeated_long": lambda premise, story, _, draw: repeated(
        premise, draw.choice((1, 2)) * count_words(story)
    ),
}
"""Name -> edit."""
