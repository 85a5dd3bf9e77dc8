"""One digest over the rows of many Arrow tables, whichever way the rows are cut into tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from hashlib import _Hash

    import pyarrow as pa


def update_digest(hasher: _Hash, table: pa.Table) -> None:
    """Feed every value of every row, in order: first lengths and all that is no text, then the texts themselves."""
    columns = [column.combine_chunks() for column in table.columns]
    texts = [_text_bytes(column) for column in columns if _is_text(column)]
    values = [column.to_pylist() for column in columns if not _is_text(column)]
    fed: list[bytes | memoryview] = []
    for row in range(table.num_rows):
        pieces = [None if not valid[row] else data[ends[row] : ends[row + 1]] for data, ends, valid in texts]
        sizes = [None if piece is None else len(piece) for piece in pieces]
        fed.append(orjson.dumps([sizes, [column[row] for column in values]]))
        fed += filter(None, pieces)
    # One call: each one gives the interpreter away, and has to wait until it gets it back.
    hasher.update(b"".join(fed))


def _is_text(column: Any) -> bool:
    return str(column.type) == "string"


def _text_bytes(column: Any) -> tuple[memoryview, list[int], list[bool]]:
    """Give all bytes of a string array, where each text ends (one more than texts), and which texts are not null."""
    if not len(column):
        return memoryview(b""), [0], []
    ends = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(column.buffers()[2] or b""), ends.tolist(), column.is_valid().to_pylist()
