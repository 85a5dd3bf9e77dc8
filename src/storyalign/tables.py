"""One table for the terminal (``cli/terminal.py``), Markdown and LaTeX, and how figures and names look in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

NO_FIGURE = "–"
"""Stands where no group is behind a figure."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are read; a line break in one is a space in Markdown and LaTeX."""

    columns: Sequence[str]
    """Heads; the first column is set flush left, the others flush right."""
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences below the table: what the figures are, and what they must not go without."""
    signatures: Sequence[str] = ()
    """What the figures were made from."""
    stacked: int = 1
    """Columns of names; the terminal sets them below each other in one."""
    faint: Collection[int] = ()
    """Rows that step back on the terminal."""
    rules_after: Collection[int] = ()
    """Numbers of rows above a line in LaTeX."""


def markdown(*tables: Table) -> str:
    """Return Markdown tables with their notes, without titles; it ends with a newline."""
    blocks: list[str] = []
    for table in tables:
        aligned = ["---"] * table.stacked + ["---:"] * (len(table.columns) - table.stacked)
        if table.rows:
            blocks.append("\n".join(map(markdown_row, (table.columns, aligned, *table.rows))))
        blocks += [*table.notes, *(f"`{line}`" for line in table.signatures)]
    return "\n\n".join(blocks) + "\n"


def markdown_row(cells: Sequence[str]) -> str:
    """Write one row of a Markdown table; a bar or a line break inside a cell ends no cell.

    >>> markdown_row(["a|b", "1"])
    '| a\\\\|b | 1 |'
    """
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def latex(table: Table, label: str) -> str:
    """Return a float for LaTeX with the package booktabs: notes as its caption, signatures as comments.

    Args:
        table: what to write.
        label: its ``\\label`` behind ``tab:``.
    """
    body = []
    for number, row in enumerate(table.rows, start=1):
        body.append(" & ".join(map(tex, row)) + r" \\")
        body += [r"\midrule"] if number in table.rules_after and number < len(table.rows) else []
    return "\n".join(
        [
            *(f"% {line}" for line in table.signatures),
            r"\begin{table}[t]",
            r"\centering\small",
            rf"\begin{{tabular}}{{{'l' * table.stacked}{'r' * (len(table.columns) - table.stacked)}}}",
            r"\toprule",
            " & ".join(map(tex, table.columns)) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{tex(' '.join(table.notes))}}}",
            rf"\label{{tab:{label}}}",
            r"\end{table}",
        ]
    )


_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "·": r"$\cdot$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\n": " ",
}


def tex(text: str) -> str:
    """Escape a text for LaTeX.

    >>> tex("50% of a_b")
    '50\\\\% of a\\\\_b'
    """
    return re.sub("|".join(map(re.escape, _TEX)), lambda match: _TEX[match[0]], text)


def percent(fraction: float | None) -> str:
    """Write a fraction as percent.

    >>> percent(0.61234), percent(None)
    ('61.2', '–')
    """
    return NO_FIGURE if fraction is None else f"{100 * fraction:.1f}"


def interval(ci: Sequence[float] | None) -> str:
    """Write an interval as percent.

    >>> interval([0.5, 0.7125])
    '50.0–71.2'
    """
    return NO_FIGURE if ci is None else f"{100 * ci[0]:.1f}–{100 * ci[1]:.1f}"


def estimate(fraction: float | None, ci: Sequence[float] | None, brackets: str = "()") -> str:
    """Write a fraction as percent with its interval.

    >>> estimate(0.61234, [0.5, 0.7125]), estimate(None, None)
    ('61.2 (50.0–71.2)', '–')
    """
    return NO_FIGURE if fraction is None else f"{percent(fraction)} {brackets[0]}{interval(ci)}{brackets[1]}"


def points(difference: float | None) -> str:
    """Write a difference of fractions in percentage points.

    >>> points(-0.031)
    '-3.1'
    """
    return NO_FIGURE if difference is None else f"{100 * difference:+.1f}"


def points_interval(ci: Sequence[float] | None) -> str:
    """Write the interval of a difference of fractions in percentage points.

    >>> points_interval([-0.031, 0.2])
    '-3.1 to +20.0'
    """
    return NO_FIGURE if ci is None else f"{points(ci[0])} to {points(ci[1])}"


def bounds(ci: Sequence[float] | None, form: str = "+.2f") -> str:
    """Write an interval that may lie below zero.

    >>> bounds([-0.031, 0.2]), bounds(None)
    ('-0.03 to +0.20', '–')
    """
    return NO_FIGURE if ci is None else f"{ci[0]:{form}} to {ci[1]:{form}}"


def figure(value: float | None, form: str = ".2f") -> str:
    """Write a number.

    >>> figure(1234.5, ",.0f"), figure(None)
    ('1,234', '–')
    """
    return NO_FIGURE if value is None else f"{value:{form}}"


def p_value(p: float | None) -> str:
    """Write a p-value.

    >>> p_value(0.0312), p_value(0.00002)
    ('0.031', '< 0.001')
    """
    return NO_FIGURE if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def beginning(text: str, most: int = 70) -> str:
    """Return the beginning of a text in one line.

    >>> beginning("A keeper\\nfinds a letter.", 12)
    'A keeper fi…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def story_count(weight: float) -> str:
    """Write how many stories a figure rests on; a story of a tie counts as a part of one.

    >>> story_count(12345.0), story_count(27.1667)
    ('12,345', '27.17')
    """
    return f"{weight:,.2f}".rstrip("0").rstrip(".")


def label(name: str) -> str:
    """Write a name as words.

    >>> label("most_bursty"), label("human_llm")
    ('most bursty', 'Human–LLM')
    """
    return {"human_llm": "Human–LLM", "llm_llm": "LLM–LLM"}.get(name, name.replace("_", " "))


def shortened(words: str, most: int = 28) -> str:
    """Write a name where there is room for so many characters: a longer one loses its middle.

    >>> shortened("most bursty"), shortened("a-model-with-a-long-name [runs/b.jsonl]", 20)
    ('most bursty', 'a-model-w…s/b.jsonl]')
    """
    words = " ".join(words.split())
    return words if len(words) <= most else f"{words[: (most - 1) // 2]}…{words[-(most // 2) :]}"
