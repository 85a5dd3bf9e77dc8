"""The verb ``import rewards``: rewards of any other program as a rewards file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import Config, Split
from storyalign.cli.outputs import keep_inputs
from storyalign.errors import RecipeError

HELP = """
Write the rewards in FILE for the stories of DATA as a rewards file, which evaluate, compare, head-to-head and best-of-n
read.

FILE is .jsonl, .csv or .npy. Rows have id, candidate (0 is the chosen story, then the rejected ones) and reward; or id
and a list rewards; or a list rewards alone, groups in the order of DATA. An array has one row per group, or one number
per story. An empty reward is unscored.

Examples:

  storyalign import rewards mine.csv ./storyrmb --name my-model --setting dtype=bf16 --out mine.jsonl

  storyalign evaluate mine.jsonl ./storyrmb
"""


def import_rewards(
    file: Annotated[Path, typer.Argument(help="Rewards: .jsonl, .csv, .npy.")],
    data: Annotated[str, typer.Argument(help="What was scored: a dataset folder, a JSONL file, or a Hub dataset.")],
    out: Annotated[Path, typer.Option(help="The rewards file to write.")],
    name: Annotated[str, typer.Option(help="Name of the scorer, for tables.")],
    setting: Annotated[
        list[str] | None, typer.Option(help="A setting of the scorer as KEY=VALUE; may be repeated.")
    ] = None,
    config: Config = None,
    split: Split = None,
) -> None:
    """Import rewards; the help text stands in ``HELP``."""
    settings = dict(_pair(text) for text in setting or [])
    keep_inputs([file, data], out)

    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.scoring.own_rewards import read_own_rewards, write_own_rewards

    rewards = read_own_rewards(file)
    loaded = load_evaluation_set(data, config=config, split=split, needs_gold=False, every_story=True)
    counts = write_own_rewards(rewards, loaded, out, name=name, settings=settings)
    typer.echo(f"{out}: {counts.scored + counts.unscored} stories of {name}")
    typer.echo(f"scored {counts.scored} | unscored {counts.unscored}")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise RecipeError(f"--setting {text}: expected KEY=VALUE, such as dtype=bf16")
    return key, value
