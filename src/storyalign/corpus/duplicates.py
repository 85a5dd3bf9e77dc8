"""Exact and near duplicates among many texts, in one pass and about four kilobytes a text.

Exact: the same text as ``text.letters_key`` has it, whatever the case, the punctuation, the white space.
Near: texts that share many of their runs of three words (a Chinese or Japanese character is a word). Their Jaccard
similarity J is estimated with MinHash (``rensa``, 128 values, standard error at most 0.045). At the default
threshold of 0.5 two texts are near duplicates if about two thirds of each stand in the other: a story with one of its
five paragraphs rewritten has J of about 0.67, two stories for the same premise have J below 0.05.

The index finds a pair with 32 bands of 4 values: with J = 0.5 in 87 of 100 cases, with J = 0.67 in 999 of 1,000.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from storyalign.errors import MissingExtraError, RecipeError
from storyalign.text import beyond_ascii, folded, words_key

THRESHOLD = 0.5
"""Two texts whose estimated similarity reaches it are near duplicates."""

N_VALUES, N_BANDS = 128, 32
RUN = 3
"""Words in a run."""

PREMISE_THRESHOLD = 0.6
"""Premises are near duplicates if so many of their different words are common: eight words of which one was replaced
have J of 7 / 9. They are compared word by word, as a changed word breaks three of the few runs of a short text."""

_EAST = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_CJK = re.compile(f"[{_EAST}]")
_WORDS = re.compile(rf"[{_EAST}]|[^\W_{_EAST}]+")
_CLITIC = re.compile(r" '(s|re|ve|ll|d|m)\b")
_MARKS = [chr(code) for code in range(128) if not chr(code).isalnum() and chr(code) != " "]
_PUNCTUATION = str.maketrans(dict.fromkeys(_MARKS, " "))
_FEW = 100
"""Different characters beyond ASCII that are looked at one after the other."""


class Match(NamedTuple):
    """An earlier text that a text repeats."""

    key: str
    similarity: float
    """1 for an exact duplicate, else the estimated Jaccard similarity of the runs of words."""

    @property
    def exact(self) -> bool:
        """Whether both are the same text (``text.letters_key``)."""
        return self.similarity == 1.0


class Signature(NamedTuple):
    """What an index knows of a text. Made once, it serves several indexes: making it is most of their work."""

    exact: int
    """The ``letters_key``."""
    values: Any
    """MinHash of the runs of words; None where near duplicates are not looked for."""


def sign(text: str, *, near: bool = True) -> Signature:
    """Make the signature of a text.

    Raises:
        MissingExtraError: rensa is not installed.
    """
    return sign_words(comparable_words(text), near=near)


def sign_words(words: list[str], *, near: bool = True, run: int = RUN) -> Signature:
    """Make the signature of a text of which the comparable words are at hand; ``run=1`` suits premises.

    Raises:
        MissingExtraError: rensa is not installed.
    """
    values = None
    if near:
        values = _rensa().RMinHash(N_VALUES, 42)
        values.update(words if run == 1 else list(_runs(words)))
    return Signature(words_key(words), values)


class TextIndex:
    """Texts by exact content and by similarity.

    Args:
        threshold: near duplicates reach this similarity; 0 < threshold <= 1. None: exact duplicates alone are found.

    Raises:
        RecipeError: the threshold is no such number.
        MissingExtraError: rensa is not installed.
    """

    def __init__(self, threshold: float | None = THRESHOLD):
        if threshold is not None and not 0 < threshold <= 1:
            raise RecipeError(f"the threshold for near duplicates is {threshold}; expected a number above 0, up to 1")
        self._threshold = threshold
        self._keys: list[str] = []
        self._exact: dict[int, int] = {}
        self._hashes: list[Any] = []
        self._bands = None if threshold is None else _rensa().RMinHashLSH(threshold, N_VALUES, N_BANDS)

    def __len__(self) -> int:
        """Count the texts."""
        return len(self._keys)

    def add(self, key: str, text: str | Signature) -> None:
        """Remember a text under a key; several texts may have the same one."""
        self._add(key, self._signed(text))

    def find(self, text: str | Signature) -> Match | None:
        """Return the text that is most like this one: the exact duplicate, else the most similar near duplicate.

        Among equals the one that was added first.
        """
        return self._find(self._signed(text))

    def find_all(self, text: str | Signature) -> list[Match]:
        """Return every text that this one repeats, in any order; of exact duplicates the first alone."""
        exact, values = self._signed(text)
        found = [] if (number := self._exact.get(exact)) is None else [Match(self._keys[number], 1.0)]
        if self._bands is None or self._threshold is None:
            return found
        similar = ((n, values.jaccard(self._hashes[n])) for n in self._bands.query(values) if n != number)
        # A text with the same runs in another order is no exact duplicate, however the estimate falls out.
        return found + [Match(self._keys[n], min(s, 0.999)) for n, s in similar if s >= self._threshold]

    def find_or_add(self, key: str, text: str | Signature) -> Match | None:
        """Return the most similar text that was added before; without one, remember this text and give None."""
        signature = self._signed(text)
        match = self._find(signature)
        if match is None:
            self._add(key, signature)
        return match

    def _signed(self, text: str | Signature) -> Signature:
        return text if isinstance(text, Signature) else sign(text, near=self._bands is not None)

    def _add(self, key: str, signature: Signature) -> None:
        exact, values = signature
        number = len(self._keys)
        self._keys.append(key)
        self._exact.setdefault(exact, number)
        if self._bands is not None:
            self._hashes.append(values)
            self._bands.insert(number, values)

    def _find(self, signature: Signature) -> Match | None:
        exact, values = signature
        if (number := self._exact.get(exact)) is not None:
            return Match(self._keys[number], 1.0)
        if self._bands is None or self._threshold is None:
            return None
        similar = [(values.jaccard(self._hashes[n]), -n) for n in self._bands.query(values)]
        similarity, place = max(similar, default=(0.0, 0))
        return Match(self._keys[-place], min(similarity, 0.999)) if similarity >= self._threshold else None


def comparable_words(text: str) -> list[str]:
    """Return the words by which texts are compared: lower case, no punctuation, a CJK character is a word.

    >>> comparable_words("It was n't `` late '' .") == comparable_words("It wasn’t “late”.")
    True
    """
    text = folded(text)
    if "’" in text:
        text = text.replace("’", "'")
    if "'" in text:
        text = text.replace(" n't", "nt")
        if " '" in text:
            text = _CLITIC.sub(r"\1", text)
        text = text.replace("'", "")
    # The same words each way; the first two are several times as fast, and most texts are such.
    beyond = beyond_ascii(text)
    different = set(beyond)
    if len(different) > _FEW or _CJK.search(beyond):
        return _WORDS.findall(text)
    for character in different:
        if not character.isalnum():
            text = text.replace(character, " ")
    if text.isascii():
        return text.translate(_PUNCTUATION).split()
    for mark in _MARKS:
        text = text.replace(mark, " ")
    return text.split()


def runs_of_words(text: str) -> set[str]:
    """Return the runs of three words by which similarity is measured; a shorter text is one run."""
    return set(_runs(comparable_words(text)))


def similarity(first: str, second: str) -> float:
    """Measure the Jaccard similarity of two texts' runs of words exactly, from 0 to 1."""
    a, b = runs_of_words(first), runs_of_words(second)
    return len(a & b) / len(a | b) if a | b else 1.0


def _runs(words: list[str]) -> Iterable[str]:
    if len(words) < RUN:
        return (" ".join(words),)
    return map(" ".join, _triples(words))


def _triples(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _rensa() -> Any:
    try:
        import rensa
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "rensa") from error
    return rensa
