"""The verb ``best-of-n``: several stories a premise, and the one that each scorer chooses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import DataChoice, LowerIsBetter, ScoreKey
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.scorer_choice import SCORERS_HELP, check_scorers, scored_sets_of
from storyalign.cli.written_stories import (
    StoriesWritten,
    WriterModel,
    WriterRecipe,
    WriterUrl,
    WritingOptions,
    have_written,
)
from storyalign.errors import DataError, RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions

_HELP = """
Let scorers choose the best of N stories for each premise.

With --recipe, --url or --local the stories are written first, N a premise, and kept in OUT/drafts.jsonl: a run that was
stopped goes on where it was. Without them PREMISES holds the stories already (judged groups, StoryRMB). What each
scorer chose stands in OUT/choices.jsonl. Where people ranked the stories, it says how good the choices are.

Examples:

  storyalign best-of-n runs/demo/model premises.txt --url http://localhost:8000/v1 --model Qwen/Qwen3-8B --n 4 --out bon

  storyalign best-of-n a.jsonl null:longest confederacy.jsonl --out bon

  storyalign best-of-n MODEL mops.jsonl --recipe recipes/writers/best_of_n.yaml --out runs/mops
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("best-of-n", help=_HELP, no_args_is_help=True)(with_scoring_options(best_of_n))


def best_of_n(
    paths: Annotated[list[str], typer.Argument(metavar="SCORER... PREMISES", help=SCORERS_HELP)],
    out: Annotated[Path, typer.Option(help="Folder for drafts, candidates, choices and figures.")],
    recipe: WriterRecipe = None,
    url: WriterUrl = None,
    model: WriterModel = None,
    local: Annotated[
        str | None, typer.Option(help="Write with this model on this machine: a folder or Hub id.")
    ] = None,
    n: StoriesWritten = None,
    words: Annotated[
        int | None, typer.Option(min=1, help="Length to ask for, in words; by default the recipe's, with --local 300.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="With --local: most tokens of a story.")] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Only the first so many premises.")] = None,
    ranks: Annotated[list[Path] | None, typer.Option(help="A file of human rankings; may be repeated.")] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Choose the best of N; the help text stands in ``register``."""
    *scorers, premises = paths
    if not scorers:
        raise RecipeError(f"{premises}: one argument; name a scorer (null:longest is one), and then the premises")
    writing = WritingOptions(recipe, url, model, local, n, words, max_tokens)
    if not writing.asked and any(option is not None for option in (n, words, max_tokens, first)):
        raise RecipeError(
            "--n, --words, --max-tokens, --first are for stories to write; add --recipe, --url or --local"
        )
    if writing.asked and (score_key or lower_is_better):
        raise RecipeError("--score-key, --lower-is-better are for stories that people judged; leave out the writer")
    if missing := [path for path in ranks or [] if not path.is_file()]:
        raise DataError(f"{missing[0]}: no such file of rankings")
    also_taken = writing.taken if writing.asked else frozenset()
    check_scorers(scorers, options, also_taken=also_taken)
    choice = DataChoice(premises, None, None, score_key, lower_is_better)
    if writing.asked:
        choice = DataChoice(str(_write(premises, writing, options, out, first)))

    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.evaluation.best_of_n import choice_rows, sum_up, table_of
    from storyalign.evaluation.reference_orders import orders_of, reference_of
    from storyalign.evaluation.signatures import data_signature, scorer_signature
    from storyalign.files import write_json, write_jsonl

    data = choice.load(needs_gold=False)
    rankings = reference_of(choice.data, data, ranks or [], **choice.gold)
    orders = orders_of(data, rankings) if rankings else {}
    scored = scored_sets_of(scorers, choice, data, options, out / "rewards", also_taken=also_taken)
    figures = [sum_up(data.instances, one, orders) for one in scored]
    signatures = [data_signature(data), *(scorer_signature(one) for one in scored)]
    write_jsonl(out / "choices.jsonl", choice_rows(data.instances, scored))
    reference = rankings.source if rankings else None
    facts = {"data": data.name, "reference": reference, "signatures": signatures}
    write_json(out / "best_of_n.json", {**facts, "scorers": [one.to_json() for one in figures]})
    console = open_console()
    show(console, table_of(data, figures, reference, signatures))
    show_written(console, f"{out / 'choices.jsonl'} and {out / 'best_of_n.json'}")


def _write(premises: str, writing: WritingOptions, options: ScoringOptions, out: Path, first: int | None) -> Path:
    from storyalign.corpus.premise_lists import read_premises

    found = read_premises(premises)
    for reason, dropped in found.dropped.items():
        typer.echo(f"{found.name}: {dropped:,} {reason} are left out")
    if first is not None:
        found.premises[first:] = []
    return have_written(found, writing, options, out)
