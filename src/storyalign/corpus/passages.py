"""Passages that two texts share word for word: 30 words or more in a row, wherever they stand.

Every run of 30 words holds a run of 20 that begins at a multiple of 11, so of the indexed texts these alone are kept,
as rolling hashes. A text that is looked up is hashed at every word; a hit counts when it extends to 30 words. Thus no
shared passage of 30 words is missed, and none of 29 is reported, but for collisions: of 64 bits a run, of 32 bits a
word at its ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

LEAST = 30
"""Words that a passage has at least; a Chinese or Japanese character is a word."""

_GRAM = 20
_STEP = LEAST - _GRAM + 1
_BASE = 0x9E3779B97F4A7C15
_BITS = 24
"""The first bits of a hash that rule out most lookups."""


class Passage(NamedTuple):
    """Where a text shares a passage with an indexed one."""

    key: int
    start: int
    """Number of a word in the text that was looked up at which a shared passage begins or goes on."""


class PassageIndex:
    """Texts by their passages; about six bytes a word, and 16 MB for all."""

    def __init__(self) -> None:
        self._texts: list[NDArray[np.uint32]] = []
        self._kept: list[Hashes] = []
        self._keys: list[int] = []
        self._built = 0

    def add(self, key: int, words: Hashes) -> None:
        """Index a text under a key; texts of fewer than 30 words have no passage."""
        if len(words) >= LEAST:
            self._texts.append(words.astype(np.uint32))
            self._kept.append(_grams(words)[::_STEP].copy())
            self._keys.append(key)

    def find(self, words: Hashes) -> Passage | None:
        """Return the first passage of 30 words or more that an indexed text has too; None where there is none."""
        if len(words) < LEAST or not self._texts:
            return None
        if self._built != len(self._texts):
            self._build()
        grams = _grams(words)
        hits = np.flatnonzero(self._seen[grams >> np.uint64(64 - _BITS)])
        places = np.searchsorted(self._sorted, grams[hits])
        for start, place in zip(hits.tolist(), places.tolist(), strict=True):
            while place < len(self._sorted) and self._sorted[place] == grams[start]:
                if self._extends(words, start, position := int(self._positions[place])):
                    text = int(np.searchsorted(self._starts, position, side="right")) - 1
                    return Passage(self._keys[text], start)
                place += 1
        return None

    def _build(self) -> None:
        """Lay all texts out in one array, a zero after each, and sort the runs that are kept."""
        gap = np.zeros(1, np.uint32)
        self._words = np.concatenate([part for text in self._texts for part in (text, gap)])
        lengths = np.array([len(text) + 1 for text in self._texts])
        self._starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        grams = np.concatenate(self._kept)
        positions = [start + _STEP * np.arange(len(kept)) for start, kept in zip(self._starts, self._kept, strict=True)]
        order = np.argsort(grams, kind="stable")
        self._sorted, self._positions = grams[order], np.concatenate(positions)[order]
        self._seen = np.zeros(1 << _BITS, bool)
        self._seen[grams >> np.uint64(64 - _BITS)] = True
        # Each text is a part of the one array from now on, so that it is held once.
        ends = self._starts + lengths - 1
        self._texts = [self._words[start:end] for start, end in zip(self._starts, ends, strict=True)]
        self._built = len(self._texts)

    def _extends(self, words: Hashes, start: int, position: int) -> bool:
        """Return whether the shared run around two places has 30 words."""
        before = min(start, position, LEAST - _GRAM)
        after = min(len(words) - start, len(self._words) - position, LEAST)
        same = (
            words[start - before : start + after].astype(np.uint32) == self._words[position - before : position + after]
        )
        left = np.flatnonzero(~same[:before])
        right = np.flatnonzero(~same[before:])
        begun = int(left[-1]) + 1 if left.size else 0
        ended = before + int(right[0]) if right.size else len(same)
        return ended - begun >= LEAST


def hashed(words: list[str]) -> Hashes:
    """Hash words, one 64-bit number each; the numbers hold within one process."""
    return np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)


def _grams(words: Hashes) -> Hashes:
    """Hash every run of 20 words: a polynomial modulo 2^64, computed from the sums of all beginnings."""
    n = len(words)
    powers, inverses = _powers(_BASE, n), _powers(pow(_BASE, -1, 1 << 64), n)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words * powers)])
    grams: Hashes = (sums[_GRAM:] - sums[:-_GRAM]) * inverses[: n - _GRAM + 1]
    return grams


_known_powers: dict[int, Hashes] = {}


def _powers(base: int, n: int) -> Hashes:
    known = _known_powers.get(base)
    if known is None or len(known) < n:
        factors = np.full(max(n, 4096), base, np.uint64)
        factors[0] = 1
        known = _known_powers[base] = np.cumprod(factors)
    return known[:n]
