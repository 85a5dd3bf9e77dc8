"""What the charts show: models and judges, and the best null scorer beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from storyalign.evaluation.results import Results, ScorerResult
from storyalign.tables import label

COLOURS = ("#2f6f9f", "#c8702a", "#3c8d6e", "#8a5fa0", "#a8873b", "#5aa7c7")
"""Blue, orange, green, purple, ochre, sky: told apart in the common kinds of colour blindness and in grey."""

GREY = "#9a9a94"
"""Null scorers."""


class Bar(NamedTuple):
    """One accuracy to draw, in fractions."""

    scorer: str
    colour: str
    accuracy: float | None
    low: float
    high: float
    is_null: bool

    @classmethod
    def of(cls, result: ScorerResult, colour: str, part: Mapping[str, Any] | None = None) -> Bar:
        """Return the bar of a scorer, of one part of its groups where one is given."""
        name = f"null scorer: {label(result.name)}" if result.kind == "null" else result.name
        accuracy, ci = (result.accuracy, result.ci) if part is None else (part["accuracy"], part["ci"])
        low, high = ci or (0.0, 0.0)
        return cls(name, colour, accuracy, low, high, result.kind == "null")


class BarGroup(NamedTuple):
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
    best = sorted(nulls, key=lambda result: -(result.accuracy or 0.0))[:1]
    return [*((r, COLOURS[place % len(COLOURS)]) for place, r in enumerate(models)), *((r, GREY) for r in best)]


def overall_bars(results: Results) -> list[Bar]:
    """Return one bar per scorer that is drawn."""
    return [Bar.of(result, colour) for result, colour in shown_scorers(results)]


def every_bar(results: Results) -> list[Bar]:
    """Return one bar per scorer of the table, null scorers included."""
    colours = {result.name: colour for result, colour in shown_scorers(results)}
    return [Bar.of(result, colours.get(result.name, GREY)) for result in results.scorers]


def dimension_bars(results: Results) -> list[BarGroup]:
    """Return the bars of each dimension that occurs."""
    return [
        BarGroup(
            label(name).capitalize(),
            n,
            [Bar.of(r, colour, r.by_dimension[name]) for r, colour in shown_scorers(results)],
        )
        for name, n in results.data["n_by_dimension"].items()
    ]


def source_bars(results: Results) -> list[BarGroup]:
    """Return the bars of each source that occurs."""
    return [
        BarGroup(label(name), n, [Bar.of(r, colour, r.by_source[name]) for r, colour in shown_scorers(results)])
        for name, n in results.data["n_by_source"].items()
    ]


def histogram(margins: Sequence[float], bins: int = 24) -> tuple[list[float], list[int]]:
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
