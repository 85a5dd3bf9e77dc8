"""Preference pairs as chat messages, the conversational format that TRL's trainers take as it is.

The datasets hold plain strings. A trainer that is given plain strings joins premise and story without anything in
between; one that is given messages uses the model's own chat template.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.files import atomic_folder
from storyalign.hub.exported_folder import require_replaceable
from storyalign.records import PreferencePair

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("prompt", _MESSAGES),
        ("chosen", _MESSAGES),
        ("rejected", _MESSAGES),
        ("construction", pa.string()),
        ("license", pa.string()),
    ]
)


def trl_row(pair: PreferencePair) -> dict[str, Any]:
    """Turn a pair into messages: the premise is the user's, each story the assistant's."""
    return {
        "id": pair.id,
        "prompt": [{"role": "user", "content": pair.prompt}],
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
        "construction": pair.construction,
        "license": pair.license,
    }


def export_trl(pairs: Iterable[PreferencePair], out: Path) -> dict[str, int]:
    """Write a folder that ``load_dataset(out)`` and TRL's trainers take.

    Args:
        pairs: of any construction and split.
        out: the folder.

    Returns:
        Split -> number of rows.

    Raises:
        DataError: there are no pairs, or ``out`` holds something else.
    """
    require_replaceable(out, _HEADING)
    counts: dict[str, int] = {}
    with atomic_folder(out) as folder:
        (folder / "data").mkdir()
        writers: dict[str, pq.ParquetWriter] = {}
        try:
            for split, rows in _batches(pairs):
                if split not in writers:
                    file = folder / "data" / f"{split}-00000-of-00001.parquet"
                    writers[split] = pq.ParquetWriter(file, COLUMNS, compression="zstd")
                writers[split].write_table(pa.Table.from_pylist(rows, schema=COLUMNS))
                counts[split] = counts.get(split, 0) + len(rows)
        finally:
            for writer in writers.values():
                writer.close()
        if not counts:
            raise DataError(f"{out}: no pairs to export")
        (folder / "README.md").write_text(_card(counts), encoding="utf-8")
    return counts


def _batches(pairs: Iterable[PreferencePair], size: int = 500) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    open_batches: dict[str, list[dict[str, Any]]] = {}
    for pair in pairs:
        batch = open_batches.setdefault(pair.split, [])
        batch.append(trl_row(pair))
        if len(batch) == size:
            yield pair.split, open_batches.pop(pair.split)
    yield from open_batches.items()


_HEADING = "# Story preference pairs as chat messages"


def _card(counts: dict[str, int]) -> str:
    files = "".join(f"  - split: {split}\n    path: data/{split}-*.parquet\n" for split in counts)
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n\n"
        f"{_HEADING}\n\n"
        "Made for TRL's reward and preference trainers: `prompt`, `chosen` and `rejected` are lists of messages.\n"
    )
