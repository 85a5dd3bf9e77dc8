"""What a dataset card says about the rows, gathered while they pass by."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from storyalign.hub.table_words import words_of_column
from storyalign.records import Instance, PreferencePair

if TYPE_CHECKING:
    import pyarrow as pa


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

    def add(self, row: Instance | PreferencePair) -> None:
        """Count one row; the words of its stories are counted by ``add_words``."""
        self.licenses[row.license, row.corpus] += 1
        self.languages[row.language] += 1
        self.chosen_writers[row.chosen_writer or "unknown"] += 1
        if isinstance(row, Instance):
            self.table[row.dimension or "none", row.source or "none"] += 1
            self.rejected_writers.update(row.rejected_writers)
            self.stages.update([row.dimension_stage] if row.dimension_stage else [])
            self.routes.update([row.route] if row.route else [])
        else:
            self.table[row.construction, row.split] += 1
            self.rejected_writers[row.rejected_writer or "unknown"] += 1
            self.edits.update([row.edit] if row.edit else [])

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
