"""Head-to-head results as stacked bars: one panel a scorer in focus, one bar an opponent (as Figures 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storyalign.errors import RecipeError
from storyalign.evaluation.chart_style import INK, WHISKER, new_axes, save_figure
from storyalign.evaluation.head_to_head import Duel, HeadToHead
from storyalign.tables import label, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SEGMENTS = (
    ("win", "wins", "#2f6f9f", "white"),
    ("tie", "same story", "#dcdbd5", INK),
    ("even", "ranked alike", "#f1f0ec", INK),
    ("lose", "loses", "#d9985f", INK),
)
"""Dark, light, lighter, middle: told apart in grey as well."""

_LEAST_LABELLED = 0.055
"""Narrower segments have no room for their figure."""


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
    """Draw the panels below each other; the whisker is the 95% interval of the wins."""
    n_bars = len(result.names) - 1
    figure, panels = new_axes(6.6, 0.9 + len(focus) * (0.55 + 0.34 * n_bars), len(focus))
    for axes, name in zip([panels] if len(focus) == 1 else panels, focus, strict=True):
        _panel(axes, name, [result.duel(name, other) for other in result.names if other != name], _differ(result))
    behind = "the n groups in which both chose" if _differ(result) else f"{result.n} groups"
    axes.set_xlabel(
        f"percent of {behind}\nwhisker: 95% interval of the wins; * sign test over premises, p < 0.05 (Holm)"
    )
    _legend(figure, result)
    return figure


def _differ(result: HeadToHead) -> bool:
    """Return whether a duel rests on fewer groups than there are: then each bar names its own."""
    return any(duel.n != result.n for duel in result.duels)


def _panel(axes: Any, name: str, duels: list[Duel], says_n: bool) -> None:
    axes.grid(visible=False)
    for y, duel in enumerate(duels):
        left = 0.0
        for key, _, colour, ink in _SEGMENTS:
            share = getattr(duel, key)
            if share is None or share.value == 0:
                continue
            axes.barh(y, 100 * share.value, 0.72, left=left, color=colour, edgecolor="white", linewidth=0.8)
            if share.value >= _LEAST_LABELLED:
                middle = left + 50 * share.value
                axes.text(middle, y, f"{100 * share.value:.0f}", ha="center", va="center", fontsize=8, color=ink)
            left += 100 * share.value
        if duel.win is None:
            axes.text(1, y, "no group in common", va="center", fontsize=8)
            continue
        win, (low, high) = 100 * duel.win.value, duel.win.ci
        reach = [[max(0.0, win - 100 * low)], [max(0.0, 100 * high - win)]]
        axes.errorbar(win, y + 0.25, xerr=reach, **{**WHISKER, "ecolor": "white", "elinewidth": 2.4, "capthick": 2.4})
        axes.errorbar(win, y + 0.25, xerr=reach, **WHISKER)
    marks = [(f"(n={duel.n}) " if says_n else "") + ("*" if duel.p_holm < 0.05 else "") for duel in duels]
    axes.set_yticks(
        range(len(duels)), [f"{shortened(label(d.b))} {mark}".rstrip() for d, mark in zip(duels, marks, strict=True)]
    )
    axes.tick_params(axis="y", labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    axes.set_title(f"{shortened(label(name))} against", loc="left", fontsize=9)


def _legend(figure: Figure, result: HeadToHead) -> None:
    from matplotlib.patches import Patch

    shown = {"win", "tie", "lose"}
    if any(duel.even is not None and duel.even.value > 0 for duel in result.duels):
        shown.add("even")
    handles = [
        Patch(facecolor=colour, edgecolor="#c9c8c2", linewidth=0.5, label=text)
        for key, text, colour, _ in _SEGMENTS
        if key in shown
    ]
    figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=8, handlelength=1.2
    )
