"""The verb group ``audit``: what a dataset or a scorer gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from storyalign.cli.data_options import AssumeHumanBest, Config, DataChoice, LowerIsBetter, ScoreKey, Split
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

_LEAKAGE = """
Find texts of PAIRS that stand in an evaluation set too: premises and stories, word for word or nearly so.

PAIRS is a JSONL or Parquet file or a folder that storyalign build wrote. The exit code is 1 where something leaks.

Examples:

  storyalign audit leakage pairs.jsonl --against ./storyrmb

  storyalign audit leakage ./story_preferences --against ./storyrmb --against hanna.jsonl --json leaks.json
"""

Json = Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")]


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(help=_GROUP, no_args_is_help=True)
    group.command("shortcuts", help=_SHORTCUTS, no_args_is_help=True)(with_scoring_options(shortcuts))
    group.command("table", help=_TABLE, no_args_is_help=True)(table)
    group.command("leakage", help=_LEAKAGE, no_args_is_help=True)(leakage)
    app.add_typer(group, name="audit")


def shortcuts(
    data: Annotated[str, typer.Argument(help="A dataset folder, a JSONL file, or a Hub dataset.")],
    rewards: Annotated[Path | None, typer.Argument(help="The rewards file, model or judge:NAME to look into.")] = None,
    json_file: Json = None,
    score_key: ScoreKey = None,
    lower_is_better: LowerIsBetter = False,
    assume_human_best: AssumeHumanBest = False,
    config: Config = None,
    split: Split = None,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Audit shortcuts; the help text stands in ``register``."""
    from storyalign.audit.shortcuts import audit_shortcuts, tables_of
    from storyalign.cli.scorer_choice import scored_sets_of
    from storyalign.cli.terminal import open_console, say, show, show_written
    from storyalign.files import write_json

    keep_inputs([data, rewards], json_file)
    choice = DataChoice(data, config, split, score_key, lower_is_better, assume_human_best)
    found = choice.load()
    scorers = [str(rewards)] if rewards else []
    scored = next(iter(scored_sets_of(scorers, choice, found, options)), None)
    report = audit_shortcuts(found.instances, scored.rewards if scored else None, scored.name if scored else "")
    out = open_console()
    show(out, *tables_of(report))
    for flag in report.flags:
        say(out, f"flag: {flag}", "bold red")
    for line in report.untested:
        say(out, line, "bold yellow")
    if report.verdict:
        say(out, report.verdict, "bold green")
    if json_file:
        write_json(json_file, {"data": found.name, "digest": found.digest, **report.to_json()})
    show_written(out, json_file)


def table(
    source: Annotated[str, typer.Argument(metavar="TABLE", help="A CSV file, paper:1 or paper:2.")],
    groups: Annotated[
        str | None, typer.Option(help="Groups behind each column: NAME=N,NAME=N, or storyrmb for the paper's.")
    ] = None,
    average: Annotated[str | None, typer.Option(help="The column that holds the average.")] = None,
    json_file: Json = None,
) -> None:
    """Audit a table; the help text stands in ``register``."""
    from storyalign.audit.accuracy_table import PAPER_TABLES, audit_table, paper_table, read_table, tables_of
    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.files import write_json

    keep_inputs([source], json_file)
    if source in PAPER_TABLES:
        rows, groups = paper_table(source), groups or "storyrmb"
    else:
        try:
            rows = read_table(Path(source).read_text("utf-8-sig"), source, average)
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{source}: cannot be read as UTF-8 text ({error}); name a CSV file or paper:1") from error
    if groups is None:
        raise RecipeError(f"{source}: name the groups behind each column, as --groups coherence=265,creativity=292")
    audit = audit_table(source, rows, _sizes(groups))
    out = open_console()
    show(out, *tables_of(audit))
    if json_file:
        write_json(json_file, audit.to_json())
    show_written(out, json_file)


def _sizes(groups: str) -> dict[str, int]:
    from storyalign.audit.accuracy_table import STORYRMB_SIZES

    if groups == "storyrmb":
        return dict(STORYRMB_SIZES)
    sizes: dict[str, int] = {}
    for part in groups.split(","):
        name, _, number = (piece.strip() for piece in part.rpartition("="))
        if not name or not number.isdecimal() or int(number) < 1:
            raise RecipeError(f"--groups {part!r}: expected NAME=N with a whole number above 0")
        if name.casefold() in map(str.casefold, sizes):
            raise RecipeError(f"--groups names {name} twice")
        sizes[name] = int(number)
    return sizes


def leakage(
    pairs: Annotated[Path, typer.Argument(help="Preference pairs.")],
    against: Annotated[list[str], typer.Option(help="An evaluation set; may be given several times.")],
    threshold: Annotated[
        float, typer.Option(help="Estimated similarity, 0 to 1, from which two texts are near duplicates.")
    ] = 0.5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write counts and examples to this file.")] = None,
) -> None:
    """Audit leakage; the help text stands in ``register``."""
    from tqdm import tqdm

    from storyalign.audit.leakage import LeakageIndex, LeakageReport, table_of
    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.corpus.pair_rows import read_pairs
    from storyalign.files import write_json

    keep_inputs([pairs, *against], json_file)
    index, report = LeakageIndex(threshold), LeakageReport()
    for name in against:
        loaded = load_evaluation_set(name, needs_gold=False)
        index.add(loaded.name, loaded.instances)
    for placed in tqdm(read_pairs(pairs), unit=" pairs", desc="comparing", disable=None):
        report.add(placed.pair, index.leaks(placed.pair))
    out = open_console()
    show(out, table_of(report, f"{index.instances:,} instances of {', '.join(against)}"))
    if json_file:
        write_json(json_file, {"pairs": str(pairs), "against": list(against), **report.to_json()})
    show_written(out, json_file)
    raise typer.Exit(1 if report.leaking else 0)
