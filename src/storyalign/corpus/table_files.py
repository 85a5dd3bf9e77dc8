"""Rows of JSONL, JSON, CSV, TSV and Parquet files and lines of text files, one at a time, each with its place."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from storyalign.errors import DataError, RowError
from storyalign.files import Line, read_jsonl

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")

LONGEST_FIELD = 64 * 1024 * 1024
"""Characters of one CSV field; a longer one is a quotation mark that was never closed."""

BATCH_ROWS = 64
"""Rows of a Parquet file in memory at a time; a row of posts may hold hundreds of stories."""


def read_table(path: str | Path, encodings: Counter[str] | None = None) -> Iterator[Line]:
    """Read the rows of a file, whatever its format, without holding the file in memory (JSON alone is read whole).

    Args:
        path: the ending says the format: .jsonl, .json (a list of objects), .csv, .tsv or .parquet.
        encodings: counts the lines of CSV and TSV files that are no UTF-8, by the encoding they were read in.

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
    return _parquet(path) if suffix == ".parquet" else _csv(path, suffix, Counter() if encodings is None else encodings)


def read_lines(path: str | Path, encodings: Counter[str] | None = None) -> Iterator[str]:
    r"""Read the lines of a text file without their ends, each decoded by itself; a byte-order mark is left out.

    A line that is no UTF-8 is read as what it most probably is: public story files hold cp1252 beside UTF-8. Lines end
    with ``\n``; a ``\r`` before it is left out.

    Raises:
        DataError: the file is missing, cannot be read, or holds a line in no known encoding.
    """
    path = Path(path)
    counts = Counter[str]() if encodings is None else encodings
    try:
        with path.open("rb") as handle:
            start = handle.read(2)
            if start in (b"\xff\xfe", b"\xfe\xff"):
                counts["utf-16"] += 1
                with path.open(encoding="utf-16", newline="\n") as text:
                    yield from (line.rstrip("\r\n") for line in text)
                return
            handle.seek(0)
            for number, data in enumerate(handle, start=1):
                data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
                yield _decoded(data, counts, f"{path}:{number}").rstrip("\r\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: starts like UTF-16 and is none ({error.reason}); convert it to UTF-8") from error


def decode(data: bytes, encodings: Counter[str], place: str) -> str:
    """Decode a whole text: UTF-8 with or without a byte-order mark, UTF-16 with one, else the most probable encoding.

    Args:
        data: the bytes.
        encodings: counts what was no UTF-8, by the encoding.
        place: what to name in the error.

    Raises:
        DataError: the bytes are text in no known encoding.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings["utf-16"] += 1
        return data.decode("utf-16")
    return _decoded(data.removeprefix(b"\xef\xbb\xbf"), encodings, place)


def _decoded(data: bytes, counts: Counter[str], place: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        encoding = _encoding(data)
    if encoding is None:
        raise DataError(f"{place}: no text in UTF-8, UTF-16, cp1252, GB 18030, Big5 or Shift JIS; convert it to UTF-8")
    counts[encoding] += 1
    # Five bytes stand for nothing in cp1252; other programs read them as control characters, which a rule removes.
    return data.decode(encoding) if encoding != "cp1252" else data.decode("cp1252", "ignore")


def _encoding(data: bytes) -> str | None:
    """Name the encoding of bytes that are no UTF-8; single odd bytes among ASCII are cp1252."""
    odd = sum(byte >= 0x80 for byte in data)
    if odd * 10 < len(data):  # Western text; a language of many-byte characters has more of them
        return "cp1252" if b"\x00" not in data else None
    from charset_normalizer import from_bytes

    best = from_bytes(data, cp_isolation=["gb18030", "big5", "shift_jis", "cp1252"]).best()
    return None if best is None else best.encoding


def _json(path: Path) -> Iterator[Line]:
    try:
        rows = orjson.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON in UTF-8 ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of objects, found {type(rows).__name__}")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise RowError(path, number, f"expected an object, found {type(row).__name__}")
        yield Line(path, number, row)


def _csv(path: Path, suffix: str, encodings: Counter[str]) -> Iterator[Line]:
    csv.field_size_limit(LONGEST_FIELD)
    lines = (f"{line}\n" for line in read_lines(path, encodings))
    head = next(lines, None)
    if head is None:
        raise DataError(f"{path}: the file is empty; expected a line with the names of the columns")
    delimiter = "\t" if suffix == ".tsv" else max(",;\t", key=head.count)
    rows = csv.reader(itertools.chain([head], lines), delimiter=delimiter, strict=True)
    before = 0
    try:
        names = [name.strip() for name in next(rows)]
        before = rows.line_num
        for values in rows:
            number, before = before + 1, rows.line_num
            if not values:
                continue
            if len(values) != len(names):
                raise RowError(path, number, f"{len(values)} fields under {len(names)} columns; check its quotes")
            yield Line(path, number, dict(zip(names, values, strict=True)))
    except csv.Error as error:
        raise RowError(path, before + 1, f"not readable as CSV ({error}); check its quotes") from error


def _parquet(path: Path) -> Iterator[Line]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = itertools.count(1)
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                rows: list[dict[str, Any]] = batch.to_pylist()
                for row in rows:
                    yield Line(path, next(numbers), row)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: no readable Parquet ({' '.join(str(error).split())}); fetch it again") from error
