"""Rows of JSONL, JSON, CSV, TSV and Parquet files and lines of text files, one at a time, each with its place."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from storyalign.corpus.encodings import open_text
from storyalign.errors import DataError, RowError
from storyalign.files import Line, read_jsonl

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")

LONGEST_FIELD = 64 * 1024 * 1024
"""Characters of one CSV field; a longer one is a quotation mark that was never closed."""

BATCH_ROWS = 64
"""Rows of a Parquet file in memory at a time; a row of posts may hold hundreds of stories."""


def read_table(path: str | Path, *, short_rows: bool = False) -> Iterator[Line]:
    """Yield the rows of a file, whatever its format, without holding the file in memory (JSON alone is read whole).

    JSON and JSONL are UTF-8, as their standard demands. CSV and TSV are read in the encoding of the whole file. Their
    delimiter is the comma, semicolon or tab that the first line holds most often.

    Args:
        path: the ending says the format: .jsonl, .json (a list of objects), .csv, .tsv or .parquet.
        short_rows: take cells that a CSV row lacks at its end as empty, as Excel leaves them out; else such a row is
            broken.

    Yields:
        Rows with their line; in Parquet the number of the row, in JSON that of the object, counted from 1.

    Raises:
        DataError: the file is missing, cannot be read, or has an ending that names no known format.
        RowError: a row is broken; names file and line.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: unknown kind of file; expected one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file; check the path")
    if suffix in (".jsonl", ".ndjson"):
        return read_jsonl(path)
    if suffix == ".json":
        return _json(path)
    return _parquet(path) if suffix == ".parquet" else _csv(path, suffix, short_rows)


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a text file without their ends, in the encoding of the whole file.

    Lines end with ``\n``; a ``\r`` before it is left out, as is a byte-order mark.

    Raises:
        DataError: the file is missing, cannot be read, or is text in no known encoding.
    """
    with open_text(path) as handle:
        yield from (line.rstrip("\r\n") for line in handle)


def _json(path: Path) -> Iterator[Line]:
    try:
        rows = orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON in UTF-8 ({error}); save it as UTF-8 JSON") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of objects, found {type(rows).__name__}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise RowError(path, number, f"expected an object, found {type(row).__name__}")
        yield Line(path, number, row)


def _csv(path: Path, suffix: str, short_rows: bool) -> Iterator[Line]:
    csv.field_size_limit(LONGEST_FIELD)
    lines = (f"{line}\n" for line in read_lines(path))
    head = next(lines, None)
    if head is None:
        raise DataError(f"{path}: the file is empty; expected a line with the names of the columns")
    delimiter = "\t" if suffix == ".tsv" else max(",;\t", key=head.count)
    rows = csv.reader(itertools.chain([head], lines), delimiter=delimiter, strict=True)
    before = 0
    try:
        names = [name.strip() for name in next(rows)]
        _refuse_repeated(path, names)
        before = rows.line_num
        for values in rows:
            number, before = before + 1, rows.line_num
            if not values:
                continue
            if short_rows:
                values += [""] * (len(names) - len(values))
            if len(values) != len(names):
                raise RowError(path, number, f"{len(values)} fields under {len(names)} columns; check its quotes")
            yield Line(path, number, dict(zip(names, values, strict=True)))
    except csv.Error as error:
        raise RowError(path, before + 1, f"not readable as CSV ({error}); check its quotes") from error


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Refuse two columns of one name: one of them would hide the other. Columns without a name hide nothing."""
    places: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name and (first := places.setdefault(name, place)) != place:
            raise DataError(f"{path}: columns {first} and {place} are both named {name!r}; rename or remove one")


def _parquet(path: Path) -> Iterator[Line]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = itertools.count(1)
    try:
        with pq.ParquetFile(path) as file:
            _refuse_repeated(path, file.schema_arrow.names)
            for batch in file.iter_batches(BATCH_ROWS):
                rows: list[dict[str, Any]] = batch.to_pylist()
                for row in rows:
                    yield Line(path, next(numbers), row)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: no readable Parquet ({' '.join(str(error).split())}); fetch it again") from error
