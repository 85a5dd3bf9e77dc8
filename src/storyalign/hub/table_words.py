"""Words of each text of an Arrow column, as ``text.count_words`` counts them, for gigabytes of text.

Bytes are sorted into four classes; a word is then a run of bytes between spaces that holds a letter or digit. Nearly
all time is spent in loops of C that leave the interpreter free, so the caller's thread reads on meanwhile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from storyalign.text import count_words

_SPACE, _OTHER, _ALNUM, _CJK = range(4)
"""A CJK character is a word of its own and parts the words around it, so its bytes end up as spaces."""
_STEPS = 64
"""So many bytes are looked at in step for all tokens that begin with punctuation, before the rest is done singly."""


def _class_of(character: str) -> int:
    if character.isspace():
        return _SPACE
    if not character.isascii() and count_words(f"a{character}a") == 3:
        return _CJK
    return _ALNUM if character.isalnum() else _OTHER


_BYTES = bytes(_class_of(chr(i)) if i < 0x80 else _OTHER for i in range(256))
_UNKNOWN = 255
_CHARACTERS = np.full(0x110000, _UNKNOWN, dtype=np.uint8)
"""Class of each character, filled in as they come."""


def words_of_column(column: Any) -> NDArray[np.int64]:
    """Count the words of each text of a ``pyarrow`` string array without nulls, shape (texts,)."""
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    return words_of_texts(data, offsets.astype(np.int64) - offsets[0])


def words_of_texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the words of texts that stand one after the other.

    Args:
        data: UTF-8, shape (bytes,).
        offsets: where each text begins, and the end of the last, shape (texts + 1,).

    Returns:
        Words, shape (texts,).
    """
    classes = np.frombuffer(bytearray(data.tobytes().translate(_BYTES)), dtype=np.uint8)
    words = _mark_characters(classes, data, offsets)
    solid = classes != _SPACE
    begins = solid.copy()
    begins[1:] &= ~solid[:-1]
    first = offsets[:-1][offsets[:-1] < len(data)]
    begins[first] = solid[first]  # a text's first byte follows on no other
    if len(first):
        filled = np.diff(offsets) > 0
        words[filled] += np.add.reduceat(begins.view(np.uint8), offsets[:-1][filled], dtype=np.int64)
    begins &= classes != _ALNUM
    bare = _without_letters(np.flatnonzero(begins), classes, offsets)
    return words - _per_text(bare, offsets)


def _mark_characters(
    classes: NDArray[np.uint8], data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give the bytes of every character beyond ASCII its class, and count the CJK characters of each text."""
    beyond = np.flatnonzero(data >= 0x80)
    codes = np.frombuffer(data[beyond].tobytes().decode().encode("utf-32-le"), dtype=np.uint32)
    if not codes.size:
        return np.zeros(len(offsets) - 1, dtype=np.int64)
    kinds = _CHARACTERS[codes]
    if kinds.max() == _UNKNOWN:
        for character in np.unique(codes[kinds == _UNKNOWN]).tolist():
            _CHARACTERS[character] = _class_of(chr(character))
        kinds = _CHARACTERS[codes]
    cjk = kinds == _CJK
    words = np.zeros(len(offsets) - 1, dtype=np.int64)
    if cjk.any():
        words = _per_text(np.flatnonzero(data >= 0xC0)[cjk], offsets)
        kinds[cjk] = _SPACE
    classes[beyond] = np.repeat(kinds, 2 + (codes >= 0x800).view(np.uint8) + (codes >= 0x10000).view(np.uint8))
    return words


def _without_letters(
    tokens: NDArray[np.int64], classes: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give those of the tokens, named by their first byte, that hold no letter and no digit."""
    ends = offsets[np.searchsorted(offsets, tokens, side="right")]
    bare, step = [], 0
    while tokens.size and step < _STEPS:
        step += 1
        at = tokens + step
        kinds = np.where(at < ends, classes[np.minimum(at, len(classes) - 1)], _SPACE)
        bare.append(tokens[kinds == _SPACE])
        going_on = kinds == _OTHER
        tokens, ends = tokens[going_on], ends[going_on]
    for token, end in zip(tokens.tolist(), ends.tolist(), strict=True):
        run = classes[token:end].tobytes()
        stop = run.find(_SPACE)
        if run.find(_ALNUM, 0, stop if stop >= 0 else len(run)) < 0:
            bare.append(np.array([token]))
    return np.sort(np.concatenate(bare)) if bare else tokens


def _per_text(places: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count sorted places in each text."""
    return np.diff(np.searchsorted(places, offsets)).astype(np.int64)
