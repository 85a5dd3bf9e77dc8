"""The verbs ``evaluate`` and ``compare``: accuracies with intervals, and scorers against each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, Config, DataChoice, LowerIsBetter, ScoreKey, Split
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.outputs import keep_inputs
from storyalign.cli.scorer_choice import SCORERS_HELP, scored_sets_of
from storyalign.cli.scoring_runs import is_main_process
from storyalign.errors import RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions

if TYPE_CHECKING:
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.evaluation.results import Results
    from storyalign.evaluation.scored_sets import ScoredSet

_EVALUATE = """
Say how often a scorer finds the chosen story of DATA, beside chance and null scorers: those that read nothing and take
the first story, a random one, the longest, ...

Examples:

  storyalign evaluate runs/demo/model ./storyrmb --html report.html

  storyalign evaluate judge:GPT-4o ./storyrmb --max-cost 60

  storyalign evaluate rewards.jsonl ./storyrmb --json results.json

  storyalign evaluate a.jsonl b.jsonl ./storyrmb --markdown table.md

  storyalign evaluate rewards.jsonl judged.jsonl --score-key ranks --lower-is-better
"""

_COMPARE = """
Say whether scorers differ: McNemar's test on the same groups, and the interval of the difference over premises.

Examples:

  storyalign compare a.jsonl b.jsonl ./storyrmb

  storyalign compare a.jsonl b.jsonl c.jsonl ./storyrmb --json comparison.json
"""

Ties = Annotated[str, typer.Option(help="split: a tie of k at the top earns 1/k; strict: it is wrong.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write all figures to this file, as fractions.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("evaluate", help=_EVALUATE, no_args_is_help=True)(with_scoring_options(evaluate))
    app.command("compare", help=_COMPARE, no_args_is_help=True)(with_scoring_options(compare))


def evaluate(
    paths: Annotated[list[str], typer.Argument(metavar="SCORER... DATA", help=SCORERS_HELP)],
    json_file: Json = None,
    html: Annotated[Path | None, typer.Option(help="Write a report page to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a table for a paper to this file.")] = None,
    charts: Annotated[Path | None, typer.Option(help="Write charts as PNG into this folder.")] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    ties: Ties = "split",
    no_null_scorers: Annotated[bool, typer.Option("--no-null-scorers", help="Leave the null scorers out.")] = False,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Evaluate scorers; the help text stands in ``register``."""
    scorers, choice = _split(paths, config, split, score_key, lower_is_better, assume_human_best)
    _check_ties(ties)
    keep_inputs(paths, json_file, html, markdown, charts)

    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.evaluation.results import evaluate_scorers, tables_of
    from storyalign.evaluation.scored_sets import null_scored_sets
    from storyalign.files import write_json

    evaluation_set = choice.load()
    scored = scored_sets_of(scorers, choice, evaluation_set, options)
    if not is_main_process():
        return
    named = {one.name for one in scored}
    nulls = [] if no_null_scorers else [n for n in null_scored_sets(evaluation_set.instances) if n.name not in named]
    results = evaluate_scorers(evaluation_set, [*scored, *nulls], ties)
    out = open_console()
    show(out, *tables_of(results))
    if json_file:
        write_json(json_file, results.to_json())
    _write_reports(results, evaluation_set, [*scored, *nulls], html, markdown, charts)
    show_written(out, json_file, html, markdown, charts)


def compare(
    paths: Annotated[list[str], typer.Argument(metavar="SCORER... DATA", help=SCORERS_HELP)],
    json_file: Json = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    ties: Ties = "split",
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Compare scorers; the help text stands in ``register``."""
    scorers, choice = _split(paths, config, split, score_key, lower_is_better, assume_human_best)
    if len(scorers) < 2:
        raise RecipeError("compare needs two scorers or more, and then the data")
    _check_ties(ties)
    keep_inputs(paths, json_file)

    from storyalign.cli.terminal import open_console, say, show, show_written
    from storyalign.evaluation.comparison import compare_scorers, table_of
    from storyalign.evaluation.results import evaluate_scorers, tables_of
    from storyalign.files import write_json

    evaluation_set = choice.load()
    scored = scored_sets_of(scorers, choice, evaluation_set, options)
    comparisons = compare_scorers(evaluation_set, scored, ties)
    results = evaluate_scorers(evaluation_set, scored, ties)
    out = open_console()
    show(out, *tables_of(results))
    show(out, table_of(comparisons))
    premises = {i.id: i.prompt for i in evaluation_set.instances}
    for pair in comparisons:
        say(out, f"{pair.verdict}.", "bold")
        for line in pair.details(premises):
            say(out, f"  {line}")
    if json_file:
        write_json(json_file, {**results.to_json(), "comparisons": [c.to_json() for c in comparisons]})
    show_written(out, json_file)


def _split(
    paths: list[str],
    config: str | None,
    split: str | None,
    score_key: str | None,
    lower_is_better: bool,
    assume_human_best: bool,
) -> tuple[list[str], DataChoice]:
    if len(paths) < 2:
        raise RecipeError(f"{paths[0]}: one argument; name a model or a rewards file, and then the data")
    *scorers, data = paths
    return scorers, DataChoice(data, config, split, score_key, lower_is_better, assume_human_best)


def _check_ties(ties: str) -> None:
    if ties not in ("split", "strict"):
        raise RecipeError(f"--ties {ties}: unknown; choose split or strict")


def _write_reports(
    results: Results,
    evaluation_set: EvaluationSet,
    scored: list[ScoredSet],
    html: Path | None,
    markdown: Path | None,
    charts: Path | None,
) -> None:
    from storyalign.evaluation.comparison import compare_scorers
    from storyalign.evaluation.margins import margins
    from storyalign.files import write_text

    models = [one for one in scored if one.kind != "null"]
    if html:
        from storyalign.evaluation.html_report import html_report

        comparisons = compare_scorers(evaluation_set, models, results.tie_policy) if len(models) > 1 else []
        write_text(html, html_report(results, evaluation_set, scored, comparisons))
    if markdown:
        from storyalign.evaluation.results import overview
        from storyalign.tables import markdown as as_markdown

        write_text(markdown, as_markdown(overview(results)))
    if charts:
        from storyalign.evaluation.charts import write_charts

        instances = evaluation_set.instances
        write_charts(results, {one.name: list(margins(one, instances).values()) for one in models}, charts)
