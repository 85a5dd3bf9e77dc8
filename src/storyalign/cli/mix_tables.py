"""The mix on the command line: its tables and its report."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.preferences.mix import Mix, MixReport


def mix_and_print(settings: Mix, against: Sequence[str], files: Sequence[Path], out: Path) -> None:
    """Mix files into ``out/pairs.jsonl``, print the counts, and write ``out/report.json``."""
    from tqdm import tqdm

    from storyalign.audit.leakage import LeakageIndex
    from storyalign.cli.leakage_audits import print_leakage
    from storyalign.cli.shortcut_tables import print_writers
    from storyalign.cli.terminal import open_console, say
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.files import write_json
    from storyalign.preferences.mix import SAME_AUTHOR, mix_pairs

    console, index = open_console(), None
    for name in against:
        index = index or LeakageIndex()
        loaded = load_evaluation_set(name, needs_gold=False)
        index.add(loaded.name, loaded.instances, loaded.author_keys)
    report = mix_pairs(
        files,
        out / "pairs.jsonl",
        settings,
        index,
        size_pairs=out / "size_pairs.jsonl" if settings.size_pairs else None,
        track=lambda lines: tqdm(lines, unit=" pairs", desc="comparing", disable=None),
    )
    print_counts(console, report)
    print_cues(console, report)
    print_writers(console, {name: balance.to_json() for name, balance in sorted(report.cues.writers.items())})
    if index is not None:
        print_leakage(console, report.leakage, f"{index.instances:,} instances of {', '.join(against)}")
        if index.author_keys:
            n = report.tally.dropped[SAME_AUTHOR]
            say(console, f"{n:,} pairs dropped by authors of the evaluation sets ({len(index.author_keys):,} keys)", "")
        else:
            say(console, "the evaluation sets carry no author_key, so pairs by their authors were not looked for", "")
    else:
        say(console, "compared with no evaluation set; name some under mix: against: to look for leaks", "yellow")
    for line in report.tally.lines():
        say(console, line)
    if settings.size_pairs:
        say(console, f"{out / 'size_pairs.jsonl'}: {report.size_pairs:,} pairs by size for the ablations of Table 2")
    write_json(out / "report.json", report.to_json())
    say(console, f"{out / 'pairs.jsonl'}: {sum(report.counts.values()):,} pairs; report in {out / 'report.json'}", "")


def print_counts(console: Console, report: MixReport) -> None:
    """Print pairs by construction and split with their lengths, as in Table 9."""
    from storyalign.cli.terminal import new_table

    table = new_table("construction", "train", "validation", "target", "mean words", "median words")
    everything: list[int] = []
    for name in sorted({construction for construction, _ in report.counts}):
        words = report.words[name]
        everything += words
        wanted = report.wanted.get(name)
        table.add_row(
            name,
            f"{report.count(name, 'train'):,}",
            f"{report.count(name, 'validation'):,}",
            "rest" if wanted is None else f"{wanted:,}",
            f"{statistics.fmean(words):,.0f}",
            f"{statistics.median(words):,.0f}",
        )
    splits = [sum(n for (_, s), n in report.counts.items() if s == split) for split in ("train", "validation")]
    if everything:
        mean, median = statistics.fmean(everything), statistics.median(everything)
        table.add_row("all", *(f"{n:,}" for n in splits), "", f"{mean:,.0f}", f"{median:,.0f}")
    console.print(table)


def print_cues(console: Console, report: MixReport) -> None:
    """Print how well rules that know one surface cue alone tell chosen from rejected."""
    from storyalign.audit.pair_cues import LENGTH
    from storyalign.cli.terminal import new_table, say

    table = new_table("construction: rule", "accuracy", "95% interval", "n")
    for name in sorted(report.cues.pairs):
        rules = report.cues.rules(name)
        length = next(rule for rule in rules if rule.cue == LENGTH)
        worst = max(rules, key=lambda rule: rule.best)
        for rule in dict.fromkeys((length, worst)):
            low, high = rule.interval
            table.add_row(f"{name}: {rule.rule}", f"{rule.best:.1%}", f"{low:.1%} to {high:.1%}", f"{rule.n:,}")
    console.print(table)
    say(console, "a rule that reads nothing should be near 50%; length, and the cue that tells most, are shown")
