"""Raw rows as Arrow tables of a few megabytes, checked; what differs from the plain case is read row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from storyalign.errors import RowError
from storyalign.files import RawLine
from storyalign.records import BadRow, Instance, PreferencePair

BLOCK_BYTES = 4 << 20
"""A block ends with the line that reaches this many bytes."""

BLOCK_ROWS = 1_000

ReadWhole = Callable[[Sequence[RawLine], pa.Schema], pa.Table | None]
"""Reads lines in columns; None where it cannot tell what is wrong with them, or cannot read them so."""

ReadRow = Callable[[Mapping[str, Any]], Instance | PreferencePair]
"""Checks one row; raises ``BadRow``."""


class RowBlock(NamedTuple):
    """Neighbouring rows, each of them whole."""

    table: pa.Table
    """Class labels stand in it by name."""
    lines: Sequence[RawLine]
    """One for each row."""
    error: RowError | None
    """What is wrong with the line after these. It counts only if these do not repeat each other or earlier ones."""


def read_blocks(
    lines: Iterable[RawLine], schema: pa.Schema, read_row: ReadRow, read_whole: ReadWhole | None = None
) -> Iterator[RowBlock]:
    """Read lines in blocks; the one with an error is the last.

    Args:
        lines: of all files.
        schema: the columns of the tables.
        read_row: the checks, for one row.
        read_whole: the same checks for many rows at once; None where speed does not matter.
    """
    for taken in _taken(lines):
        table = read_whole(taken, schema) if read_whole is not None else None
        block = RowBlock(table, taken, None) if table is not None else _row_by_row(taken, schema, read_row)
        yield block
        if block.error is not None:
            return


def _taken(lines: Iterable[RawLine]) -> Iterator[list[RawLine]]:
    taken: list[RawLine] = []
    size = 0
    for line in lines:
        taken.append(line)
        size += len(line.data)
        if size >= BLOCK_BYTES or len(taken) >= BLOCK_ROWS:
            yield taken
            taken, size = [], 0
    if taken:
        yield taken


def _row_by_row(lines: Sequence[RawLine], schema: pa.Schema, read_row: ReadRow) -> RowBlock:
    rows: list[dict[str, Any]] = []
    error: RowError | None = None
    for raw in lines:
        try:
            line = raw.parse()
            try:
                rows.append(read_row(line.row).to_row())
            except BadRow as bad:
                raise line.error(str(bad)) from bad
        except RowError as found:
            error = found
            break
    return RowBlock(pa.Table.from_pylist(rows, schema), lines[: len(rows)], error)
