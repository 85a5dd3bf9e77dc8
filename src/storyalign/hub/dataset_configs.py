"""The configurations of a dataset folder: which files belong to which, and a digest of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from storyalign.hub.parquet_shards import ParquetShards
from storyalign.hub.table_digest import TableDigest
from storyalign.hub.work_thread import WorkThread

if TYPE_CHECKING:
    from datasets import Features


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
    """One configuration: what ``load_dataset(folder, name)`` gives."""

    name: str
    digest: str
    """``sha256:`` and 64 hexadecimal digits; as the description it keeps caches from answering with older rows."""
    splits: list[SplitFacts]


class ConfigFiles:
    """The open Parquet files of all configurations.

    Args:
        folder: the dataset folder; files go to ``data/<config>/``.
        configs: names of all configurations that files belong to, in the order of the card.
        config_column: the column that names a row's configuration.
        splits: names of all splits, in the order of the card. Rows without a column ``split`` belong to the first.
        features: the columns.
        shard_bytes: text in one Parquet file, about.
        each_table: called with the rows of all files, a row group at a time, from another thread.
    """

    def __init__(
        self,
        folder: Path,
        configs: Sequence[str],
        config_column: str,
        splits: Sequence[str],
        features: Features,
        shard_bytes: int,
        each_table: Callable[[pa.Table], None],
    ):
        self._folder, self._configs, self._splits = folder, configs, splits
        self._config_column = config_column
        self._features, self._shard_bytes = features, shard_bytes
        self._each_table = each_table
        self._packing, self._counting = WorkThread("packing"), WorkThread("counting")
        self._files: dict[tuple[str, str], ParquetShards] = {}
        self._digests: dict[tuple[str, str], TableDigest] = {}

    def write(self, table: pa.Table) -> None:
        """Add rows; class labels stand in them by name."""
        names = table.column(self._config_column).to_pylist()
        splits = table.column("split").to_pylist() if "split" in table.schema.names else [self._splits[0]] * len(names)
        rows: dict[tuple[str, str], list[int]] = {}
        for row, key in enumerate(zip(names, splits, strict=True)):
            rows.setdefault(key, []).append(row)
        table = table.select(list(self._features))
        for key, places in rows.items():
            if key not in self._files:
                self._files[key] = self._open(*key)
            # Taken out, not sliced: a slice would keep the whole table in memory until its file's next row group.
            self._files[key].write(table.take(pa.array(places)))

    def close(self) -> list[ConfigFacts]:
        """Finish all files. The default configuration comes first; it names the files of all others."""
        for shards in self._files.values():
            shards.flush()
        self._packing.finish()
        self._counting.finish()
        splits = {key: self._close(*key) for key in self._files}
        self._stop()
        facts = []
        for config in self._configs:
            keys = [(config, split) for split in self._splits if (config, split) in splits]
            if keys:
                digests = [self._digests[key].hexdigest() for key in keys]
                facts.append(ConfigFacts(config, _joined(digests), [splits[key] for key in keys]))
        parts = [[s for config in facts for s in config.splits if s.name == split] for split in self._splits]
        union = [_union(same) for same in parts if same]
        return [ConfigFacts("default", _joined([config.digest for config in facts]), union), *facts]

    def abandon(self) -> None:
        """Let go of all open files after an error; the folder is thrown away by its owner."""
        self._stop()
        for shards in self._files.values():
            shards.abandon()

    def _stop(self) -> None:
        self._packing.stop()
        self._counting.stop()

    def _open(self, config: str, split: str) -> ParquetShards:
        place = self._folder / "data" / config
        place.mkdir(parents=True, exist_ok=True)
        digest = self._digests[config, split] = TableDigest(f"{split} {_columns(self._features)}")

        def count(table: pa.Table) -> None:
            digest.update(table)
            self._each_table(table)

        def each_group(table: pa.Table) -> None:
            self._counting.submit(lambda: count(table))

        return ParquetShards(place, split, self._features, self._packing, each_group, self._shard_bytes)

    def _close(self, config: str, split: str) -> SplitFacts:
        shards = self._files[config, split]
        size = sum(path.stat().st_size for path in shards.close())
        return SplitFacts(split, [f"data/{config}/{split}-*"], shards.n_rows, shards.n_bytes, size)


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


def _columns(features: Features) -> list[tuple[str, str, list[str]]]:
    """Names, types and labels of all columns: what a digest must notice beside the rows."""
    schema = features.arrow_schema
    return [(name, str(schema.field(name).type), getattr(features[name], "names", [])) for name in features]
