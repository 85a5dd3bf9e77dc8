"""Preference pairs from files and dataset folders, one at a time, with their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError
from storyalign.files import Line
from storyalign.records import BadRow, PreferencePair


class PlacedPair(NamedTuple):
    """A pair and where it stands."""

    pair: PreferencePair
    line: Line


def read_pairs(path: str | Path) -> Iterator[PlacedPair]:
    """Read pairs from a JSONL or Parquet file, or from a dataset folder that ``storyalign build`` wrote.

    Raises:
        DataError: there is no such file, or no data in the folder.
        RowError: a row is no pair; names file, line and id.
    """
    path = Path(path)
    files = sorted(path.glob("data/*/*.parquet")) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: no data/*/*.parquet in this folder; name a folder that storyalign build wrote")
    for file in files:
        split = file.name.split("-")[0] if path.is_dir() else None
        for line in read_table(file):
            row = {**line.row, "split": split} if split else line.row
            try:
                yield PlacedPair(PreferencePair.from_row(row), line)
            except BadRow as error:
                raise line.error(str(error)) from error
