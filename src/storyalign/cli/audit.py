"""The verb group ``audit``: what a dataset or a scorer gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, Config, DataChoice, LowerIsBetter, ScoreKey, Split
from storyalign.cli.leakage_audits import LEAKAGE, leakage
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.outputs import keep_inputs
from storyalign.errors import DataError, RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions

_GROUP = """
Look for what a dataset or a scorer gives away.

Examples:

  storyalign audit shortcuts ./storyrmb rewards.jsonl

  storyalign audit leakage ./story_preferences --against ./storyrmb

  storyalign audit table paper:1
"""

_SHORTCUTS = """
Look for shortcuts: can a scorer that understands nothing find the chosen story of DATA, and does yours lean on length?

Examples:

  storyalign audit shortcuts ./storyrmb

  storyalign audit shortcuts ./storyrmb rewards.jsonl --json shortcuts.json
"""


_TABLE = """
Check a published table of accuracies: which averages are means over groups or over columns, which cells are no k/N.

TABLE is a CSV file: names in the first column, accuracies in percent, one column called average, mean or overall.
paper:1 and paper:2 are the tables of the StoryAlign paper.

Examples:

  storyalign audit table paper:1

  storyalign audit table mine.csv --groups coherence=265,creativity=292

  storyalign audit table mine.csv --groups storyrmb --json audit.json
"""


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(help=_GROUP, no_args_is_help=True)
    group.command("shortcuts", help=_SHORTCUTS, no_args_is_help=True)(with_scoring_options(shortcuts))
    group.command("table", help=_TABLE, no_args_is_help=True)(table)
    group.command("leakage", help=LEAKAGE, no_args_is_help=True)(leakage)
    app.add_typer(group, name="audit")


def shortcuts(
    data: Annotated[str, typer.Argument(help="A dataset folder, a JSONL file, or a Hub dataset.")],
    rewards: Annotated[Path | None, typer.Argument(help="The rewards file, model or judge:NAME to look into.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Audit shortcuts; the help text stands in ``register``."""
    from storyalign.audit.shortcuts import audit_shortcuts
    from storyalign.cli.scorer_choice import scored_sets_of
    from storyalign.cli.shortcut_tables import print_shortcuts
    from storyalign.cli.terminal import open_console, say
    from storyalign.files import write_json

    keep_inputs([data, rewards], json_file)
    choice = DataChoice(data, config, split, score_key, lower_is_better, assume_human_best)
    evaluation_set = choice.load()
    scorers = [str(rewards)] if rewards else []
    scored = next(iter(scored_sets_of(scorers, choice, evaluation_set, options)), None)
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


def table(
    source: Annotated[str, typer.Argument(metavar="TABLE", help="A CSV file, paper:1 or paper:2.")],
    groups: Annotated[
        str | None, typer.Option(help="Groups behind each column: NAME=N,NAME=N, or storyrmb for the paper's.")
    ] = None,
    average: Annotated[str | None, typer.Option(help="The column that holds the average.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
) -> None:
    """Audit a table; the help text stands in ``register``."""
    from storyalign.audit.accuracy_table import PAPER_TABLES, STORYRMB_SIZES, audit_table, paper_table, read_table
    from storyalign.cli.accuracy_table_audits import print_table_audit
    from storyalign.cli.terminal import open_console, say
    from storyalign.files import write_json

    keep_inputs([source], json_file)
    if source in PAPER_TABLES:
        rows = paper_table(source)
        sizes = STORYRMB_SIZES if groups in (None, "storyrmb") else _sizes(str(groups))
    else:
        try:
            rows = read_table(Path(source).read_text("utf-8-sig"), source, average)
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{source}: cannot be read as UTF-8 text ({error}); name a CSV file or paper:1") from error
        if groups is None:
            raise RecipeError(f"{source}: name the groups behind each column, as --groups coherence=265,creativity=292")
        sizes = STORYRMB_SIZES if groups == "storyrmb" else _sizes(groups)
    audit = audit_table(source, rows, sizes)
    out = open_console()
    print_table_audit(out, audit)
    if json_file:
        write_json(json_file, audit.to_json())
        say(out, f"wrote {json_file}", "")


def _sizes(groups: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in groups.split(","):
        name, _, number = part.rpartition("=")
        if not name.strip() or not number.strip().isdecimal() or int(number) < 1:
            raise RecipeError(f"--groups {part!r}: expected NAME=N with a whole number above 0")
        if name.strip().casefold() in (known.casefold() for known in sizes):
            raise RecipeError(f"--groups names {name.strip()} twice")
        sizes[name.strip()] = int(number)
    return sizes
