"""The paper's tables and figures as one Markdown page and one LaTeX file to be included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storyalign import tables
from storyalign.tables import Table, tex

NOT_RUN = "·"
"""Marks a cell for which there is no run; a figure that exists and is undefined is written otherwise."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure, or the reason why it could not be drawn."""

    title: str
    notes: Sequence[str]
    signatures: Sequence[str] = ()
    files: Sequence[str] = ()
    """Names beside the page: PNG, SVG."""
    missing: str | None = None


Parts = Mapping[str, Table | Figure]
"""``table_1``, ``figure_2``, ... in the order of the page."""


def state(part: Table | Figure) -> str:
    """Return how much of a part there is."""
    if isinstance(part, Table):
        return f"{sum(NOT_RUN not in row for row in part.rows)} of {len(part.rows)} rows filled"
    return f"not drawn, {part.missing}" if part.missing else "drawn"


def markdown(parts: Parts, heading: str) -> str:
    """Write the page."""
    blocks = [f"# {heading}", f"`{NOT_RUN}` marks a cell for which there is no run. Intervals are 95%."]
    for part in parts.values():
        blocks.append(f"## {part.title}")
        if isinstance(part, Table):
            blocks.append(tables.markdown(part).rstrip())
        else:
            shown = f"*Not drawn: {part.missing}.*" if part.missing else f"![{part.title}]({part.files[0]})"
            blocks += [shown, *part.notes, *(f"`{line}`" for line in part.signatures)]
    return "\n\n".join(blocks) + "\n"


def latex(parts: Parts) -> str:
    """Write floats to include; they need the packages booktabs and graphicx."""
    blocks = ["% \\usepackage{booktabs,graphicx}"]
    for key, part in parts.items():
        label = key.rpartition("_")[2]
        if isinstance(part, Table):
            blocks.append(tables.latex(part, label))
        elif part.missing:
            blocks.append(f"% {part.title}: not drawn, {part.missing}")
        else:
            lines = [
                r"\begin{figure}[t]",
                r"\centering",
                rf"\includegraphics[width=\linewidth]{{{part.files[0]}}}",
                rf"\caption{{{tex(' '.join(part.notes))}}}",
                rf"\label{{fig:{label}}}",
                r"\end{figure}",
            ]
            blocks.append("\n".join([*(f"% {line}" for line in part.signatures), *lines]))
    return "\n\n".join(blocks) + "\n"
