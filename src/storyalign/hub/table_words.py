"""Words of each text of an Arrow column, as ``text.count_words`` counts them, for gigabytes of text.

A word is a run of bytes between spaces that holds a letter or digit. Whole arrays of bytes are compared at once, in
pieces that fit into the processor's cache; that leaves the interpreter free, so other threads go on meanwhile.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storyalign.hub.text_pieces import text_pieces
from storyalign.text import count_words

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

_SPACE, _OTHER, _ALNUM, _CJK = range(4)
"""Classes of characters. A CJK character is a word of its own and parts the words around it, as a space does."""
_UNKNOWN = 255
_CHARACTERS = np.full(0x110000, _UNKNOWN, dtype=np.uint8)
"""Class of each character beyond ASCII, filled in as they come."""
_STEPS = 64
"""So many bytes are looked at in step for all tokens that begin with punctuation, before the rest is done singly."""


def _class_of(character: str) -> int:
    if character.isspace():
        return _SPACE
    if count_words(f"a{character}a") == 3:
        return _CJK
    return _ALNUM if character.isalnum() else _OTHER


def words_of_column(column: Any) -> NDArray[np.int64]:
    """Count the words of each text of a ``pyarrow`` string array without nulls, shape (texts,)."""
    words = [words_of_texts(*piece) for piece in text_pieces(column)]
    return np.concatenate(words) if words else np.zeros(0, dtype=np.int64)


def words_of_texts(data: Bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the words of texts that stand one after the other.

    Args:
        data: UTF-8, shape (bytes,).
        offsets: where each text begins, and the end of the last, shape (texts + 1,).

    Returns:
        Words, shape (texts,).
    """
    # Without a sign, a byte below the first of a range wraps around and comes out above the last.
    solid = (data != 0x20) & (data - 0x09 > 4) & (data - 0x1C > 3)  # what str.isspace says of ASCII
    alnum = ((data | 0x20) - 0x61 < 26) | (data - 0x30 < 10)
    words = _mark_characters(solid, alnum, data, offsets)
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    first = offsets[:-1][offsets[:-1] < len(data)]
    begins[first] = solid[first]  # a text's first byte follows on no other
    words += [np.count_nonzero(begins[begin:end]) for begin, end in pairwise(offsets.tolist())]
    begins &= ~alnum
    bare = _without_letters(np.flatnonzero(begins), solid, alnum, offsets)
    return words - _per_text(bare, offsets)


def _mark_characters(solid: Flags, alnum: Flags, data: Bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Set the flags of every byte beyond ASCII to those of its character, and count the CJK characters of each text."""
    words = np.zeros(len(offsets) - 1, dtype=np.int64)
    beyond = np.flatnonzero(data >= 0x80)
    if not beyond.size:
        return words
    codes = np.frombuffer(data[beyond].tobytes().decode().encode("utf-32-le"), dtype=np.uint32)
    kinds = _CHARACTERS[codes]
    if kinds.max() == _UNKNOWN:
        for character in np.unique(codes[kinds == _UNKNOWN]).tolist():
            _CHARACTERS[character] = _class_of(chr(character))
        kinds = _CHARACTERS[codes]
    cjk = kinds == _CJK
    if cjk.any():
        words = _per_text(np.flatnonzero(data >= 0xC0)[cjk], offsets)
        kinds[cjk] = _SPACE
    kinds = np.repeat(kinds, 2 + (codes >= 0x800).view(np.uint8) + (codes >= 0x10000).view(np.uint8))
    solid[beyond] = kinds != _SPACE
    alnum[beyond] = kinds == _ALNUM
    return words


def _without_letters(
    tokens: NDArray[np.int64], solid: Flags, alnum: Flags, offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give those of the tokens, named by their first byte, that hold no letter and no digit."""
    ends = offsets[np.searchsorted(offsets, tokens, side="right")]
    bare, step = [], 0
    while tokens.size and step < _STEPS:
        step += 1
        at = tokens + step
        inside = at < ends
        at = np.minimum(at, len(solid) - 1)
        inside &= solid[at]
        bare.append(tokens[~inside])
        going_on = inside & ~alnum[at]
        tokens, ends = tokens[going_on], ends[going_on]
    for token, end in zip(tokens.tolist(), ends.tolist(), strict=True):
        spaces = np.flatnonzero(~solid[token:end])
        if not alnum[token : token + spaces[0] if spaces.size else end].any():
            bare.append(np.array([token]))
    return np.sort(np.concatenate(bare)) if bare else tokens


def _per_text(places: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count sorted places in each text."""
    return np.diff(np.searchsorted(places, offsets)).astype(np.int64)
