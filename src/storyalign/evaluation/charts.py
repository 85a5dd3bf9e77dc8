"""Charts as PNG, for papers and slides: quiet, and legible without colour."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from storyalign.evaluation.chart_data import (
    COLOURS,
    BarGroup,
    dimension_bars,
    every_bar,
    histogram,
    source_bars,
)
from storyalign.evaluation.chart_style import CHANCE, FAINT, INK, WHISKER, new_axes, save_figure
from storyalign.evaluation.results import Results
from storyalign.tables import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_charts(results: Results, margins: Mapping[str, list[float]], folder: str | Path) -> list[Path]:
    """Write the charts that the results have something for.

    Args:
        results: the table.
        margins: scorer -> margins, as ``margins.margins`` gives them.
        folder: made where missing.

    Returns:
        The files: ``accuracy.png``, and ``by_dimension.png``, ``by_source.png``, ``margins.png`` where there is data.
    """
    folder = Path(folder)
    figures = {"accuracy": _accuracy(results)}
    for name, groups in (("by_dimension", dimension_bars(results)), ("by_source", source_bars(results))):
        if groups:
            figures[name] = _grouped_bars(groups, results.chance)
    drawn = {scorer: values for scorer, values in margins.items() if values}
    if drawn:
        figures["margins"] = _margins(drawn)
    return [save_figure(figure, folder / f"{name}.png") for name, figure in figures.items()]


def _accuracy(results: Results) -> Figure:
    """Draw every scorer as a horizontal bar."""
    bars = every_bar(results)
    figure, axes = new_axes(6.0, 0.9 + 0.3 * len(bars))
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    for y, bar in enumerate(bars):
        if bar.accuracy is None:
            axes.annotate("none scored", (0, y), (3, 0), textcoords="offset points", va="center", fontsize=8)
            continue
        value, low, high = 100 * bar.accuracy, 100 * bar.low, 100 * bar.high
        axes.barh(y, value, 0.68, color=bar.colour)
        axes.errorbar(value, y, xerr=[[value - low], [high - value]], **WHISKER)
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.annotate(
            f"{value:.1f}", (high, y), (5, 0), textcoords="offset points", va="center", fontsize=8, bbox=clear
        )
    axes.axvline(100 * results.chance, **CHANCE)
    axes.set_yticks(range(len(bars)), [shortened(bar.scorer) for bar in bars])
    axes.tick_params(axis="y", labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 106)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel(f"accuracy (%) of {results.data['n']} groups, 95% interval; dashed: chance")
    return figure


def _grouped_bars(groups: list[BarGroup], chance: float) -> Figure:
    n_bars = len(groups[0].bars)
    width = 0.8 / n_bars
    figure, axes = new_axes(max(4.6, 1.0 + len(groups) * (0.45 + 0.32 * n_bars)), 3.4)
    for place in range(n_bars):
        for at, group in enumerate(groups):
            bar, x = group.bars[place], at - 0.4 + width * (place + 0.5)
            if bar.accuracy is None:
                axes.annotate("none scored", (x, 0), (0, 3), textcoords="offset points", ha="center", fontsize=7)
                continue
            value, low, high = 100 * bar.accuracy, 100 * bar.low, 100 * bar.high
            axes.bar(x, value, width * 0.86, color=bar.colour)
            axes.errorbar(x, value, yerr=[[value - low], [high - value]], **WHISKER)
            axes.annotate(f"{value:.0f}", (x, high), (0, 3), textcoords="offset points", ha="center", fontsize=7.5)
    axes.axhline(100 * chance, **CHANCE)
    axes.set_xticks(range(len(groups)), [f"{group.name}\nn = {group.n}" for group in groups])
    axes.set_ylim(0, 108)
    axes.set_yticks(range(0, 101, 25))
    axes.set_ylabel("accuracy (%), 95% interval")
    _legend(figure, groups[0], chance)
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
    np.atleast_1d(rows)[-1].set_xlabel("reward of the chosen story minus the best rejected one")
    return figure


def _legend(figure: Figure, group: BarGroup, chance: float) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [Patch(color=bar.colour, label=shortened(bar.scorer)) for bar in group.bars]
    line = Line2D([], [], **CHANCE, label=f"chance, {100 * chance:.0f}%")
    figure.legend(
        handles=[*handles, line],
        loc="outside upper left",
        ncols=max(1, int(figure.get_figwidth() / (0.7 + 0.07 * max(len(bar.scorer) for bar in group.bars)))),
        frameon=False,
        fontsize=8,
        handlelength=1.2,
    )
