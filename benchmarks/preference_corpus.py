"""A synthetic corpus of preference pairs at the paper's lengths, made up of words that nobody ever wrote.

Lengths are lognormal with Table 9's mean (2,802 words) and median (1,858). Words follow Zipf's law, sentences end,
people talk in curly quotes and some words carry accents, so that neither compression nor counting has an easy time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from storyalign.files import read_jsonl, write_jsonl
from storyalign.text import content_id

MEAN_WORDS, MEDIAN_WORDS = 2802, 1858
SHARES = {"back_generation": 0.06, "rewriting": 0.30, "guided_continuation": 0.10, "llm_pairs": 0.54}
"""About 6,000, 30,000, 10,000 and the rest of 100,000 (section 3.1)."""

_SYLLABLES = "an be cor da el fin gra ho is ja ka lo mer no or pa qui ren sta tor un ver wi ys za ble ther ing".split()  # noqa: SIM905
_VOCABULARY = 20_000
_DRAWS = 1 << 20
_FRESH = 10_000
_SENTENCE = 14

Words = np.ndarray[Any, np.dtype[np.object_]]


def pairs(count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield raw rows of ``storyalign build story_preferences``, two to a premise, each premise in one split."""
    rng = np.random.default_rng(seed)
    draws = _draws(rng)
    names, shares = list(SHARES), np.cumsum(list(SHARES.values()))
    for number in range(count):
        construction = names[int(np.searchsorted(shares, rng.random() * shares[-1]))]
        if number % 2 == 0:
            premise = _text(draws, 40, rng)
        length = _length(rng)
        chosen = _text(draws, length, rng)
        # A rewritten story keeps most of its paragraphs, as it does in a real set.
        rejected = _rewritten(chosen, draws, rng) if construction == "rewriting" else _text(draws, _length(rng), rng)
        yield {
            "id": content_id("pair", premise, str(number), str(seed)),
            "prompt": premise,
            "chosen": chosen,
            "rejected": rejected,
            "construction": construction,
            "chosen_writer": "human" if construction != "llm_pairs" else "large-model",
            "rejected_writer": "human" if construction == "back_generation" else "small-model",
            "corpus": "synthetic",
            "language": "en",
            "license": "cc0-1.0",
            "edit": "ending" if construction == "rewriting" else None,
            "chosen_engagement": float(rng.integers(50, 5000)) if construction == "back_generation" else None,
            "rejected_engagement": float(rng.integers(5, 40)) if construction == "back_generation" else None,
            "split": "validation" if number // 2 % 50 == 49 else "train",
        }


def write_pairs(path: Path, count: int, seed: int = 0) -> Path:
    """Write ``count`` pairs, about 35 KB each, unless the file is there.

    Of more than 10,000 the rest are the first ones in words of their own (letters change places), which takes a tenth
    of the time; the file of the first ones is written beside.
    """
    if path.exists():
        return path
    if count <= _FRESH:
        write_jsonl(path, pairs(count, seed))
        return path
    first = write_pairs(path.with_name(f"{_FRESH}.jsonl"), _FRESH, seed)
    rows = (row for number in range(math.ceil(count / _FRESH)) for row in _in_other_words(first, number))
    write_jsonl(path, islice(rows, count))
    return path


def _in_other_words(first: Path, number: int) -> Iterator[dict[str, Any]]:
    """Yield the pairs of a file with other letters in all words; number 0 gives them as they are."""
    others = list(ascii_lowercase) if number == 0 else np.random.default_rng(number).permutation(list(ascii_lowercase))
    letters = bytes.maketrans(
        (ascii_lowercase + ascii_uppercase).encode(), "".join([*others, *map(str.upper, others)]).encode()
    )
    for line in read_jsonl(first):
        texts = {name: line.row[name].encode().translate(letters).decode() for name in ("prompt", "chosen", "rejected")}
        yield {**line.row, **texts, "id": f"{line.row['id']}-{number}"}


def _length(rng: np.random.Generator) -> int:
    spread = math.sqrt(2 * math.log(MEAN_WORDS / MEDIAN_WORDS))
    return max(30, round(float(rng.lognormal(math.log(MEDIAN_WORDS), spread))))


def _draws(rng: np.random.Generator) -> Words:
    """Return words as often as they come: drawing one of these is faster than drawing by weight."""
    made: dict[str, None] = dict.fromkeys(_SYLLABLES)
    while len(made) < _VOCABULARY:
        word = "".join(rng.choice(_SYLLABLES, rng.choice(4, p=(0.15, 0.45, 0.3, 0.1)) + 1))
        made[word.replace("e", "é", 1) if len(made) % 200 == 150 else word] = None
    weights = np.cumsum(1 / (np.arange(_VOCABULARY) + 2.7))
    places = np.searchsorted(weights, rng.random(_DRAWS) * weights[-1])
    return np.array(list(made), dtype=object)[places]


def _text(draws: Words, length: int, rng: np.random.Generator) -> str:
    tokens: list[str] = draws[rng.integers(0, _DRAWS, length)].tolist()
    for number, start in enumerate(range(0, length, _SENTENCE)):
        last = min(start + _SENTENCE, length) - 1
        tokens[start] = tokens[start].capitalize()
        tokens[last] += "."
        if number % 5 == 3:
            tokens[start], tokens[last] = f"“{tokens[start]}", f"{tokens[last]}”"
        if number % 6 == 5:
            tokens[last] += "\n\n"
    return " ".join(tokens).replace("\n\n ", "\n\n").strip()


def _rewritten(story: str, draws: Words, rng: np.random.Generator) -> str:
    paragraphs = story.split("\n\n")
    place = int(rng.integers(len(paragraphs)))
    paragraphs[place] = _text(draws, 90, rng)
    return "\n\n".join(paragraphs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preference_corpus", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(write_pairs(options.path, options.pairs, options.seed))
