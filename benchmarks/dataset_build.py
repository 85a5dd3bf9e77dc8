"""``storyalign build story_preferences`` against what ``datasets`` alone does with the same file: JSON in, Parquet out.

The build also checks every row, compares it with all others, counts words and writes a card.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.preference_corpus import write_pairs

_CONVERT = """
import sys
from datasets import load_dataset
rows = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
rows.to_parquet(sys.argv[2] + "/out.parquet")
"""


def run(rounds: int, pairs: int = 10_000) -> list[Figure]:
    """Measure both in processes of their own, in turn."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        raw = str(write_pairs(folder / f"{pairs}.jsonl", pairs))
        build = [sys.executable, "-m", "storyalign", "build", "story_preferences", "--raw", raw, "--out"]
        times = []
        for number in range(rounds):
            built = _seconds(*build, str(folder / f"built-{number}"))
            converted = _seconds(sys.executable, "-c", _CONVERT, raw, str(folder / f"converted-{number}"))
            times.append(built / converted)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        Figure(f"build of {pairs:,} pairs / datasets JSON to Parquet, time", times),
        Figure("the same, peak MB of the larger", [peak], 2000, "lower"),
    ]


def _seconds(*command: str) -> float:
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return time.perf_counter() - begun
