"""Look through every text of a Parquet file, a batch at a time, without making Python strings of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

BATCH_ROWS = 512


class Found(NamedTuple):
    """One text that fits a pattern, and where it stands."""

    row_id: str
    """The row's ``id``, else its number in the file, counted from 1."""
    column: str
    text: str


def search_texts(path: Path, pattern: str) -> Iterator[Found]:
    """Yield each text (also in lists and structs) that fits a regular expression in RE2's syntax.

    Raises:
        DataError: the file is no readable Parquet.
    """
    import pyarrow.compute as pc

    start = 0
    for batch in read_batches(path):
        ids = batch.column("id").to_pylist() if "id" in batch.schema.names else None
        for name in batch.schema.names:
            for texts, rows in _texts(batch.column(name)):
                hits = pc.fill_null(pc.match_substring_regex(texts, pattern), False)
                for at in pc.indices_nonzero(hits).to_pylist():
                    row = at if rows is None else rows[at].as_py()
                    yield Found(str(ids[row]) if ids else str(start + row + 1), name, texts[at].as_py())
        start += batch.num_rows


def rows_of_file(source: Path | bytes) -> int:
    """Count the rows of a Parquet file from its footer.

    Raises:
        DataError: it is no readable Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from storyalign.errors import DataError

    try:
        return int(pq.read_metadata(source if isinstance(source, Path) else pa.BufferReader(source)).num_rows)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{source if isinstance(source, Path) else 'a file'}: no readable Parquet ({error})") from error


def read_batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    """Read a Parquet file as record batches.

    Raises:
        DataError: the file is no readable Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from storyalign.errors import DataError

    try:
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: no readable Parquet ({error}); build it again") from error


def _texts(column: Any, rows: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield all texts of a column, also those in lists and structs, and the row of each; None where it is its place."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        yield from _texts(column.dictionary_decode(), rows)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield column, rows
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        parents = pc.list_parent_indices(column)
        yield from _texts(column.flatten(), parents if rows is None else rows.take(parents))
    elif pa.types.is_struct(kind):
        for field in column.flatten():
            yield from _texts(field, rows)
