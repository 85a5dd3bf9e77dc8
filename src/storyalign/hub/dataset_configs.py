"""The configurations of a dataset folder: which files belong to which, and a digest of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storyalign.hub.parquet_shards import ParquetShards, Writing
from storyalign.hub.table_digest import update_digest

if TYPE_CHECKING:
    import pyarrow as pa
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
        splits: names of all splits, in the order of the card.
        features: the columns.
        shard_bytes: text in one Parquet file, about.
        each_table: called with the rows of all files, a row group at a time, from another thread.
    """

    def __init__(
        self,
        folder: Path,
        configs: Sequence[str],
        splits: Sequence[str],
        features: Features,
        shard_bytes: int,
        each_table: Callable[[pa.Table], None],
    ):
        self._folder, self._configs, self._splits = folder, configs, splits
        self._features, self._shard_bytes = features, shard_bytes
        self._each_table, self._writing = each_table, Writing()
        self._files: dict[tuple[str, str], ParquetShards] = {}
        self._digests: dict[tuple[str, str], Any] = {}

    def write(self, config: str, split: str, example: dict[str, Any]) -> None:
        """Add one row; class labels stand in it by name, texts as ``str`` or as UTF-8."""
        key = (config, split)
        if key not in self._files:
            self._files[key] = self._open(*key)
        self._files[key].write(example)

    def close(self) -> list[ConfigFacts]:
        """Finish all files. The default configuration comes first; it names the files of all others."""
        for shards in self._files.values():
            shards.flush()
        self._writing.finish()
        splits = {key: self._close(*key) for key in self._files}
        self._writing.stop()
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
        self._writing.stop()
        for shards in self._files.values():
            shards.abandon()

    def _open(self, config: str, split: str) -> ParquetShards:
        place = self._folder / "data" / config
        place.mkdir(parents=True, exist_ok=True)
        hasher = self._digests[config, split] = hashlib.sha256(f"{split} {_columns(self._features)}".encode())

        def each_table(table: pa.Table) -> None:
            update_digest(hasher, table)
            self._each_table(table)

        return ParquetShards(place, split, self._features, self._writing, each_table, self._shard_bytes)

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
