"""Can a published table of accuracies be true? Averages and cells checked against the sizes of the groups.

An accuracy over ``N`` groups is ``k/N`` for a whole number ``k``, so with few groups most decimals cannot occur. And an
average of columns is either the mean over groups (micro) or the mean over columns (macro): which one a printed figure
is, the columns themselves tell, up to rounding. A rounded cell may be half a unit off and so may the average; together
that is one unit of the last digit, the tolerance used here.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from importlib.resources import files
from io import StringIO
from typing import Any, Literal, NamedTuple

from storyalign.errors import DataError, RecipeError
from storyalign.tables import NO_FIGURE, Table, figure

STORYRMB_SIZES: Mapping[str, int] = {
    "coherence": 265,
    "creativity": 292,
    "characterization": 215,
    "fluency": 225,
    "relevance": 136,
}
"""Instances of StoryRMB by dimension (section 2.2)."""

PAPER_TABLES: Mapping[str, str] = {"paper:1": "table_1.csv", "paper:2": "table_2.csv"}
"""Tables that ship with the kit: the rows of the paper's Table 1, and those of Table 2 that Table 1 has not."""

Fit = Literal["micro", "macro", "both", "neither"]


class PrintedRow(NamedTuple):
    """One row as printed: the number of decimals counts."""

    name: str
    cells: Mapping[str, Decimal]
    """Column -> percent."""
    average: Decimal | None
    blank: tuple[str, ...] = ()
    """Columns without a figure in this row."""


class ImpossibleCell(NamedTuple):
    """A percentage that no whole number of right groups gives."""

    row: str
    column: str
    printed: str
    n: int
    below: str
    """The nearest possible ``k/N`` below it, with its percentage."""
    above: str
    cut_from: str | None
    """The ``k/N`` whose decimals were cut off instead of rounded, where there is one."""


class AuditedRow(NamedTuple):
    """One row and what its average is."""

    name: str
    average: str | None
    micro: float | None
    """Percent, from the printed cells and the sizes; None where a cell is blank."""
    macro: float | None
    fit: Fit | None
    """None where the row has no average, or a blank cell: the average may count what is not printed."""
    blank: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableAudit:
    """Everything found in one table."""

    name: str
    sizes: dict[str, int]
    rows: list[AuditedRow]
    impossible: list[ImpossibleCell]
    n_cells: int

    def count(self, *fits: Fit) -> int:
        """Count the rows whose average fits in one of these ways."""
        return sum(row.fit in fits for row in self.rows)

    @property
    def summary(self) -> str:
        """The finding in one line."""
        n = sum(row.fit is not None for row in self.rows)
        n_blank = sum(row.average is not None and row.fit is None for row in self.rows)
        unchecked = f"; {n_blank} more not checked, as cells of their rows are blank" if n_blank else ""
        return (
            f"{n} averages: {self.count('micro', 'both')} fit the mean over groups (micro), "
            f"{self.count('macro', 'both')} the mean over columns (macro), {self.count('both')} of them both, "
            f"{self.count('neither')} neither; {len(self.impossible)} of {self.n_cells} cells are no k/N"
            f"{unchecked}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        rows = [row._asdict() for row in self.rows]
        cells = [cell._asdict() for cell in self.impossible]
        return {**asdict(self), "rows": rows, "impossible": cells, "summary": self.summary}


def tables_of(audit: TableAudit) -> list[Table]:
    """Return what each average is, and the cells that cannot be."""
    averages = [
        [
            *(row.name, row.average or NO_FIGURE, figure(row.micro), figure(row.macro)),
            "either" if row.fit == "both" else row.fit or ("not checked: blank cells" if row.blank else ""),
        ]
        for row in audit.rows
    ]
    cells = [
        [f"{c.row}, {c.column}", c.printed, str(c.n), c.below, c.above, "cut, not rounded" if c.cut_from else ""]
        for c in audit.impossible
    ]
    sizes = ", ".join(f"{name} {n}" for name, n in audit.sizes.items())
    title = f"{audit.name}: {len(audit.rows)} rows; groups: {sizes}"
    note = (
        "Percent. An average fits when it lies within one unit of the last printed digit of the mean: half a unit for "
        "the rounding of the cells, half for its own."
    )
    return [
        Table(["Row", "Printed", "Over groups", "Over columns", "The average is"], averages, title),
        Table(["Cells that are no k/N", "Printed", "N", "Nearest", "", ""], cells, notes=[audit.summary, note]),
    ]


def audit_table(name: str, rows: Sequence[PrintedRow], sizes: Mapping[str, int]) -> TableAudit:
    """Check every average and every cell.

    Args:
        name: what to call the table.
        rows: as printed, in percent.
        sizes: column -> groups behind it, for every column.

    Raises:
        RecipeError: a column has no size.
    """
    lowered = {column.casefold(): size for column, size in sizes.items()}
    columns = list(dict.fromkeys(column for row in rows for column in row.cells))
    missing = [column for column in columns if column.casefold() not in lowered]
    if missing:
        raise RecipeError(f"{name}: no group size for {', '.join(missing)}; name it as --groups {missing[0]}=N")
    size_of = {column: lowered[column.casefold()] for column in columns}
    cells = [(row.name, column, cell, size_of[column]) for row in rows for column, cell in row.cells.items()]
    impossible = [_impossible(*cell) for cell in cells if possible(cell[2], cell[3]) is None]
    return TableAudit(name, size_of, [_audit_row(row, size_of) for row in rows], impossible, len(cells))


def possible(printed: Decimal, n: int) -> int | None:
    """Find ``k`` so that ``k/n``, rounded to as many decimals, is the printed percentage; None where there is none.

    A half may be rounded either way.

    >>> possible(Decimal("17.0"), 265), possible(Decimal("25.1"), 292)
    (45, None)
    """
    value, half = Fraction(printed), _unit(printed) / 2
    k = max(0, math.ceil((value - half) * n / 100))
    return k if k <= n and Fraction(100 * k, n) <= value + half else None


def _impossible(row: str, column: str, printed: Decimal, n: int) -> ImpossibleCell:
    value = Fraction(printed)
    below, cut = math.floor(value * n / 100), math.ceil(value * n / 100)
    is_cut = cut <= n and Fraction(100 * cut, n) < value + _unit(printed)
    below_, above, cut_from = (f"{k}/{n} = {100 * k / n:.2f}" for k in (below, below + 1, cut))
    return ImpossibleCell(row, column, str(printed), n, below_, above, cut_from if is_cut else None)


def _audit_row(row: PrintedRow, sizes: Mapping[str, int]) -> AuditedRow:
    printed = None if row.average is None else str(row.average)
    if row.blank or not row.cells:
        return AuditedRow(row.name, printed, None, None, None, row.blank)
    values = {column: Fraction(cell) for column, cell in row.cells.items()}
    micro = sum((sizes[c] * v for c, v in values.items()), Fraction(0)) / sum(sizes[c] for c in values)
    macro = sum(values.values(), Fraction(0)) / len(values)
    fit: Fit | None = None
    if row.average is not None:
        # The coarsest cell says how far rounding can have moved either mean.
        slack = (max(map(_unit, row.cells.values())) + _unit(row.average)) / 2
        near = [abs(Fraction(row.average) - mean) <= slack for mean in (micro, macro)]
        fit = "both" if all(near) else "micro" if near[0] else "macro" if near[1] else "neither"
    return AuditedRow(row.name, printed, float(micro), float(macro), fit)


def _unit(printed: Decimal) -> Fraction:
    """Return the unit of the last printed digit."""
    exponent = printed.as_tuple().exponent
    return Fraction(1, 10**-exponent) if isinstance(exponent, int) and exponent < 0 else Fraction(1)


def read_table(text: str, name: str, average: str | None = None) -> list[PrintedRow]:
    """Read a table from CSV: names in the first column, accuracies in percent, the average in a column of its own.

    Args:
        text: the CSV.
        name: the file, for messages.
        average: the column that holds the average; by default the one called so, or macro, micro, mean, overall.

    Raises:
        DataError: a cell is not a number between 0 and 100, two columns share a name, no cell is above 1 (fractions),
            or the table has no rows or no column of accuracies.
        RecipeError: there is no such column.
    """
    reader = csv.reader(StringIO(text))
    lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(map(str.strip, cells))]
    if len(lines) < 2 or len(lines[0][1]) < 2:
        raise DataError(f"{name}: expected a line of column names and at least one row, cells apart by commas")
    head = lines[0][1]
    columns, folded = head[1:], [column.casefold() for column in head[1:]]
    if twice := next((column for column in columns if folded.count(column.casefold()) > 1), None):
        raise DataError(f"{name}: two columns are called {twice}; give each a name of its own")
    if average is not None and average not in columns:
        raise RecipeError(f"{name}: has no column {average!r}; its columns are {', '.join(columns)}")
    named = average or next((column for column in columns if column.casefold() in _AVERAGES), None)
    if columns == [named]:
        raise DataError(f"{name}: has no column of accuracies beside {named!r}")
    rows = []
    for number, cells in lines[1:]:
        if len(cells) != len(head):
            raise DataError(f"{name}:{number}: {len(cells)} cells under {len(head)} column names")
        printed = dict(zip(columns, cells[1:], strict=True))
        values = {c: _percent(cell, f"{name}:{number} ({cells[0]}), {c}") for c, cell in printed.items() if cell}
        mean = values.pop(named, None) if named else None
        rows.append(PrintedRow(cells[0], values, mean, tuple(c for c in columns if not printed[c] and c != named)))
    every = [value for row in rows for value in row.cells.values()]
    if any(every) and max(every) <= 1:
        raise DataError(f"{name}: no cell is above 1; accuracies are read as percent, so multiply fractions by 100")
    return rows


_AVERAGES = {"average", "avg", "mean", "overall", "micro", "macro", "accuracy", "macro_accuracy"}


def paper_table(name: str) -> list[PrintedRow]:
    """Return a table that ships with the kit, ``paper:1`` or ``paper:2``."""
    text = files(__package__).joinpath("tables", PAPER_TABLES[name]).read_text("utf-8")
    return read_table(text, name)


def _percent(cell: str, where: str) -> Decimal:
    try:
        value = Decimal(cell.removesuffix("%").strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or not 0 <= value <= 100:
        raise DataError(f"{where}: {cell!r} is no percentage from 0 to 100")
    return value
