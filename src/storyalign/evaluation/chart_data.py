"""What the charts show: models and judges, and the best null scorer beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from storyalign.accuracy import DIMENSIONS, SOURCES
from storyalign.evaluation.results import Results, ScorerResult
from storyalign.tables import label

COLOURS = ("#2f6f9f", "#c8702a", "#3c8d6e", "#8a5fa0", "#a8873b", "#5aa7c7")
"""Blue, orange, green, purple, ochre, sky: told apart in the common kinds of colour blindness and in grey."""

GREY = "#9a9a94"
"""Null scorers."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One accuracy to draw, in fractions."""

    scorer: str
    colour: str
    accuracy: float | None
    low: float
    high: float
    is_null: bool


@dataclass(frozen=True, slots=True)
class BarGroup:
    """Bars that belong together."""

    name: str
    n: int
    bars: list[Bar]


def shown_scorers(results: Results) -> list[tuple[ScorerResult, str]]:
    """Choose whom to draw, each with a colour: models and judges, then the best null scorer; all null ones if alone."""
    models = [result for result in results.scorers if result.kind != "null"]
    nulls = [result for result in results.scorers if result.kind == "null"]
    if not models:
        return [(result, GREY) for result in nulls]
    shown = [(result, COLOURS[place % len(COLOURS)]) for place, result in enumerate(models)]
    return [*shown, (max(nulls, key=lambda result: result.accuracy or 0.0), GREY)] if nulls else shown


def shown_name(result: ScorerResult) -> str:
    """Name a scorer for a legend."""
    return f"null scorer: {label(result.name)}" if result.kind == "null" else result.name


def overall_bars(results: Results) -> list[Bar]:
    """Return one bar a scorer."""
    return [_bar(r, colour, r.accuracy, r.ci) for r, colour in shown_scorers(results)]


def every_bar(results: Results) -> list[Bar]:
    """Return one bar for each scorer of the table, null scorers included."""
    colours = {result.name: colour for result, colour in shown_scorers(results)}
    return [_bar(r, colours.get(r.name, GREY), r.accuracy, r.ci) for r in results.scorers]


def dimension_bars(results: Results) -> list[BarGroup]:
    """Return the bars of each dimension that occurs."""
    shown = [(r, colour, r.by_dimension) for r, colour in shown_scorers(results)]
    n_of = results.data["n_by_dimension"]
    return [_group(name, label(name).capitalize(), n_of[name], shown) for name in DIMENSIONS if name in n_of]


def source_bars(results: Results) -> list[BarGroup]:
    """Return the bars of each source that occurs."""
    shown = [(r, colour, r.by_source) for r, colour in shown_scorers(results)]
    n_of = results.data["n_by_source"]
    return [_group(name, label(name), n_of[name], shown) for name in SOURCES if name in n_of]


def _group(name: str, title: str, n: int, shown: list[tuple[ScorerResult, str, dict[str, Any]]]) -> BarGroup:
    return BarGroup(title, n, [_bar(r, colour, part[name]["accuracy"], part[name]["ci"]) for r, colour, part in shown])


def histogram(margins: list[float], bins: int = 24) -> tuple[list[float], list[int]]:
    """Count margins in bins of equal width, zero being an edge, the outermost percent pulled in.

    Returns:
        The edges, one more than counts, and the counts. Without margins both are empty.
    """
    if not margins:
        return [], []
    reach = float(np.quantile(np.abs(margins), 0.99)) or 1.0
    edges = np.linspace(-reach, reach, bins + 1)
    counts, _ = np.histogram(np.clip(margins, -reach, reach), edges)
    return edges.tolist(), counts.tolist()


def _bar(result: ScorerResult, colour: str, accuracy: float | None, ci: list[float] | None) -> Bar:
    low, high = ci or (0.0, 0.0)
    return Bar(shown_name(result), colour, accuracy, low, high, result.kind == "null")
