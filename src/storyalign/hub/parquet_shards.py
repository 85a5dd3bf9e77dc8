"""Writing rows to numbered Parquet files, with memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storyalign.hub.work_thread import WorkThread

if TYPE_CHECKING:
    from datasets import Features
    from numpy.typing import NDArray

GROUP_ROWS = 1_000
GROUP_BYTES = 8 << 20
"""A row group is written when it has this many rows, or about this many bytes of text."""

SHARD_BYTES = 500 << 20
"""About this many bytes of text go into one file."""


class ParquetShards:
    """Files ``<split>-00000-of-0000N.parquet`` of one split.

    The schema holds plain types and no ``huggingface`` metadata, which versions of datasets before 4 cannot all read;
    the features go into the card.

    Args:
        folder: where the files go.
        split: the split's name.
        features: the columns.
        packing: the thread that packs.
        each_group: called with every row group, in order, class labels by number.
        shard_bytes: text in one file, about.
    """

    def __init__(
        self,
        folder: Path,
        split: str,
        features: Features,
        packing: WorkThread,
        each_group: Callable[[pa.Table], None],
        shard_bytes: int = SHARD_BYTES,
    ):
        self.split, self.n_rows, self.n_bytes = split, 0, 0
        self._folder, self._shard_bytes = folder, shard_bytes
        self._packing, self._each_group = packing, each_group
        self._schema = features.arrow_schema.remove_metadata()
        self._labels = {name: pa.array(f.names) for name, f in features.items() if hasattr(f, "names")}
        # Texts hardly repeat: a dictionary, or their least and greatest, costs time and finds nothing.
        self._few_values = [f.name for f in self._schema if f.name not in _TEXTS and f.name != "id"]
        self._paths: list[Path] = []
        self._writer: pq.ParquetWriter | None = None
        self._group: list[pa.Table] = []
        self._group_rows = self._group_bytes = self._bytes_in_shard = 0

    def write(self, table: pa.Table) -> None:
        """Add rows; class labels stand in them by name."""
        begin = 0
        for row, size in enumerate(_row_bytes(table), start=1):
            self._group_rows, self._group_bytes = self._group_rows + 1, self._group_bytes + size
            if self._group_rows >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
                self._group.append(table.slice(begin, row - begin))
                self.flush()
                begin = row
        if begin < table.num_rows:
            self._group.append(table.slice(begin))

    def flush(self) -> None:
        """Hand over what is left; it is on disk when the thread has finished."""
        if not self._group:
            return
        table, size = self._labelled(pa.concat_tables(self._group)), self._group_bytes
        self._group, self._group_rows, self._group_bytes = [], 0, 0
        self.n_rows += table.num_rows
        self.n_bytes += size
        self._packing.submit(lambda: self._pack(table, size))
        self._each_group(table)

    def close(self) -> list[Path]:
        """Give the files their final names once all is written, and return them in order."""
        self._end_shard()
        total = len(self._paths)
        return [
            path.replace(self._folder / f"{self.split}-{number:05d}-of-{total:05d}.parquet")
            for number, path in enumerate(self._paths)
        ]

    def abandon(self) -> None:
        """Let go of the open file after an error; the folder is thrown away by its owner."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _labelled(self, table: pa.Table) -> pa.Table:
        """Give class labels by their numbers."""
        columns = [
            pc.index_in(column, self._labels[field.name]).cast(field.type) if field.name in self._labels else column
            for field, column in zip(self._schema, table.columns, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def _pack(self, table: pa.Table, size: int) -> None:
        if self._writer is None:
            self._paths.append(self._folder / f"{self.split}-{len(self._paths):05d}.part")
            self._writer = pq.ParquetWriter(
                self._paths[-1],
                self._schema,
                compression="zstd",
                use_dictionary=self._few_values,
                write_statistics=self._few_values,
                write_page_index=True,
                use_content_defined_chunking=True,  # the Hub stores unchanged pages of two versions once
            )
        self._writer.write_table(table)
        self._bytes_in_shard += size
        if self._bytes_in_shard >= self._shard_bytes:
            self._end_shard()

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._bytes_in_shard = None, 0


_TEXTS = ("prompt", "chosen", "rejected")


def _row_bytes(table: pa.Table) -> list[int]:
    """Give the bytes of each row: its texts, 4 for each text and list, 8 for each number.

    That is Arrow's layout without the bits for nulls, which depend on where a table came from.
    """
    sizes = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        if pa.types.is_string(column.type):
            sizes += _text_bytes(column)
        elif pa.types.is_list(column.type):
            ends = np.cumsum([0, *_text_bytes(pc.list_flatten(column))])
            sizes += 4 + np.diff(ends[np.cumsum([0, *pc.list_value_length(column).to_pylist()])])
        else:
            sizes += 8
    listed: list[int] = sizes.tolist()
    return listed


def _text_bytes(texts: Any) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = pc.binary_length(texts).fill_null(0).to_numpy().astype(np.int64)
    return lengths + 4
