"""The verb ``head-to-head``: whose chosen stories stand higher in a reference order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, Config, DataChoice, LowerIsBetter, ScoreKey, Split
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.outputs import keep_inputs
from storyalign.cli.scorer_choice import SCORERS_HELP, scored_sets_of
from storyalign.errors import DataError, RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions

_HELP = """
Let scorers meet: in each group the one whose chosen story stands higher in the reference order wins, the same story is
a tie (the paper's Figures 3 and 4).

The order is that of the data (StoryRMB, judged groups), or of --ranks: one JSON line for each group and annotator,
{"id": "g1", "annotator": "ann", "ranks": [2, 1, 3]}, places in the order of the data's stories, equal ones for ties.

Examples:

  storyalign head-to-head a.jsonl b.jsonl ./storyrmb

  storyalign head-to-head a.jsonl b.jsonl null:longest ./storyrmb --chart duels.png --markdown duels.md

  storyalign head-to-head a.jsonl b.jsonl runs/bon/candidates.jsonl --ranks ann.jsonl --ranks bob.jsonl
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("head-to-head", help=_HELP, no_args_is_help=True)(with_scoring_options(head_to_head))


def head_to_head(
    paths: Annotated[list[str], typer.Argument(metavar="SCORER... DATA", help=SCORERS_HELP)],
    ranks: Annotated[list[Path] | None, typer.Option(help="A file of human rankings; may be repeated.")] = None,
    focus: Annotated[
        list[str] | None, typer.Option(help="Scorer to draw against the others; the first one by default.")
    ] = None,
    chart: Annotated[Path | None, typer.Option(help="Draw stacked bars into this .png or .svg file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the tables to this file.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Compare scorers head to head; the help text stands in ``register``."""
    *scorers, data_name = paths
    if len(scorers) < 2:
        raise RecipeError("head-to-head needs two scorers or more, and then the data")
    if focus and not chart:
        raise RecipeError("--focus says which scorers --chart draws against the others; add --chart FILE")
    if chart:
        from storyalign.evaluation.charts import chart_kind

        chart_kind(chart)
    choice = DataChoice(data_name, config, split, score_key, lower_is_better, assume_human_best)

    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.evaluation.charts import write_duel_chart
    from storyalign.evaluation.head_to_head import BY_JUDGES, tables_of
    from storyalign.evaluation.head_to_head import head_to_head as compute
    from storyalign.evaluation.reference_orders import agreement_line, orders_of, rater_agreement, reference_of
    from storyalign.evaluation.signatures import data_signature, scorer_signature
    from storyalign.files import write_json, write_text
    from storyalign.tables import markdown as as_markdown

    keep_inputs([*scorers, choice.data, *(ranks or [])], json_file, markdown, chart)
    data = choice.load(needs_gold=False)
    rankings = reference_of(choice.data, data, ranks or [], **choice.gold)
    if rankings is None:
        raise DataError(f"{data.name}: no order to measure choices against; give --ranks, or --score-key for scores")
    orders = orders_of(data, rankings)
    scored = scored_sets_of(scorers, choice, data, options)
    result = compute(data.instances, scored, orders)
    agreement = rater_agreement(rankings)
    signatures = [data_signature(data, reference=rankings.source), *(scorer_signature(one) for one in scored)]
    notes = [agreement_line(agreement, rankings), *(f"left out: {r} ({n})" for r, n in data.dropped.items())]
    if rankings.is_stored and any(i.source == "human_llm" for i in data.instances):
        notes.append(BY_JUDGES)
    out = open_console()
    tables = tables_of(data.name, result, notes, signatures)
    show(out, *tables)
    if json_file:
        facts = {"data": data.name, "reference": rankings.source, "agreement": agreement._asdict()}
        write_json(json_file, {**facts, **result.to_json(), "signatures": signatures})
    if markdown:
        write_text(markdown, as_markdown(*tables))
    if chart:
        write_duel_chart(result, focus or result.names[:1], chart)
    show_written(out, json_file, markdown, chart)
