"""The Parquet files of a dataset folder, one directory per configuration, and a digest of each configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from datasets import Features

GROUP_ROWS = 1_000
GROUP_BYTES = 8 << 20
"""A row group ends with the row that reaches this number of rows, or about this much text."""

DIGEST_FORMAT = 2
"""How ``ConfigFacts.digest`` is computed (1: column by column); one of another format says nothing about the rows."""

SHARD_BYTES = 500 << 20
"""About this much text goes into one file."""


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """One split of one configuration."""

    name: str
    patterns: list[str]
    """Files, relative to the folder."""
    n_rows: int
    n_bytes: int
    """Size of the rows in memory."""
    download_bytes: int
    """Size of the files."""


@dataclass(frozen=True, slots=True)
class ConfigFacts:
    """One configuration: what ``load_dataset(folder, name)`` returns."""

    name: str
    digest: str
    """``sha256:`` and 64 hexadecimal digits; as the description it keeps caches from answering with older rows."""
    splits: list[SplitFacts]


class ConfigFiles:
    """The open Parquet files of all configurations.

    Args:
        folder: the dataset folder; files go to ``data/<config>/<split>-00000-of-0000N.parquet``.
        configs: names of all configurations that have files, in the order of the card.
        splits: names of all splits, in the order of the card.
        features: the columns.
        shard_bytes: approximate amount of text per Parquet file.
    """

    def __init__(
        self, folder: Path, configs: Sequence[str], splits: Sequence[str], features: Features, shard_bytes: int
    ):
        self._folder, self._configs, self._splits = folder, configs, splits
        self._features, self._shard_bytes = features, shard_bytes
        self._files: dict[tuple[str, str], _SplitFiles] = {}

    def add(self, config: str, split: str, row: Mapping[str, Any]) -> None:
        """Add one row, class labels by name; other keys than the columns are left out."""
        if (config, split) not in self._files:
            place = self._folder / "data" / config
            place.mkdir(parents=True, exist_ok=True)
            self._files[config, split] = _SplitFiles(place, split, self._features, self._shard_bytes)
        self._files[config, split].add({name: row[name] for name in self._features})

    def close(self) -> list[ConfigFacts]:
        """Finish all files. The default configuration comes first; it names the files of all others."""
        facts = []
        for config in self._configs:
            if files := [self._files[config, split] for split in self._splits if (config, split) in self._files]:
                splits = [file.close() for file in files]
                facts.append(ConfigFacts(config, _joined([file.digest for file in files]), splits))
        by_name = [[s for config in facts for s in config.splits if s.name == split] for split in self._splits]
        union = [_union(same) for same in by_name if same]
        return [ConfigFacts("default", _joined([config.digest for config in facts]), union), *facts]

    def abandon(self) -> None:
        """Close all open files after an error; their owner removes the folder."""
        for files in self._files.values():
            files.end_shard()


class _SplitFiles:
    """The numbered files of one split of one configuration; memory holds one row group."""

    def __init__(self, folder: Path, split: str, features: Features, shard_bytes: int):
        self._folder, self._split, self._shard_bytes = folder, split, shard_bytes
        # Without the ``huggingface`` metadata, which datasets before 4 cannot read; features go into the card.
        self._schema = features.arrow_schema.remove_metadata()
        self._labels = {name: f for name, f in features.items() if hasattr(f, "names")}
        # Texts hardly repeat: a dictionary, or their least and greatest, costs time and finds nothing.
        self._few_values = [name for name in self._schema.names if name not in ("id", "prompt", "chosen", "rejected")]
        columns = [(f.name, str(f.type), getattr(features[f.name], "names", [])) for f in self._schema]
        self._hasher = hashlib.sha256(orjson.dumps([split, columns]))
        self._paths: list[Path] = []
        self._writer: pq.ParquetWriter | None = None
        self._group: list[dict[str, Any]] = []
        self._group_bytes = self._bytes_in_shard = self._n_rows = self._n_bytes = 0

    @property
    def digest(self) -> str:
        """64 hexadecimal digits over the split's name, the columns and all rows in order."""
        return self._hasher.hexdigest()

    def add(self, row: dict[str, Any]) -> None:
        line = orjson.dumps(row, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
        self._hasher.update(line)
        self._group.append({**row, **{name: self._number(name, row[name]) for name in self._labels}})
        self._group_bytes += len(line)
        if len(self._group) >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
            self._write_group()

    def close(self) -> SplitFacts:
        """Write the rest, and name the files once their number is known."""
        self._write_group()
        self.end_shard()
        size, total = sum(path.stat().st_size for path in self._paths), len(self._paths)
        for number, path in enumerate(self._paths):
            path.replace(self._folder / f"{self._split}-{number:05d}-of-{total:05d}.parquet")
        pattern = f"data/{self._folder.name}/{self._split}-*"
        return SplitFacts(self._split, [pattern], self._n_rows, self._n_bytes, size)

    def end_shard(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer, self._bytes_in_shard = None, 0

    def _number(self, column: str, label: str | None) -> int | None:
        return None if label is None else self._labels[column].str2int(label)

    def _write_group(self) -> None:
        if not self._group:
            return
        table = pa.Table.from_pylist(self._group, self._schema)
        if self._writer is None:
            self._paths.append(self._folder / f"{self._split}-{len(self._paths):05d}.part")
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
        self._n_rows += table.num_rows
        self._n_bytes += table.nbytes
        self._bytes_in_shard += self._group_bytes
        self._group, self._group_bytes = [], 0
        if self._bytes_in_shard >= self._shard_bytes:
            self.end_shard()


def _union(parts: Sequence[SplitFacts]) -> SplitFacts:
    return SplitFacts(
        parts[0].name,
        [pattern for part in parts for pattern in part.patterns],
        sum(part.n_rows for part in parts),
        sum(part.n_bytes for part in parts),
        sum(part.download_bytes for part in parts),
    )


def _joined(digests: Sequence[str]) -> str:
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"
