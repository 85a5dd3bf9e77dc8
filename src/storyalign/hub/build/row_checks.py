"""What must hold between the rows of one dataset, checked while they pass by."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from storyalign.errors import DataError
from storyalign.records import DIMENSIONS, SOURCES, BadRow, Instance, PreferencePair
from storyalign.text import letters_key, text_key

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


class _Place(NamedTuple):
    """Where a text was first seen."""

    path: Path
    line: int
    split: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Repetitions:
    """Finds repeated ids and contents, and texts that stand in two splits.

    Two rows have the same text if its letters and digits are the same (``letters_key``).
    """

    def __init__(self) -> None:
        self._ids: dict[str, _Place] = {}
        self._contents: dict[tuple[int, ...], _Place] = {}
        self._texts: dict[int, _Place] = {}

    def check(self, row: Instance | PreferencePair, path: Path, line: int) -> None:
        """Compare a row with all before it.

        Raises:
            BadRow: the row repeats an earlier one, or its premise or a story of it is in another split too.
        """
        split = row.split if isinstance(row, PreferencePair) else "test"
        here = _Place(path, line, split)
        if (first := self._ids.setdefault(row.id, here)) is not here:
            raise BadRow(f"duplicate id; it stands in {first} already")
        # Two edits of one story that differ in punctuation alone are two contents. Sorted: the same stories in another
        # order are no new content, they contradict it.
        premise, *stories = [text_key(text) for text in (row.prompt, *row.stories)]
        if (first := self._contents.setdefault((premise, *sorted(stories)), here)) is not here:
            raise BadRow(f"the same premise with the same stories stands in {first} already")
        if isinstance(row, PreferencePair):
            keys = map(letters_key, (row.prompt, *row.stories))
            for what, key in zip(("premise", "chosen story", "rejected story"), keys, strict=True):
                if (first := self._texts.setdefault(key, here)).split != split:
                    raise BadRow(f"its {what} is in split {first.split} too ({first}); a text belongs to one split")


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
