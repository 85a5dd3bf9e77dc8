"""What must hold between the rows of one dataset, checked while they pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from xxhash import xxh3_64_intdigest

from storyalign.errors import DataError
from storyalign.files import RawLine
from storyalign.hub.place_table import PlaceTable
from storyalign.hub.text_keys import keys_of_column
from storyalign.records import DIMENSIONS, SOURCES, BadRow, Instance, PreferencePair

_ID, _CONTENT = range(2)
"""Seeds; ``text_keys.TEXT`` is another."""

KIT_AUTHOR = "kit-author"
KIT_EDIT = "kit-edit:"

OFFICIAL_COUNTS = {
    "instances": 1_133,
    "human_llm": 509,
    "llm_llm": 624,
    "relevance": 136,
    "fluency": 225,
    "characterization": 215,
    "creativity": 292,
    "coherence": 265,
}
"""The size of StoryRMB: five dimensions (section 2.2) and two sources (section 2.1)."""


class Repetitions:
    """Finds ids and contents that come twice, and texts that stand in two splits; 16 bytes of each are kept, or 32.

    Texts that differ in white space alone are the same.
    """

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._splits: list[str] = []
        self._places = PlaceTable()

    def check(self, table: pa.Table, lines: Sequence[RawLine]) -> None:
        """Compare rows with all before them.

        Args:
            table: ``id``, ``prompt``, ``chosen``, ``rejected`` (texts, or lists of texts) and, for pairs, ``split``.
            lines: where each row stands.

        Raises:
            RowError: a row repeats an earlier one, or its premise or a story of it is in another split too.
        """
        ids, splits = table.column("id").to_pylist(), None
        if "split" in table.schema.names:
            splits = table.column("split").to_pylist()
        texts = zip(*(_keys(table.column(name)) for name in ("prompt", "chosen", "rejected")), strict=True)
        for row, ((premise,), chosen, rejected) in enumerate(texts):
            try:
                self._check(ids[row], premise, [*chosen, *rejected], splits and splits[row], lines[row])
            except BadRow as error:
                raise lines[row].parse().error(str(error)) from error

    def _check(self, row_id: str, premise: int, stories: list[int], split: str | None, line: RawLine) -> None:
        here = self._place(line, split or "test")
        if (place := self._places.enter(xxh3_64_intdigest(row_id.encode(), _ID), here)) is not None:
            raise BadRow(f"the id stands in {self._name(place)} already")
        # Sorted: the same stories in another order are no new content, they contradict it.
        content = b"".join(key.to_bytes(8, "big") for key in (premise, *sorted(stories)))
        if (place := self._places.enter(xxh3_64_intdigest(content, _CONTENT), here)) is not None:
            raise BadRow(f"the same premise with the same stories stands in {self._name(place)} already")
        if split is not None:
            for what, key in zip(("premise", "chosen story", "rejected story"), (premise, *stories), strict=True):
                place = self._places.enter(key, here)
                if place is not None and (before := self._splits[place % 2]) != split:
                    raise BadRow(
                        f"its {what} is in split {before} too ({self._name(place)}); a text belongs to one split"
                    )

    def _place(self, line: RawLine, split: str) -> int:
        if line.path not in self._files:
            self._files.append(line.path)
        if split not in self._splits:
            self._splits.append(split)
        return (self._files.index(line.path) << 44 | line.number) << 1 | self._splits.index(split)

    def _name(self, place: int) -> str:
        return f"{self._files[place >> 45]}:{place >> 1 & (1 << 44) - 1}"


def check_sample(row: Instance | PreferencePair) -> None:
    """Check that a row is what the card of a sample says.

    Raises:
        BadRow: it has other writers, or figures that only a real annotation gives.
    """
    rejected = row.rejected_writers if isinstance(row, Instance) else (row.rejected_writer,)
    writers = (row.chosen_writer, *rejected)
    if foreign := [w for w in writers if w != KIT_AUTHOR and not (w or "").startswith(KIT_EDIT)]:
        raise BadRow(f"a sample is written by {KIT_AUTHOR} and {KIT_EDIT}<operator>, not by {foreign[0]}")
    if isinstance(row, Instance) and (row.tau_avg is not None or row.route is not None):
        raise BadRow("nobody ranked a sample: tau_avg and route must be null")


def check_no_sample(row: Instance | PreferencePair) -> None:
    """Check that no row of the sample passes as real data.

    Raises:
        BadRow: the chosen story was written for the kit.
    """
    if row.chosen_writer == KIT_AUTHOR:
        raise BadRow(f"{KIT_AUTHOR} wrote the chosen story: this is the synthetic sample; build it with --sample")


def check_official_size(table: Counter[tuple[str, str]], name: str) -> None:
    """Check the size of StoryRMB, in total, by dimension and by source.

    Args:
        table: all instances by (dimension, source).
        name: what to name in the error.

    Raises:
        DataError: a count differs.
    """
    found = {"instances": table.total()}
    found |= {dimension: sum(table[dimension, source] for source in SOURCES) for dimension in DIMENSIONS}
    found |= {source: sum(table[dimension, source] for dimension in DIMENSIONS) for source in SOURCES}
    wrong = [f"{found[what]} {what} instead of {n}" for what, n in OFFICIAL_COUNTS.items() if found[what] != n]
    if wrong:
        raise DataError(f"{name}: not the official size: {', '.join(wrong)}; leave out --official-size for another set")


def _keys(column: Any) -> list[list[int]]:
    """Give the keys of each row's texts."""
    rows: list[list[int]] = []
    for array in column.chunks:
        if pa.types.is_string(array.type):
            rows += [[key] for key in keys_of_column(array)]
        else:
            keys = iter(keys_of_column(array.flatten()))
            rows += [list(islice(keys, n)) for n in array.value_lengths().to_pylist()]
    return rows
