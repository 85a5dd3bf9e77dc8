"""Writing a folder for another tool: Parquet files by split, and a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.files import atomic_folder

BATCH_ROWS = 500


def write_export(
    rows: Iterable[tuple[str, dict[str, Any]]],
    columns: pa.Schema,
    out: Path,
    heading: str,
    card: Callable[[Mapping[str, int]], str],
) -> dict[str, int]:
    """Write rows to ``data/<split>-00000-of-00001.parquet``, in a new place or over an older export of the same kind.

    Args:
        rows: split and columns of each row.
        columns: schema of the files.
        out: the folder.
        heading: first heading of the card, by which an older export is recognized.
        card: split -> number of rows; returns the README.md. Called after the last row.

    Returns:
        Split -> number of rows.

    Raises:
        DataError: there are no rows, or ``out`` holds something else, such as the dataset that is exported.
    """
    _require_replaceable(out, heading)
    counts: dict[str, int] = {}
    batches: dict[str, list[dict[str, Any]]] = {}
    with atomic_folder(out) as folder, ExitStack() as files:
        (folder / "data").mkdir()
        writers: dict[str, pq.ParquetWriter] = {}

        def write(split: str) -> None:
            if split not in writers:
                file = folder / "data" / f"{split}-00000-of-00001.parquet"
                writers[split] = files.enter_context(pq.ParquetWriter(file, columns, compression="zstd"))
            writers[split].write_table(pa.Table.from_pylist(batches.pop(split), schema=columns))

        for split, row in rows:
            counts[split] = counts.get(split, 0) + 1
            batches.setdefault(split, []).append(row)
            if len(batches[split]) == BATCH_ROWS:
                write(split)
        if not counts:
            raise DataError(f"{out}: no rows to export")
        for split in list(batches):
            write(split)
        files.close()
        (folder / "README.md").write_text(card(counts), encoding="utf-8")
    return counts


def _require_replaceable(out: Path, heading: str) -> None:
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    card = out / "README.md"
    if not card.is_file() or f"\n{heading}\n" not in card.read_text(encoding="utf-8", errors="replace"):
        raise DataError(f"{out}: holds something else; name another --out")
