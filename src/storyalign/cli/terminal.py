"""What the verbs' tables have in common on the terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_UNWATCHED = 120
"""Columns where the output goes to a file or another program."""

NAMED = 5
"""So many things are named before the rest is only counted."""


def open_console() -> Console:
    """Print to standard output, wide enough for a table where nobody watches."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_UNWATCHED)


def say(out: Console, line: str, style: str = "dim") -> None:
    """Print one line as it is: no markup, no line break inside, so that it can be searched and pasted."""
    out.print(Text(line, style=style), soft_wrap=True)


def new_table(first: str, *numbers: str) -> Table:
    """Make a table with a column of names and columns of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(Text(first), overflow="fold")
    for head in numbers:
        table.add_column(Text(head), justify="right")
    return table


def shorten(text: str, most: int = 70) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
