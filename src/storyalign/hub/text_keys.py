"""64-bit keys of the texts of an Arrow column, for gigabytes of text; white space does not count.

White space is taken out of all texts at once by Arrow, which leaves the interpreter free for other threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from storyalign.hub.text_pieces import TextPiece, text_pieces

TEXT = 2
"""The seed, so that a text never meets an id or a row's content by having the same bytes."""


def keys_of_column(column: Any) -> list[int]:
    """Give the key of each text of a ``pyarrow`` string array without nulls.

    Two texts have the same key if they differ in spaces, tabs and line breaks alone (and by chance, in one case of
    2**64).
    """
    return [key for piece in text_pieces(column) for key in _keys(piece)]


def _keys(piece: TextPiece) -> Iterator[int]:
    data, offsets = piece
    # Tab to carriage return are five neighbours: 9 to 13; smaller bytes come out large, as there is no sign.
    solid = (data != ord(" ")) & (data - 9 > 4)
    mask = pa.Array.from_buffers(pa.bool_(), len(data), [None, pa.py_buffer(np.packbits(solid, bitorder="little"))])
    kept = memoryview(
        pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)]).filter(mask).buffers()[1]
    )
    end = 0
    for first, last in pairwise(offsets.tolist()):
        begin, end = end, end + int(np.count_nonzero(solid[first:last]))
        yield xxh3_64_intdigest(kept[begin:end], TEXT)
