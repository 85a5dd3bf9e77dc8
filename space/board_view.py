"""What of a board is shown, and in which order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from results_shelf import Row

from storyalign.accuracy import DIMENSIONS, SOURCES

KINDS = ("model", "judge", "null")
KIND_NAMES = {"model": "reward models", "judge": "judges", "null": "null scorers"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of figures."""

    key: str
    title: str
    value: Callable[[Row], float | None]


def _overall(key: str) -> Callable[[Row], float | None]:
    return lambda row: _number(row.values.get(key))


def _part(group: str, name: str) -> Callable[[Row], float | None]:
    return lambda row: _number(_accuracy(row, group, name))


SOURCE_TITLES = {"human_llm": "Human-LLM", "llm_llm": "LLM-LLM"}
COLUMNS: tuple[Column, ...] = (
    Column("accuracy", "Accuracy", _overall("accuracy")),
    Column("macro_accuracy", "Macro", _overall("macro_accuracy")),
    *(Column(name, name.capitalize(), _part("by_dimension", name)) for name in DIMENSIONS),
    *(Column(name, SOURCE_TITLES[name], _part("by_source", name)) for name in SOURCES),
)
BY_KEY = {column.key: column for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class View:
    """A visitor's wishes."""

    board: int = 0
    sort: str = "accuracy"
    falling: bool = True
    kinds: tuple[str, ...] = KINDS
    words: str = ""


def shown_rows(rows: Sequence[Row], view: View) -> list[Row]:
    """Filter and sort rows; a row without the figure stands last in both directions, equal ones by name."""
    words = view.words.strip().casefold()
    kept = [row for row in rows if row.kind in view.kinds and words in row.name.casefold()]
    if view.sort == "name":
        return sorted(kept, key=lambda row: row.name.casefold(), reverse=view.falling)
    value = BY_KEY[view.sort].value
    sign = -1 if view.falling else 1

    def key(row: Row) -> tuple[float, str]:
        number = value(row)
        return (math.inf if number is None else sign * number, row.name.casefold())

    return sorted(kept, key=key)


def interval(row: Row, group: str | None = None, name: str = "") -> tuple[float, float] | None:
    """Return the 95% interval of the accuracy, overall or of one part."""
    part = row.values if group is None else _part_of(row, group, name)
    return _pair(part.get("ci"))


def column_interval(row: Row, key: str) -> tuple[float, float] | None:
    """Return the 95% interval of the figure in a column."""
    if key == "macro_accuracy":
        return _pair(row.values.get("macro_ci"))
    group = next((g for g, names in (("by_dimension", DIMENSIONS), ("by_source", SOURCES)) if key in names), None)
    return interval(row, group, key)


def _pair(ci: object) -> tuple[float, float] | None:
    if not isinstance(ci, list | tuple) or len(ci) != 2:
        return None
    low, high = _number(ci[0]), _number(ci[1])
    return None if low is None or high is None else (low, high)


def count(row: Row, key: str, group: str | None = None, name: str = "") -> int | None:
    """Return a count such as ``n``; None where the row does not say it."""
    part = row.values if group is None else _part_of(row, group, name)
    value = part.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _accuracy(row: Row, group: str, name: str) -> object:
    parts = row.values.get(group)
    value = parts.get(name) if isinstance(parts, Mapping) else None
    return value.get("accuracy") if isinstance(value, Mapping) else value


def _part_of(row: Row, group: str, name: str) -> Mapping[str, object]:
    parts = row.values.get(group)
    value = parts.get(name) if isinstance(parts, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
