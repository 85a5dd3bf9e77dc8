"""The verb group ``audit``: what a dataset or a scorer gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, Config, DataChoice, LowerIsBetter, ScoreKey, Split

_SHORTCUTS = """
Look for shortcuts: can a scorer that understands nothing find the chosen story of DATA, and does yours lean on length?

Examples:

  storyalign audit shortcuts ./storyrmb

  storyalign audit shortcuts ./storyrmb rewards.jsonl --json shortcuts.json
"""


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(help="Look for what a dataset or a scorer gives away.", no_args_is_help=True)
    group.command("shortcuts", help=_SHORTCUTS, no_args_is_help=True)(shortcuts)
    app.add_typer(group, name="audit")


def shortcuts(
    data: Annotated[str, typer.Argument(help="A dataset folder, a JSONL file, or a Hub dataset.")],
    rewards: Annotated[Path | None, typer.Argument(help="A rewards file of a scorer to look into.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
) -> None:
    """Audit shortcuts; the help text stands in ``register``."""
    from storyalign.audit.shortcuts import audit_shortcuts
    from storyalign.cli.shortcut_tables import print_shortcuts
    from storyalign.cli.terminal import open_console, say
    from storyalign.evaluation.scored_sets import read_scored_set
    from storyalign.files import write_json

    choice = DataChoice(data, config, split, score_key, lower_is_better, assume_human_best)
    evaluation_set = choice.load()
    scored = read_scored_set(rewards, evaluation_set, choice.load_as_scored()) if rewards else None
    report = audit_shortcuts(
        evaluation_set.instances,
        scored.rewards if scored else None,
        scored.name if scored else "",
    )
    out = open_console()
    print_shortcuts(out, report)
    if json_file:
        write_json(json_file, {"data": evaluation_set.name, "digest": evaluation_set.digest, **report.to_json()})
        say(out, f"wrote {json_file}", "")
