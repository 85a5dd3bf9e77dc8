"""What a dataset card says about the rows, gathered while they pass by."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from storyalign.hub.table_words import words_of_column

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = ("id", "prompt", "chosen", "rejected")


@dataclass(slots=True)
class DatasetStatistics:
    """Counts over rows and stories; about 4 bytes a story are kept."""

    table: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by (dimension, source) or (construction, split)."""
    words: array[int] = field(default_factory=lambda: array("I"))
    """Words of each story: all four of an instance, both of a pair (Table 9)."""
    chosen_writers: Counter[str] = field(default_factory=Counter)
    rejected_writers: Counter[str] = field(default_factory=Counter)
    licenses: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Rows by (licence, corpus)."""
    languages: Counter[str] = field(default_factory=Counter)
    stages: Counter[int] = field(default_factory=Counter)
    routes: Counter[str] = field(default_factory=Counter)
    edits: Counter[str] = field(default_factory=Counter)

    def add(self, table: pa.Table) -> None:
        """Count rows, class labels by name; the words of their stories are counted by ``add_words``."""
        columns = {name: table.column(name).to_pylist() for name in table.schema.names if name not in _TEXTS}
        self.licenses.update(zip(columns["license"], columns["corpus"], strict=True))
        self.languages.update(columns["language"])
        self.chosen_writers.update(_known(columns["chosen_writer"]))
        if "construction" in columns:
            self.table.update(zip(columns["construction"], columns["split"], strict=True))
            self.rejected_writers.update(_known(columns["rejected_writer"]))
            self.edits.update(filter(None, columns["edit"]))
        else:
            self.table.update(
                (dimension or "none", source or "none")
                for dimension, source in zip(columns["dimension"], columns["source"], strict=True)
            )
            self.rejected_writers.update(chain.from_iterable(columns["rejected_writers"]))
            self.stages.update(filter(None, columns["dimension_stage"]))
            self.routes.update(filter(None, columns["route"]))

    def add_words(self, table: pa.Table) -> None:
        """Count the words of all stories of a row group."""
        for name in ("chosen", "rejected"):
            for chunk in table.column(name).chunks:
                texts = chunk if str(chunk.type) == "string" else chunk.flatten()
                self.words.extend(words_of_column(texts).tolist())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.total()

    @property
    def mean_words(self) -> float:
        """Mean number of words of a story."""
        return statistics.fmean(self.words)

    @property
    def median_words(self) -> float:
        """Median number of words of a story."""
        return float(statistics.median(self.words))

    def count(self, row: str | None = None, column: str | None = None) -> int:
        """Rows in one cell of the table; None adds up a whole row or column."""
        return sum(n for (r, c), n in self.table.items() if row in (None, r) and column in (None, c))


def _known(writers: Iterable[str | None]) -> Iterator[str]:
    return (writer or "unknown" for writer in writers)
