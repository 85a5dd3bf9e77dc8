"""What the leakage check finds: planted copies of each kind, and alarms where nothing was planted.

python -m benchmarks.leakage_recall

The rows are the table of docs/preferences.md. With STORYALIGN_REAL_DATA, real stories of different collections are
compared as well; what is found there is shown, as two collections may share a text indeed.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.preference_corpus import pairs
from storyalign.audit.leakage import LeakageIndex
from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.records import Instance, PreferencePair

Plant = Callable[[PreferencePair, Instance, int], PreferencePair]


def _words(text: str, start: int, count: int) -> str:
    return " ".join(text.split()[start : start + count])


def _inside(outer: str, passage: str) -> str:
    words = outer.split()
    return " ".join([*words[: len(words) // 2], passage, *words[len(words) // 2 :]])


def _beginning(count: int) -> Plant:
    return lambda pair, instance, n: replace(pair, prompt=_words(instance.stories[n % 4], 0, count).upper())


def _passage(count: int) -> Plant:
    return lambda pair, instance, n: replace(
        pair, rejected=_inside(pair.rejected, _words(instance.stories[n % 4], 40 + n, count))
    )


def _one_word(pair: PreferencePair, instance: Instance, n: int) -> PreferencePair:
    words = instance.prompt.split()
    words[n % len(words)] = "otherwise"
    return replace(pair, prompt=" ".join(words))


def _whole_story(pair: PreferencePair, instance: Instance, n: int) -> PreferencePair:
    return replace(pair, chosen=_inside(pair.chosen + pair.rejected, instance.stories[n % 4]))


def _changed(every: int) -> Plant:
    def plant(pair: PreferencePair, instance: Instance, n: int) -> PreferencePair:
        words = instance.stories[n % 4].split()
        words[n % every :: every] = ["otherwise"] * len(words[n % every :: every])
        return replace(pair, chosen=" ".join(words))

    return plant


KINDS: dict[str, Plant] = {
    "premise in other case, without punctuation": lambda p, i, n: replace(p, prompt=i.prompt.upper().replace(".", "")),
    "premise with one word changed": _one_word,
    "story under another premise": lambda p, i, n: replace(p, chosen=i.stories[n % 4]),
    "story with every 20th word changed": _changed(20),
    "story with every 5th word changed": _changed(5),
    **{f"beginning of {n} words as premise": _beginning(n) for n in (29, 30, 60, 120)},
    **{f"inner passage of {n} words inside another story": _passage(n) for n in (29, 30, 60, 120)},
    "whole story inside a longer one": lambda p, i, n: replace(
        p, chosen=_inside(p.chosen + p.rejected, i.stories[n % 4])
    ),
}


def run(cases: int, clean: int) -> None:
    source = pairs(3 * cases + clean + cases, seed=3)
    instances = []
    for number in range(cases):
        first, second = next(source), next(source)
        stories = (first["rejected"], second["chosen"], second["rejected"])
        instances.append(Instance(f"rmb-{number}", first["prompt"], first["chosen"], stories))
    index = LeakageIndex()
    index.add("planted", instances)
    hosts = [PreferencePair.from_row(row) for row in itertools.islice(source, cases)]
    print("| planted | found |\n|---|---:|")
    for kind, plant in KINDS.items():
        found = sum(
            any(leak.instance_id == instance.id for leak in index.leaks(plant(pair, instance, n)))
            for n, (pair, instance) in enumerate(zip(hosts, instances, strict=True))
        )
        print(f"| {kind} | {found} of {cases} |", flush=True)
    alarms = sum(bool(index.leaks(PreferencePair.from_row(row))) for row in itertools.islice(source, clean))
    print(f"| nothing (false alarms) | {alarms} of {clean} |", flush=True)
    if folder := os.environ.get("STORYALIGN_REAL_DATA"):
        _real(Path(folder))


def _real(folder: Path) -> None:
    """Compare each collection of real stories with all the others."""
    names = ("hanna", "fastdetect_wp", "confederacy", "ttcw")
    sets = {name: load_evaluation_set(str(folder / f"{name}.jsonl"), needs_gold=False).instances for name in names}
    for name in names:
        index = LeakageIndex()
        for other in names:
            if other != name:
                index.add(other, sets[other])
        leaks = [
            leak
            for one in sets[name]
            for story in one.rejected
            for leak in index.leaks(PreferencePair(one.id, one.prompt, one.chosen, story, "rewriting"))
        ]
        print(f"{name}: {len({leak.pair_id for leak in leaks})} of {len(sets[name])} groups share a text with another")
        for leak in {(x.kind, x.instance_id): x for x in leaks}.values():
            print(f"  {leak.pair_id} {leak.text}, {leak.kind}, {leak.instance_id}: {leak.excerpt[:100]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leakage_recall", description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--clean", type=int, default=300)
    options = parser.parse_args()
    run(options.cases, options.clean)
