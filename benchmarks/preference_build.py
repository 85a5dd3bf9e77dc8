"""Building ``story_preferences/`` against a bare pyarrow conversion of the same bytes, and memory as rows grow.

python -m benchmarks.preference_build --pairs 10000 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.preference_corpus import write_pairs

RATIO_GOAL = 1.7
GROWTH_GOAL = 1.15
MEMORY_GOAL_MB = 2000


def run(*, rounds: int, pairs: int = 10_000) -> list[Figure]:
    """Measure the build, and the growth of memory from a tenth of the pairs to all of them."""
    with tempfile.TemporaryDirectory() as temporary:
        return measure(Path(temporary), pairs, rounds, growth=True)


def measure(folder: Path, pairs: int, rounds: int, *, growth: bool) -> list[Figure]:
    raw = write_pairs(folder / f"{pairs}.jsonl", pairs)
    runs = [(_process("bare", raw, folder / "bare"), _process("build", raw, folder / "built")) for _ in range(rounds)]
    figures = [
        Figure(f"bare pyarrow conversion of {pairs:,} pairs, s", [bare["seconds"] for bare, _ in runs]),
        Figure("storyalign build, s", [built["seconds"] for _, built in runs]),
        Figure(
            "storyalign build / bare conversion, time",
            [built["seconds"] / bare["seconds"] for bare, built in runs],
            RATIO_GOAL,
            "lower",
        ),
        Figure("the same, processor time", [built["cpu"] / bare["cpu"] for bare, built in runs]),
        Figure("storyalign build, peak MB", [built["peak_mb"] for _, built in runs], MEMORY_GOAL_MB, "lower"),
    ]
    if growth:
        few = _process("build", write_pairs(folder / "few.jsonl", pairs // 10), folder / "built_few")
        grown = max(built["peak_mb"] for _, built in runs) / few["peak_mb"]
        figures.append(Figure(f"peak memory, {pairs:,} / {pairs // 10:,} pairs", [grown], GROWTH_GOAL, "lower"))
    return figures


def _process(what: str, raw: Path, out: Path) -> dict[str, float]:
    """Convert in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.preference_build", "--one", what, "--raw", str(raw), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _one(what: str, raw: Path, out: Path) -> dict[str, float]:
    convert = {"build": _build, "bare": _bare}[what]
    with tempfile.TemporaryDirectory() as temporary:  # one row first: imports do not count
        one_row = Path(temporary) / "one.jsonl"
        with raw.open("rb") as handle:
            one_row.write_bytes(handle.readline())
        convert(one_row, Path(temporary) / "out")
    _read_through(raw)
    begun, cpu = time.perf_counter(), time.process_time()
    convert(raw, out)
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "peak_mb": _own_peak_mb()}


def _build(raw: Path, out: Path) -> None:
    from storyalign.hub.dataset_folder import build_story_preferences

    build_story_preferences([raw], out)


def _bare(raw: Path, out: Path) -> None:
    import pyarrow.json
    import pyarrow.parquet

    out.mkdir(exist_ok=True)
    options = pyarrow.json.ReadOptions(block_size=16 << 20)
    batches = pyarrow.json.open_json(raw, read_options=options)
    with pyarrow.parquet.ParquetWriter(out / "pairs.parquet", batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)


def _read_through(raw: Path) -> None:
    """Read the file once, so that both ways find it in memory, as far as it fits there."""
    with raw.open("rb") as handle:
        while handle.read(1 << 24):
            pass


def _own_peak_mb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.preference_build", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep corpora here for another run")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--one", choices=("bare", "build"))
    parser.add_argument("--raw", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(_one(options.one, options.raw, options.out)))
        sys.exit()
    with tempfile.TemporaryDirectory() as temporary:
        place = options.folder or Path(temporary)
        for figure in measure(place, options.pairs, options.rounds, growth=options.growth):
            print(f"{figure.what:55} {figure.median:9.2f}  ({figure.low:.2f} - {figure.high:.2f}) {figure.verdict}")
