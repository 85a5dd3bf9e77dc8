"""The mix on the command line: its progress, its tables and its report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storyalign.preferences.mix import Mix


def mix_and_print(settings: Mix, against: Sequence[str], files: Sequence[Path], out: Path) -> None:
    """Mix files into ``out/pairs.jsonl``, print the counts, and write ``out/report.json``."""
    from tqdm import tqdm

    from storyalign.audit.leakage import LeakageIndex
    from storyalign.audit.leakage import table_of as leakage_table
    from storyalign.audit.pair_cues import table_of as cues_table
    from storyalign.audit.writer_balance import writers_table
    from storyalign.cli.terminal import open_console, say, show
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.files import write_json
    from storyalign.preferences.mix import SAME_AUTHOR, mix_pairs, table_of

    console, index = open_console(), LeakageIndex()
    for name in against:
        loaded = load_evaluation_set(name, needs_gold=False)
        index.add(loaded.name, loaded.instances, loaded.author_keys)
    report = mix_pairs(
        files,
        out / "pairs.jsonl",
        settings,
        index if against else None,
        size_pairs=out / "size_pairs.jsonl" if settings.size_pairs else None,
        track=lambda lines: tqdm(lines, unit=" pairs", desc="comparing", disable=None),
    )
    writers = {name: balance.to_json() for name, balance in sorted(report.cues.writers.items())}
    show(console, table_of(report), cues_table(report.cues), writers_table(writers))
    if not against:
        say(console, "compared with no evaluation set; name some under mix: against: to look for leaks", "yellow")
    else:
        show(console, leakage_table(report.leakage, f"{index.instances:,} instances of {', '.join(against)}"))
        n = report.tally.dropped[SAME_AUTHOR]
        dropped = f"{n:,} pairs dropped by authors of the evaluation sets ({len(index.author_keys):,} keys)"
        none = "the evaluation sets carry no author_key, so pairs by their authors were not looked for"
        say(console, dropped if index.author_keys else none, "")
    for line in report.tally.lines():
        say(console, line)
    if settings.size_pairs:
        say(console, f"{out / 'size_pairs.jsonl'}: {report.size_pairs:,} pairs by size for the ablations of Table 2")
    write_json(out / "report.json", report.to_json())
    say(console, f"{out / 'pairs.jsonl'}: {sum(report.counts.values()):,} pairs; report in {out / 'report.json'}", "")
