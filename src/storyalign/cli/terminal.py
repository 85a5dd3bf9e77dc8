"""Tables and lines on the terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from storyalign.tables import Table

WIDTH_UNWATCHED = 120
"""Columns where the output goes to a file or another program."""


def open_console() -> Console:
    """Print to standard output, wide enough for a table where nobody watches."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_UNWATCHED)


def say(out: Console, line: str, style: str = "dim") -> None:
    """Print one line as it is: no markup, no line break inside, so that it can be searched and pasted."""
    out.print(Text(line, style=style), soft_wrap=True)


def show(out: Console, *tables: Table) -> None:
    """Print tables below each other, each with its title, notes and signatures."""
    for table in tables:
        for line in table.title.splitlines():
            say(out, line, "bold")
        if table.rows:
            if table.title:
                out.print()
            out.print(_rich(table))
            out.print()
        for line in (*table.notes, *table.signatures):
            say(out, line)


def show_written(out: Console, *paths: object) -> None:
    """Name the files that were written; None stands for one that was not asked for."""
    for path in paths:
        if path:
            say(out, f"wrote {path}", "")


def _rich(table: Table) -> RichTable:
    made = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    made.add_column(Text(" / ".join(table.columns[: table.stacked])), overflow="fold")
    for head in table.columns[table.stacked :]:
        made.add_column(Text(head), justify="right")
    for number, row in enumerate(table.rows):
        names, figures = "\n".join(row[: table.stacked]), row[table.stacked :]
        made.add_row(Text(names), *map(Text, figures), style="dim" if number in table.faint else "")
    return made


def new_table(first: str, *numbers: str) -> RichTable:
    """Make a table with a column of names and columns of numbers."""
    return _rich(Table([first, *numbers], []))
