"""The whole way of the preference pairs at the paper's lengths: filters, mix with its leakage check, build, first row.

python -m benchmarks.preference_scale --pairs 100000 --folder /somewhere/with/15/GB

Each step is a command in a process of its own; its time, processor time and peak memory are printed as it ends. Ten
stories of the corpus stand in the evaluation set too, so that the mix must drop ten pairs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.preference_corpus import pairs
from storyalign.files import read_jsonl, write_jsonl

INSTANCES = 1_133
PLANTED = 10

FIRST_ROW = """
import os, sys, time
from datasets import load_dataset
begun = time.perf_counter()
rows = iter(load_dataset(sys.argv[1], split="train", streaming=True))
row = next(rows)
print(f"first row {row['id']} after {time.perf_counter() - begun:.2f} s", flush=True)
os._exit(0)  # the reader's threads do not expect an interpreter that ends before the last row
"""


def run(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    corpus, out = folder / f"{count}.jsonl", folder / f"run-{count}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    _step("corpus", sys.executable, "-m", "benchmarks.preference_corpus", str(corpus), "--pairs", str(count))
    print(f"{corpus}: {corpus.stat().st_size / 1e9:.2f} GB", flush=True)
    evaluation, recipe = out / "evaluation.jsonl", out / "recipe.yaml"
    write_jsonl(evaluation, _instances(corpus, count))
    targets = {"back_generation": count * 6 // 100, "rewriting": count * 30 // 100, "guided_continuation": count // 10}
    mix = {"targets": targets, "total": count, "against": [str(evaluation)]}
    recipe.write_text(yaml.safe_dump({"mix": mix}))
    kit = [sys.executable, "-m", "storyalign"]
    filters = ["--min-words", "20", "--whole", "--near-duplicates", "0.5"]
    _step("filters", *kit, "import", "pairs", "trl", str(corpus), *filters, "--out", str(out / "imported.jsonl"))
    (out / "imported.jsonl").unlink()
    _step("mix", *kit, "construct", "mix", "--recipe", str(recipe), "--out", str(out), str(corpus))
    folder_built = out / "story_preferences"
    _step("build", *kit, "build", "story_preferences", "--raw", str(out / "pairs.jsonl"), "--out", str(folder_built))
    _step("first row", sys.executable, "-c", FIRST_ROW, str(folder_built))
    _step("stats", *kit, "stats", str(folder_built))


def _instances(corpus: Path, count: int) -> Iterator[dict[str, Any]]:
    """Yield a benchmark of StoryRMB's size; the corpus's story number 0, n / 10, 2n / 10, ... stands in it."""
    planted = itertools.islice(read_jsonl(corpus), 0, None, count // PLANTED)
    other = pairs(2 * INSTANCES, seed=1)
    for number in range(INSTANCES):
        first, second = next(other), next(other)
        copied = next(planted, None)
        yield {
            "id": f"rmb-{number:04d}",
            "prompt": first["prompt"],
            "chosen": copied.row["chosen"] if copied is not None else first["chosen"],
            "rejected": [first["rejected"], second["chosen"], second["rejected"]],
        }


def _step(name: str, *command: str) -> None:
    begun = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    seconds, cpu, peak = time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(f"== {name:10} {seconds:8.1f} s, {cpu:8.1f} s of processor time, peak {peak:6.0f} MB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preference_scale", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, required=True, help="the corpus is kept here for another run")
    options = parser.parse_args()
    run(options.folder, options.pairs)
