"""The verb ``linguistics``: the language of the stories that scorers choose, or that writers write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.data_options import (
    AssumeHumanBest,
    Config,
    DataChoice,
    LowerIsBetter,
    ScoreKey,
    Split,
    warning_of_notices,
)
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.outputs import keep_inputs
from storyalign.cli.scorer_choice import SCORERS_HELP, scored_sets_of
from storyalign.scoring.options import DEFAULTS, ScoringOptions

if TYPE_CHECKING:
    from storyalign.audit.linguistics import Selection

_HELP = """
Compare the language of the stories that scorers choose with that of the gold ones, as the paper's Table 8 does:
kurtosis and burstiness of sentence lengths, sentences, words, dialogue, variety of words.

Right and wrong choices are described apart. With --by-writer no scorer is needed: the stories of each writer stand
beside those of people.

Examples:

  storyalign linguistics rewards.jsonl ./storyrmb

  storyalign linguistics a.jsonl b.jsonl ./storyrmb --json linguistics.json

  storyalign linguistics stories.jsonl --by-writer
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("linguistics", help=_HELP, no_args_is_help=True)(with_scoring_options(linguistics))


def linguistics(
    paths: Annotated[list[str], typer.Argument(metavar="[SCORER...] DATA", help=SCORERS_HELP)],
    by_writer: Annotated[bool, typer.Option("--by-writer", help="Compare writers instead of scorers.")] = False,
    no_null_scorers: Annotated[bool, typer.Option("--no-null-scorers", help="Leave the null scorers out.")] = False,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Describe language; the help text stands in ``register``."""
    from tqdm import tqdm

    from storyalign.audit.linguistics import describe, tables_of
    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.errors import RecipeError
    from storyalign.files import write_json

    keep_inputs(paths, json_file)
    *rewards, data = paths
    choice = DataChoice(data, config, split, score_key, lower_is_better, assume_human_best)
    if by_writer and (rewards or score_key or lower_is_better or assume_human_best or options.given):
        raise RecipeError("--by-writer looks at all stories of DATA; leave scorers, their options and gold options out")
    name, signature, selections = (
        _writers(choice) if by_writer else _scorers(choice, rewards, options, nulls=not no_null_scorers)
    )
    total = sum(len(selection.stories) for selection in selections)
    with tqdm(total=total, desc="stories", unit="", leave=False, disable=None) as bar:
        described = describe(selections, bar.update)
    out = open_console()
    show(out, *tables_of(name, described, signature.splitlines()))
    if json_file:
        write_json(json_file, {"data": name, "signature": signature, "rows": [d.to_json() for d in described]})
    show_written(out, json_file)


def _scorers(
    choice: DataChoice, rewards: list[str], options: ScoringOptions, *, nulls: bool
) -> tuple[str, str, list[Selection]]:
    from storyalign.audit.linguistics import gold_selection, scorer_selections
    from storyalign.evaluation.scored_sets import null_scored_sets
    from storyalign.evaluation.signatures import data_signature, scorer_signature

    data = choice.load()
    scored = scored_sets_of(rewards, choice, data, options)
    named = {one.name for one in scored}
    shown = [*scored, *(n for n in null_scored_sets(data.instances) if nulls and n.name not in named)]
    selections = [gold_selection(data.instances)]
    for one in shown:
        selections += scorer_selections(one.name, data.instances, one.rewards)
    signature = "\n".join([data_signature(data), *map(scorer_signature, scored)])
    return data.name, signature, selections


def _writers(choice: DataChoice) -> tuple[str, str, list[Selection]]:
    from storyalign._version import __version__
    from storyalign.audit.linguistics import writer_selections
    from storyalign.corpus.story_groups import open_story_groups
    from storyalign.errors import DataError
    from storyalign.text import digest

    name, groups = open_story_groups(choice.data, choice.config, choice.split)
    kept = list(warning_of_notices(name, groups))
    if not any(group.stories for group in kept):
        raise DataError(f"{choice.data}: holds no story with a text")
    content = digest(*(digest(g.id, g.premise, *g.stories) for g in kept))
    return name, f"data={name}|digest={content[:12]}|n={len(kept)}|storyalign={__version__}", writer_selections(kept)
