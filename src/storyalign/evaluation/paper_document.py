"""Tables and figures as one Markdown page and one LaTeX file to be included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from storyalign.tables import markdown_row

NOT_RUN = "·"
"""Marks a cell for which there is no run; a figure that exists and is undefined is written otherwise."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table, cells as they are read."""

    key: str
    """``table_1``."""
    title: str
    caption: str
    head: list[str]
    rows: list[list[str]]
    """The name first; ``NOT_RUN`` where there is no run."""
    signatures: list[str] = field(default_factory=list)
    rules_after: tuple[int, ...] = ()
    """Rows after which a line is drawn in LaTeX."""

    @property
    def state(self) -> str:
        """Return how much of it is filled."""
        filled = sum(NOT_RUN not in row for row in self.rows)
        return f"{filled} of {len(self.rows)} rows filled"


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """One figure, or the reason why it could not be drawn."""

    key: str
    title: str
    caption: str
    files: list[str]
    """Names beside the page: PNG, SVG."""
    missing: str | None = None
    signatures: list[str] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Return whether it is drawn."""
        return f"not drawn, {self.missing}" if self.missing else "drawn"


def markdown(parts: Sequence[PaperTable | PaperFigure], heading: str) -> str:
    """Write the page."""
    lines = [f"# {heading}", "", f"`{NOT_RUN}` marks a cell for which there is no run. Intervals are 95%.", ""]
    for part in parts:
        lines += [f"## {part.title}", ""]
        if isinstance(part, PaperTable):
            lines += [
                markdown_row(part.head),
                markdown_row(["---", *["---:"] * (len(part.head) - 1)]),
                *map(markdown_row, part.rows),
                "",
            ]
        elif part.missing:
            lines += [f"*Not drawn: {part.missing}.*", ""]
        else:
            lines += [f"![{part.title}]({part.files[0]})", ""]
        lines += [part.caption, "", *(line for s in part.signatures for line in (f"`{s}`", ""))]
    return "\n".join(lines)


def latex(parts: Sequence[PaperTable | PaperFigure]) -> str:
    """Write floats to include; they need the packages booktabs and graphicx."""
    blocks = ["% \\usepackage{booktabs,graphicx}"]
    for part in parts:
        comments = [f"% {line}" for line in part.signatures]
        if isinstance(part, PaperTable):
            body = []
            for place, row in enumerate(part.rows):
                body.append(" & ".join(map(tex, row)) + r" \\")
                body += [r"\midrule"] if place + 1 in part.rules_after and place + 1 < len(part.rows) else []
            columns = "l" + "r" * (len(part.head) - 1)
            lines = [
                r"\begin{table}[t]",
                r"\centering\small",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                " & ".join(map(tex, part.head)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                rf"\caption{{{tex(part.caption)}}}",
                rf"\label{{tab:{part.key.removeprefix('table_')}}}",
                r"\end{table}",
            ]
        elif part.missing:
            lines = [f"% {part.title}: not drawn, {part.missing}"]
        else:
            lines = [
                r"\begin{figure}[t]",
                r"\centering",
                rf"\includegraphics[width=\linewidth]{{{part.files[0]}}}",
                rf"\caption{{{tex(part.caption)}}}",
                rf"\label{{fig:{part.key.removeprefix('figure_')}}}",
                r"\end{figure}",
            ]
        blocks.append("\n".join([*comments, *lines]))
    return "\n\n".join(blocks) + "\n"


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
    """Write a text so that LaTeX shows it as it is.

    >>> tex("50% of a_b")
    '50\\\\% of a\\\\_b'
    """
    return re.sub("|".join(map(re.escape, _TEX)), lambda match: _TEX[match[0]], text)
