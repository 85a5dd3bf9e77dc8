"""Writing rows to numbered Parquet files, with memory that does not grow with their number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from datasets import Features

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
        shard_bytes: text in one file, about.
    """

    def __init__(self, folder: Path, split: str, features: Features, shard_bytes: int = SHARD_BYTES):
        self.split, self.n_rows, self.n_bytes = split, 0, 0
        self._folder, self._features, self._shard_bytes = folder, features, shard_bytes
        self._schema = features.arrow_schema.remove_metadata()
        self._paths: list[Path] = []
        self._writer: pq.ParquetWriter | None = None
        self._group: list[dict[str, Any]] = []
        self._group_bytes = self._bytes_in_shard = 0

    def write(self, example: dict[str, Any]) -> None:
        """Add one row; class labels stand in it by name."""
        self._group.append(self._features.encode_example(example))
        self._group_bytes += sum(map(_size, example.values()))
        if len(self._group) >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> list[Path]:
        """Write what is left, give the files their final names, and return them in order."""
        self._flush()
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

    def _flush(self) -> None:
        if not self._group:
            return
        if self._writer is None:
            self._paths.append(self._folder / f"{self.split}-{len(self._paths):05d}.part")
            self._writer = pq.ParquetWriter(
                self._paths[-1],
                self._schema,
                compression="zstd",
                write_page_index=True,
                use_content_defined_chunking=True,  # the Hub stores unchanged pages of two versions once
            )
        table = pa.Table.from_pylist(self._group, schema=self._schema)
        self._writer.write_table(table)
        self.n_rows += table.num_rows
        self.n_bytes += table.nbytes
        self._bytes_in_shard += self._group_bytes
        self._group, self._group_bytes = [], 0
        if self._bytes_in_shard >= self._shard_bytes:
            self._end_shard()

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._bytes_in_shard = None, 0


def _size(value: object) -> int:
    return sum(map(len, value)) if isinstance(value, list) else len(value) if isinstance(value, str) else 8
