"""One digest over the rows of many Arrow tables, whichever way the rows are cut into tables."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class TableDigest:
    """A SHA-256 over every value of every row, in order.

    Each column has hashers of its own, for its values and for their lengths and nulls, so whole buffers are fed
    as they lie in memory.

    Args:
        heading: what else the digest must depend on, such as the split, the names and the types of the columns.
    """

    def __init__(self, heading: str) -> None:
        self._heading = heading
        self._columns: dict[str, _ColumnDigest] = {}

    def update(self, table: pa.Table) -> None:
        """Feed the rows of one more table; all have the same columns."""
        for name in table.schema.names:
            column = self._columns.setdefault(name, _ColumnDigest())
            for chunk in table.column(name).chunks:
                column.update(chunk)

    def hexdigest(self) -> str:
        """Give the digest as 64 hexadecimal digits."""
        parts = [self._heading, *(f"{name} {column.hexdigest()}" for name, column in self._columns.items())]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _ColumnDigest:
    def __init__(self) -> None:
        # One for lists and one for texts: fed to the same, their lengths would come in turns, table by table.
        self._lists, self._lengths, self._values = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()

    def update(self, array: Any) -> None:
        if pa.types.is_list(array.type):
            self._lists.update(_bytes(pc.list_value_length(array)))
            array = array.flatten()
        if pa.types.is_string(array.type):
            self._lengths.update(_bytes(pc.binary_length(array)))
            self._values.update(_text_bytes(array))
        else:
            self._lengths.update(_bytes(pc.if_else(array.is_valid(), 1, None)))
            self._values.update(array.fill_null(0).to_numpy(zero_copy_only=False).tobytes())

    def hexdigest(self) -> str:
        return " ".join(hasher.hexdigest() for hasher in (self._lists, self._lengths, self._values))


def _bytes(lengths: Any) -> bytes:
    """Give lengths as 64-bit numbers; that of a null is -1."""
    numbers: bytes = lengths.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False).tobytes()
    return numbers


def _text_bytes(array: Any) -> memoryview:
    """Give all bytes of a string array, one text after the other; nulls have none."""
    if not len(array):
        return memoryview(b"")
    ends = np.frombuffer(array.buffers()[1], dtype=np.int32)
    return memoryview(array.buffers()[2] or b"")[ends[array.offset] : ends[array.offset + len(array)]]
