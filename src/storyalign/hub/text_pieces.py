"""The texts of an Arrow column as bytes, a piece at a time that fits into the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 1 << 20
"""About so many bytes are looked at together, and at least one text."""


class TextPiece(NamedTuple):
    """Neighbouring texts."""

    data: NDArray[np.uint8]
    """UTF-8, one text after the other, shape (bytes,)."""
    offsets: NDArray[np.int64]
    """Where each text begins, and the end of the last, shape (texts + 1,)."""


def text_pieces(column: Any) -> Iterator[TextPiece]:
    """Give the texts of a ``pyarrow`` string array; nulls are empty."""
    if not len(column):
        return
    ends = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)
    first = 0
    while first < len(column):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + PIECE_BYTES, side="right")) - 1)
        offsets = ends[first : last + 1].astype(np.int64)
        yield TextPiece(data[offsets[0] : offsets[-1]], offsets - offsets[0])
        first = last
