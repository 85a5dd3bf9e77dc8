"""The report page: one HTML file with everything inside, for the screen in light and dark, and for paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import jinja2
from markupsafe import Markup

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.evaluation.chart_data import (
    BarGroup,
    dimension_bars,
    histogram,
    overall_bars,
    shown_scorers,
    source_bars,
)
from storyalign.evaluation.comparison import Comparison
from storyalign.evaluation.margins import hardest, margins
from storyalign.evaluation.results import Results, interval_methods
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.tables import interval, label, p_value, percent, points, points_interval
from storyalign.text import count_words

PREMISE_SHOWN = 200
"""Characters of a premise in a heading; the whole premise stands below."""


def html_report(
    results: Results,
    evaluation_set: EvaluationSet,
    scored_sets: Sequence[ScoredSet],
    comparisons: Sequence[Comparison] = (),
) -> str:
    """Write the page.

    Args:
        results: the table.
        evaluation_set: the instances behind it; the hardest ones are shown in full.
        scored_sets: the rewards behind it.
        comparisons: pairs of scorers, where there are several.

    Returns:
        A page without scripts, links or outside resources. Every text of the data is escaped.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    colours = {result.name: colour for result, colour in shown_scorers(results)}
    models = [scored for scored in scored_sets if scored.kind != "null"]
    missed = [(scored.name, hardest(scored, evaluation_set.instances)) for scored in models]
    return environment.get_template("report.html.jinja").render(
        # Part of the package, so not escaped; nothing of the data is marked safe.
        css=Markup(Path(__file__).with_name("report.css").read_text(encoding="utf-8")),
        results=results,
        data=results.data,
        headline=_headline(results),
        overall=overall_bars(results),
        all_groups=[BarGroup("All groups", results.data["n"], overall_bars(results))],
        dimensions=dimension_bars(results),
        sources=source_bars(results),
        methods=interval_methods(results),
        comparisons=comparisons,
        histograms=[h for scored in models if (h := _histogram(scored, evaluation_set, colours[scored.name]))],
        hardest=[(name, misses) for name, misses in missed if misses],
        unscored=[(r.name, group) for r in results.scorers for group in r.unscored],
        percent=percent,
        interval=interval,
        points=points,
        points_interval=points_interval,
        p_value=p_value,
        label=label,
        count_words=lambda story: f"{count_words(story):,}",
        shorten=_shorten,
    )


def _headline(results: Results) -> str:
    """Return a sentence on whether the best scorer is beyond the null scorers."""
    scored = sorted((r for r in results.scorers if r.accuracy is not None), key=lambda r: -(r.accuracy or 0.0))
    best = next((r for r in scored if r.kind != "null"), None)
    null = next((r for r in scored if r.kind == "null"), None)
    if best is None or best.ci is None:
        return ""
    found = f"{best.name} finds the chosen story in {percent(best.accuracy)}% of groups"
    sentence = f"{found} (95% interval {interval(best.ci)})."
    if null is None:
        return sentence
    relation = "lies above" if best.ci[0] > (null.accuracy or 0.0) else "does not clear"
    return f"{sentence} The interval {relation} the best null scorer, {label(null.name)}, at {percent(null.accuracy)}%."


def _histogram(scored: ScoredSet, evaluation_set: EvaluationSet, colour: str) -> dict[str, Any] | None:
    values = list(margins(scored, evaluation_set.instances).values())
    if not values:
        return None
    edges, counts = histogram(values)
    facts = {"scorer": scored.name, "colour": colour, "n": len(values), "median": median(values)}
    return {**facts, "edges": edges, "counts": counts}


def _shorten(premise: str) -> str:
    return premise if len(premise) <= PREMISE_SHOWN else premise[:PREMISE_SHOWN].rstrip() + "…"
