"""The look of every chart: quiet, in colours that are told apart without colour vision, and the same in print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from storyalign.errors import RecipeError
from storyalign.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, FAINT = "#2b2b28", "#c9c8c2"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#ebeae5",
    "xtick.color": INK,
    "ytick.color": "#6b6b66",
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "figure.facecolor": "white",
    "savefig.dpi": 200,
}


WHISKER: Any = {"fmt": "none", "ecolor": INK, "elinewidth": 0.9, "capsize": 2, "capthick": 0.9}
CHANCE: Any = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}


def new_axes(width: float, height: float, rows: int = 1) -> tuple[Figure, Any]:
    """Make a figure of so many inches with axes below each other."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots(rows, 1)


def chart_kind(path: Path) -> str:
    """Return ``png`` or ``svg``, as the file is named.

    Raises:
        RecipeError: any other name.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise RecipeError(f"{path}: charts are written as .png or .svg")
    return kind


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG or SVG, as the name says; the same figure always gives the same bytes.

    All text is drawn as it is: a name that holds ``$`` is no formula.
    """
    import matplotlib as mpl
    from matplotlib.text import Text

    kind = chart_kind(path)
    settings = {**STYLE, "svg.hashsalt": "storyalign", "svg.fonttype": "none"}
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    with atomic_path(path) as temporary, mpl.rc_context(settings):
        figure.savefig(temporary, format=kind, metadata=metadata)
    return path
