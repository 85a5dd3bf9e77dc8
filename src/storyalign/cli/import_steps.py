"""What the import verbs share: their options, and the way of the rows from the files to one JSONL file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storyalign.errors import DataError, RecipeError

if TYPE_CHECKING:
    from storyalign.corpus.column_mapping import ColumnMapping
    from storyalign.corpus.filters import Filters, Row
    from storyalign.corpus.tally import Tally
    from storyalign.files import Line
    from storyalign.hub.release.people import PersonKeys

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSONL, JSON, CSV, TSV or Parquet.")]
Out = Annotated[Path, typer.Option(help="JSONL file to write; an older one there is replaced.")]
MappingFile = Annotated[
    Path | None, typer.Option("--mapping", help="columns: YAML file that says which column is which field.")
]
Corpus = Annotated[str | None, typer.Option(help="Name of the corpus; the first file's name by default.")]
License = Annotated[str, typer.Option(help="Licence of rows that name none.")]
Language = Annotated[
    str | None, typer.Option(help="Language of rows that name none (en, zh, ...); else it is detected.")
]
MinWords = Annotated[int, typer.Option(min=1, help="Leave out rows with a shorter story.")]
MaxWords = Annotated[int | None, typer.Option(min=1, help="Leave out rows with a longer story.")]
OnlyLanguage = Annotated[list[str] | None, typer.Option(help="Keep this language; may be given several times.")]
OnlyLicense = Annotated[list[str] | None, typer.Option(help="Keep this licence; may be given several times.")]
Whole = Annotated[bool, typer.Option("--whole", help="Leave out rows with a story that ends in mid-sentence.")]
NearDuplicates = Annotated[
    float | None,
    typer.Option(min=0.01, max=1.0, help="Leave out rows this similar to an earlier one: 0.5 is two thirds in common."),
]
KeepDuplicates = Annotated[bool, typer.Option("--keep-duplicates", help="Keep rows with the same words, too.")]


def make_filters(
    min_words: int,
    max_words: int | None,
    languages: list[str] | None,
    licenses: list[str] | None,
    whole: bool,
    near: float | None,
    keep_duplicates: bool,
    min_engagement: float | None = None,
) -> Filters:
    """Make the filters of the options."""
    from storyalign.corpus.filters import Filters

    return Filters(
        min_words=min_words,
        max_words=max_words,
        languages=frozenset(languages or ()),
        min_engagement=min_engagement,
        licenses=frozenset(name.lower() for name in licenses or ()),
        whole=whole,
        exact_duplicates=not keep_duplicates,
        near_duplicates=None if keep_duplicates else near,
    )


def mapping_of(path: Path | None, kind: str) -> ColumnMapping:
    """Read the mapping that the format ``columns`` needs."""
    from storyalign.corpus.column_mapping import load_mapping

    if path is None:
        raise RecipeError("columns needs a YAML file that says which column is which field: --mapping FILE")
    return load_mapping(path, kind)


@cache
def _person_keys() -> PersonKeys:
    from storyalign.hub.release.people import load_person_keys

    return load_person_keys()


def author_key(name: str) -> str:
    """Return the key of an author; the salt is read, or made, when the first one comes."""
    return _person_keys().key(name)


def each_file(files: list[Path], read: Callable[[Path], Iterator[Line]]) -> Iterator[Line]:
    """Read files one after the other."""
    for path in files:
        yield from read(path)


def with_bar(lines: Iterable[Line]) -> Iterable[Line]:
    """Show a progress bar while rows are read."""
    from tqdm import tqdm

    bar: Iterable[Line] = tqdm(lines, unit=" rows", desc="reading", disable=None)
    return bar


def encoding_lines(files: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each text file that is not UTF-8, with the encoding it was read in."""
    from storyalign.corpus.encodings import UTF8, encoding_of

    for path in files:
        if path.suffix.lower() in _NO_TEXT or (encoding := encoding_of(path)) == UTF8:
            continue
        yield f"  {path}: read as {encoding.name}"


_NO_TEXT = (".parquet", ".xlsx", ".json", ".jsonl", ".ndjson")
"""Endings of files that are no text, or UTF-8 by their standard."""


def write_rows(rows: Iterable[Row], filters: Filters, tally: Tally, out: Path, unit: str, files: list[Path]) -> None:
    """Filter rows, write them in one step, and print what was left out and why, and which file is not UTF-8.

    Raises:
        DataError: no row is left; the file is not touched.
    """
    from storyalign.corpus.filters import keep
    from storyalign.files import write_jsonl

    def to_write() -> Iterator[dict[str, Any]]:
        for row in keep(rows, filters, tally):
            yield row.to_row()
        if not tally.kept:
            (reason, n), *_ = tally.dropped.most_common(1) or [("there were none", 0)]
            raise DataError(f"{out}: no rows are left of {tally.read:,} ({n:,} of them: {reason}); nothing was written")

    write_jsonl(out, to_write())
    for line in (*tally.lines(), *encoding_lines(files)):
        typer.echo(line)
    typer.echo(f"{out}: {tally.kept:,} {unit}")
