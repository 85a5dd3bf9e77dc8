"""Writing rows to numbered Parquet files, with memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
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


class Writing:
    """One thread that packs row groups while the next rows are read; all files of a build share it.

    At most one group is being packed and one is waiting, so memory stays what it is.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="parquet")
        self._last: Future[None] | None = None

    def submit(self, work: Callable[[], None]) -> None:
        """Hand over one piece of work, after the one before; an error of that one is raised here."""
        last, self._last = self._last, None
        if last is not None:
            last.result()
        self._last = self._thread.submit(work)

    def finish(self) -> None:
        """Wait for all work; its error is raised here."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def stop(self) -> None:
        """End the thread, done or not."""
        self._last = None
        self._thread.shutdown(wait=True, cancel_futures=True)


class ParquetShards:
    """Files ``<split>-00000-of-0000N.parquet`` of one split.

    The schema holds plain types and no ``huggingface`` metadata, which versions of datasets before 4 cannot all read;
    the features go into the card.

    Args:
        folder: where the files go.
        split: the split's name.
        features: the columns.
        writing: the thread that packs.
        each_table: called there with every row group, in order.
        shard_bytes: text in one file, about.
    """

    def __init__(
        self,
        folder: Path,
        split: str,
        features: Features,
        writing: Writing,
        each_table: Callable[[pa.Table], None],
        shard_bytes: int = SHARD_BYTES,
    ):
        self.split, self.n_rows, self.n_bytes = split, 0, 0
        self._folder, self._shard_bytes = folder, shard_bytes
        self._writing, self._each_table = writing, each_table
        self._schema = features.arrow_schema.remove_metadata()
        self._labels = {name: f.str2int for name, f in features.items() if hasattr(f, "str2int")}
        # Texts hardly repeat: a dictionary, or their least and greatest, costs time and finds nothing.
        self._few_values = [f.name for f in self._schema if f.name not in _TEXTS and f.name != "id"]
        self._paths: list[Path] = []
        self._writer: pq.ParquetWriter | None = None
        self._group: list[dict[str, Any]] = []
        self._group_bytes = self._bytes_in_shard = 0

    def write(self, example: dict[str, Any]) -> None:
        """Add one row; class labels stand in it by name, texts as ``str`` or as UTF-8."""
        self._group.append(example)
        self._group_bytes += sum(map(_size, example.values()))
        if len(self._group) >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
            self._flush()

    def flush(self) -> None:
        """Hand over what is left; it is on disk when ``writing`` has finished."""
        self._flush()

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

    def _flush(self) -> None:
        if not self._group:
            return
        table, size = self._table(), self._group_bytes
        self._group, self._group_bytes = [], 0
        self._writing.submit(lambda: self._pack(table, size))

    def _table(self) -> pa.Table:
        columns = []
        for field in self._schema:
            label = self._labels.get(field.name)
            values = [row[field.name] for row in self._group]
            if label:
                values = [None if value is None else label(value) for value in values]
            columns.append(pa.array(values, field.type))
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
        self._each_table(table)
        self.n_rows += table.num_rows
        self.n_bytes += table.nbytes
        self._bytes_in_shard += size
        if self._bytes_in_shard >= self._shard_bytes:
            self._end_shard()

    def _end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._bytes_in_shard = None, 0


_TEXTS = ("prompt", "chosen", "rejected")


def _size(value: object) -> int:
    return sum(map(len, value)) if isinstance(value, list) else len(value) if isinstance(value, str | bytes) else 8
