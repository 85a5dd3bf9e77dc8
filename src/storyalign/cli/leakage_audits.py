"""``storyalign audit leakage``: what stands in the pairs and in an evaluation set too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.outputs import keep_inputs

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.audit.leakage import LeakageReport

LEAKAGE = """
Find texts of PAIRS that stand in an evaluation set too: premises and stories, word for word or nearly so.

PAIRS is a JSONL or Parquet file or a folder that storyalign build wrote. The exit code is 1 where something leaks.

Examples:

  storyalign audit leakage pairs.jsonl --against ./storyrmb

  storyalign audit leakage ./story_preferences --against ./storyrmb --against hanna.jsonl --json leaks.json
"""


def leakage(
    pairs: Annotated[Path, typer.Argument(help="Preference pairs.")],
    against: Annotated[list[str], typer.Option(help="An evaluation set; may be given several times.")],
    threshold: Annotated[
        float, typer.Option(help="Estimated similarity, 0 to 1, from which two texts are near duplicates.")
    ] = 0.5,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write counts and examples to this file.")] = None,
) -> None:
    """Audit leakage; the help text stands in ``LEAKAGE``."""
    from tqdm import tqdm

    from storyalign.audit.leakage import LeakageIndex, LeakageReport
    from storyalign.cli.terminal import open_console, say
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
    print_leakage(out, report, f"{index.instances:,} instances of {', '.join(against)}")
    if json_file:
        write_json(json_file, {"pairs": str(pairs), "against": list(against), **report.to_json()})
        say(out, f"wrote {json_file}", "")
    raise typer.Exit(1 if report.leaking else 0)


def print_leakage(out: Console, report: LeakageReport, compared_with: str) -> None:
    """Print counts and one example of each kind."""
    from storyalign.accuracy import wilson_interval
    from storyalign.cli.terminal import new_table, say

    table = new_table("leak", "texts")
    for kind, n in report.kinds.most_common():
        table.add_row(kind, f"{n:,}")
    if report.kinds:
        out.print(table)
    for kind, leaks in report.examples.items():
        for leak in leaks[:3]:
            where = f"{leak.pair_id} {leak.text} = {leak.instance_id} of {leak.evaluation_set}"
            say(out, f"{kind}: {where}, similarity {leak.similarity:.2f}: {leak.excerpt}")
    share = ""
    if report.pairs:
        low, high = wilson_interval(report.leaking / report.pairs, report.pairs)
        share = f" ({report.leaking / report.pairs:.2%}, 95% interval {low:.2%} to {high:.2%})"
    say(out, f"{report.leaking:,} of {report.pairs:,} pairs leak{share}; compared with {compared_with}", "")
