"""What a dataset card says about the rows, counted row by row."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.errors import DataError
from storyalign.records import PAIR_LABELS, Instance, PreferencePair
from storyalign.text import count_words


@dataclass(slots=True)
class DatasetStatistics:
    """Counts over rows and stories; about 4 bytes are kept per story."""

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
        """Count one row and the words of its stories."""
        self.words.extend(map(count_words, row.stories))
        self.licenses[row.license, row.corpus] += 1
        self.languages[row.language] += 1
        self.chosen_writers[row.chosen_writer or "unknown"] += 1
        if isinstance(row, PreferencePair):
            self.table[row.construction, row.split] += 1
            self.rejected_writers[row.rejected_writer or "unknown"] += 1
            if row.edit:
                self.edits[row.edit] += 1
            return
        self.table[row.dimension or "none", row.source or "none"] += 1
        self.rejected_writers.update(row.rejected_writers)
        if row.dimension_stage:
            self.stages[row.dimension_stage] += 1
        if row.route:
            self.routes[row.route] += 1

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.total()

    @property
    def mean_words(self) -> float:
        """Mean number of words per story."""
        return statistics.fmean(self.words)

    @property
    def median_words(self) -> float:
        """Median number of words per story."""
        return float(statistics.median(self.words))

    def count(self, row: str | None = None, column: str | None = None) -> int:
        """Return the rows in one cell of the table; None adds up a whole row or column."""
        return sum(n for (r, c), n in self.table.items() if row in (None, r) and column in (None, c))


PEOPLE_FILE = "people_agreement.json"
"""Stands beside the card that names the figures."""


class PeopleFigure(NamedTuple):
    """How often people put the chosen story of a construction first."""

    construction: str
    share: float
    low: float
    high: float
    """95% interval of the share (Wilson)."""
    n: int
    """Pairs with a verdict that names a best story."""
    unsure: int
    """Pairs on which nobody was sure."""
    verdicts: int


def read_people_figures(path: str | Path) -> tuple[PeopleFigure, ...]:
    """Read what ``storyalign construct people-agreement --json`` wrote.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        content = orjson.loads(Path(path).read_bytes())
        figures = tuple(_figure(name, row) for name, row in content.items())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except KeyError as error:
        raise DataError(
            f"{path}: not written by this version's storyalign construct people-agreement --json (no {error}); "
            "write it again"
        ) from error
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: not written by storyalign construct people-agreement --json ({type(error).__name__})"
        ) from error
    if unknown := [figure.construction for figure in figures if figure.construction not in PAIR_LABELS]:
        raise DataError(f"{path}: unknown construction {unknown[0]!r}")
    return figures


def people_json(figures: tuple[PeopleFigure, ...]) -> dict[str, Any]:
    """Return the figures in the form in which they are read, and nothing else of the check by people."""
    return {
        f.construction: {"share": f.share, "ci": [f.low, f.high], "n": f.n, "unsure": f.unsure, "verdicts": f.verdicts}
        for f in figures
    }


def _figure(name: str, row: dict[str, Any]) -> PeopleFigure:
    low, high = row["ci"]
    n, unsure, verdicts = (int(row[name]) for name in ("n", "unsure", "verdicts"))
    return PeopleFigure(name, float(row["share"]), float(low), float(high), n, unsure, verdicts)
