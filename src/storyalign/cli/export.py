"""``storyalign export``: the datasets in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.outputs import keep_inputs

_GROUP = """
Write a dataset in another tool's format.

Examples:

  storyalign export rewardbench2 ./storyrmb --out storyrmb-rewardbench2

  storyalign export trl ./story_preferences --out pairs-trl
"""

export = typer.Typer(no_args_is_help=True, help=_GROUP, rich_markup_mode=None)

Out = Annotated[Path, typer.Option(help="The folder to write.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(export, name="export")


@export.command("rewardbench2")
def rewardbench2(
    data: Annotated[str, typer.Argument(help="StoryRMB: a folder, JSONL file or Hub id.")], out: Out
) -> None:
    """Write a benchmark in the columns of RewardBench 2, for its runner.

    Example: storyalign export rewardbench2 ./storyrmb --out storyrmb-rewardbench2
    """
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.hub.export.rewardbench2 import export_rewardbench2

    keep_inputs([data], out)
    rows = export_rewardbench2(load_evaluation_set(data).instances, out)
    typer.echo(f"{out}: {rows:,} rows")


@export.command("trl")
def trl(
    data: Annotated[str, typer.Argument(help="Preference pairs: a folder, or ORG/NAME[@REVISION] on the Hub.")],
    out: Out,
) -> None:
    """Write preference pairs as chat messages, for TRL's trainers.

    Example: storyalign export trl ./story_preferences --out pairs-trl
    """
    from storyalign.errors import DataError
    from storyalign.hub.export.trl_pairs import export_trl
    from storyalign.hub.payload import collect
    from storyalign.hub.released_rows import dataset_folder, dataset_of, read_rows
    from storyalign.records import PreferencePair

    keep_inputs([data], out)
    payload = collect(dataset_folder(data), "dataset")
    if dataset_of(payload) != "story_preferences":
        raise DataError(f"{data}: holds no preference pairs; build them with storyalign build story_preferences")
    rows = (placed.row for placed in read_rows(payload))
    counts = export_trl((row for row in rows if isinstance(row, PreferencePair)), out)
    typer.echo(f"{out}: " + ", ".join(f"{split} {n:,}" for split, n in counts.items()))
