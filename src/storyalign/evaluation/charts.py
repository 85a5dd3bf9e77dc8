"""Charts as PNG or SVG, for papers and slides: quiet, told apart without colour vision, and the same in print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from storyalign.errors import RecipeError
from storyalign.evaluation.chart_data import COLOURS, Bar, BarGroup, dimension_bars, every_bar, histogram, source_bars
from storyalign.evaluation.head_to_head import Duel, HeadToHead
from storyalign.evaluation.results import Results, shown_name
from storyalign.files import atomic_path
from storyalign.tables import label, shortened

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

_SOURCES = (("llm_llm", "#2f6f9f"), ("human_llm", "#d9985f"))
_SEGMENTS = (
    ("win", "wins", "#2f6f9f", "white"),
    ("tie", "same story", "#dcdbd5", INK),
    ("even", "ranked alike", "#f1f0ec", INK),
    ("lose", "loses", "#d9985f", INK),
)
"""Dark, light, lighter, middle: told apart in grey as well."""

_LEAST_LABELLED = 0.055
"""Narrower segments have no room for their figure."""


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

    All text is drawn as it is: a name that holds ``$`` is not a formula.
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


def write_charts(results: Results, margins: Mapping[str, list[float]], folder: str | Path) -> list[Path]:
    """Write the charts that the results have something for.

    Args:
        results: the table.
        margins: scorer -> margins, as ``margins.margins`` gives them.
        folder: made where missing.

    Returns:
        The files: ``accuracy.png``, and ``by_dimension.png``, ``by_source.png``, ``margins.png`` where there is data.
    """
    figures = {"accuracy": _accuracy(results)}
    for name, groups in (("by_dimension", dimension_bars(results)), ("by_source", source_bars(results))):
        if groups:
            figures[name] = _grouped_bars(groups, results.chance)
    drawn = {scorer: values for scorer, values in margins.items() if values}
    if drawn:
        figures["margins"] = _margins(drawn)
    return [save_figure(figure, Path(folder) / f"{name}.png") for name, figure in figures.items()]


def _accuracy(results: Results) -> Figure:
    bars = every_bar(results)
    figure, axes = new_axes(6.0, 0.9 + 0.3 * len(bars))
    for y, bar in enumerate(bars):
        _lying(axes, y, 0.68, bar)
    _name_rows(axes, [bar.scorer for bar in bars], 106)
    axes.axvline(100 * results.chance, **CHANCE)
    axes.set_xlabel(f"accuracy (%) of {results.data['n']} groups, 95% interval; dashed: chance")
    return figure


def source_figure(results: Results) -> Figure:
    """Draw accuracy by source, one pair of bars per scorer; scorers that read nothing stand last (Figure 2)."""
    n_of = results.data["n_by_source"]
    sources = [(name, colour) for name, colour in _SOURCES if name in n_of]
    shown = sorted(results.scorers, key=lambda r: r.kind == "null")
    figure, axes = new_axes(6.4, 0.9 + 0.42 * len(shown))
    height = 0.8 / len(sources)
    for y, result in enumerate(shown):
        for place, (source, colour) in enumerate(sources):
            bar = Bar.of(result, colour, result.by_source[source])
            _lying(
                axes,
                y - 0.4 + height * (place + 0.5),
                height * 0.86,
                bar,
                digits=0,
                fontsize=7,
                alpha=0.55 if bar.is_null else 1.0,
            )
    _name_rows(axes, [shown_name(r) for r in shown], 108)
    axes.axvline(100 * results.chance, **CHANCE)
    axes.set_xlabel("accuracy (%), 95% interval; dashed: chance")
    _legend(figure, [(colour, f"{label(source)} (n={n_of[source]})") for source, colour in sources])
    return figure


def _lying(
    axes: Any, y: float, height: float, bar: Bar, *, digits: int = 1, fontsize: int = 8, alpha: float = 1.0
) -> None:
    """Draw one horizontal bar with its interval and figure."""
    at: Any = {"textcoords": "offset points", "va": "center", "fontsize": fontsize}
    if bar.accuracy is None:
        axes.annotate("none scored", (0, y), (3, 0), **at)
        return
    value, low, high = 100 * bar.accuracy, 100 * bar.low, 100 * bar.high
    axes.barh(y, value, height, color=bar.colour, alpha=alpha)
    axes.errorbar(value, y, xerr=[[max(0.0, value - low)], [max(0.0, high - value)]], **WHISKER)
    clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.annotate(f"{value:.{digits}f}", (high, y), (5, 0), bbox=clear, **at)


def _name_rows(axes: Any, names: Sequence[str], right: float) -> None:
    """Name horizontal bars from above, on an axis in percent."""
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(names)), list(map(shortened, names)))
    axes.tick_params(axis="y", labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, right)
    axes.set_xticks(range(0, 101, 25))


def _grouped_bars(groups: list[BarGroup], chance: float) -> Figure:
    n_bars = len(groups[0].bars)
    width = 0.8 / n_bars
    figure, axes = new_axes(max(4.6, 1.0 + len(groups) * (0.45 + 0.32 * n_bars)), 3.4)
    at: Any = {"textcoords": "offset points", "ha": "center"}
    for group_at, group in enumerate(groups):
        for place, bar in enumerate(group.bars):
            x = group_at - 0.4 + width * (place + 0.5)
            if bar.accuracy is None:
                axes.annotate("none scored", (x, 0), (0, 3), fontsize=7, **at)
                continue
            value, low, high = 100 * bar.accuracy, 100 * bar.low, 100 * bar.high
            axes.bar(x, value, width * 0.86, color=bar.colour)
            axes.errorbar(x, value, yerr=[[value - low], [high - value]], **WHISKER)
            axes.annotate(f"{value:.0f}", (x, high), (0, 3), fontsize=7.5, **at)
    axes.axhline(100 * chance, **CHANCE)
    axes.set_xticks(range(len(groups)), [f"{group.name}\nn = {group.n}" for group in groups])
    axes.set_ylim(0, 108)
    axes.set_yticks(range(0, 101, 25))
    axes.set_ylabel("accuracy (%), 95% interval")
    _legend(figure, [(bar.colour, shortened(bar.scorer)) for bar in groups[0].bars], f"chance, {100 * chance:.0f}%")
    return figure


def _margins(margins: Mapping[str, list[float]]) -> Figure:
    figure, rows = new_axes(6.0, 0.6 + 1.5 * len(margins), len(margins))
    for place, (axes, (scorer, values)) in enumerate(zip(np.atleast_1d(rows), margins.items(), strict=True)):
        edges, counts = histogram(values)
        colours = [COLOURS[place % len(COLOURS)] if edge >= -1e-12 else FAINT for edge in edges[:-1]]
        axes.bar(edges[:-1], counts, np.diff(edges) * 0.92, align="edge", color=colours)
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_title(shortened(scorer), loc="left", fontsize=9)
        axes.set_ylabel("groups")
    axes.set_xlabel("reward of the chosen story minus the best rejected one")
    return figure


def write_duel_chart(result: HeadToHead, focus: Sequence[str], path: Path) -> Path:
    """Draw the scorers in focus against all others.

    Args:
        result: the duels.
        focus: one panel each.
        path: a PNG or SVG file.

    Raises:
        RecipeError: an unknown scorer is in focus.
    """
    if unknown := [name for name in focus if name not in result.names]:
        raise RecipeError(f"--focus {unknown[0]}: no such scorer; there are {', '.join(result.names)}")
    return save_figure(duel_figure(result, focus), path)


def duel_figure(result: HeadToHead, focus: Sequence[str]) -> Figure:
    """Draw one panel per scorer, one stacked bar per opponent, with the interval of the wins (Figures 3, 4)."""
    differ = any(duel.n != result.n for duel in result.duels)  # then each bar names the groups that it rests on
    figure, panels = new_axes(6.6, 0.9 + len(focus) * (0.55 + 0.34 * (len(result.names) - 1)), len(focus))
    for axes, name in zip(np.atleast_1d(panels), focus, strict=True):
        duels = [result.duel(name, other) for other in result.names if other != name]
        for y, duel in enumerate(duels):
            _stacked(axes, y, duel)
        marks = [(f"(n={duel.n}) " if differ else "") + ("*" if duel.p_holm < 0.05 else "") for duel in duels]
        _name_rows(axes, [""] * len(duels), 100)
        names = [f"{shortened(label(d.b))} {mark}".rstrip() for d, mark in zip(duels, marks, strict=True)]
        axes.set_yticks(range(len(duels)), names)
        axes.grid(visible=False)
        axes.set_title(f"{shortened(label(name))} against", loc="left", fontsize=9)
    behind = "the n groups in which both chose" if differ else f"{result.n} groups"
    axes.set_xlabel(
        f"percent of {behind}\nwhisker: 95% interval of the wins; * sign test over premises, p < 0.05 (Holm)"
    )
    even = any(duel.even is not None and duel.even.value > 0 for duel in result.duels)
    _legend(figure, [(colour, text) for key, text, colour, _ in _SEGMENTS if key != "even" or even])
    return figure


def _stacked(axes: Any, y: int, duel: Duel) -> None:
    left = 0.0
    for key, _, colour, ink in _SEGMENTS:
        share = getattr(duel, key)
        if share is None or share.value == 0:
            continue
        width = 100 * share.value
        axes.barh(y, width, 0.72, left=left, color=colour, edgecolor="white", linewidth=0.8)
        if share.value >= _LEAST_LABELLED:
            axes.text(left + width / 2, y, f"{width:.0f}", ha="center", va="center", fontsize=8, color=ink)
        left += width
    if duel.win is None:
        axes.text(1, y, "no group in common", va="center", fontsize=8)
        return
    win, (low, high) = 100 * duel.win.value, duel.win.ci
    reach = [[max(0.0, win - 100 * low)], [max(0.0, 100 * high - win)]]
    axes.errorbar(win, y + 0.25, xerr=reach, **{**WHISKER, "ecolor": "white", "elinewidth": 2.4, "capthick": 2.4})
    axes.errorbar(win, y + 0.25, xerr=reach, **WHISKER)


def _legend(figure: Figure, entries: Sequence[tuple[str, str]], chance: str | None = None) -> None:
    """Name colours above the axes, and the line of chance where there is one."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=colour, edgecolor=FAINT, linewidth=0.5, label=text) for colour, text in entries
    ]
    handles += [Line2D([], [], **CHANCE, label=chance)] if chance else []
    widest = 0.7 + 0.07 * max(len(text) for _, text in entries)
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=max(1, int(figure.get_figwidth() / widest)),
        frameon=False,
        fontsize=8,
        handlelength=1.2,
    )
