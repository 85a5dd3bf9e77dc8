"""Memory of scoring: one long story among short ones against the naive batch, and growth with the number of stories."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.inputs import PREMISE, save_reward_model, text

LONG_WORDS = 7200  # about 8,000 tokens
LAYERS = 2  # activations of one layer at a time decide the peak, so two layers measure what thirty would


def run(*, long: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_reward_model(Path(temporary) / "model", LAYERS)
        naive, ours = (_extra(system, folder, "long", 1) for system in ("pipeline_8", "ours"))
        figures = [
            Figure("pipeline batch 8, extra MB with one 8,000-token story", [naive]),
            Figure("ours, extra MB with one 8,000-token story", [ours]),
            Figure("ours / naive batch of 8, extra memory", [ours / naive], 0.15, "lower"),
        ]
        if long:
            few, many = (_extra("ours", folder, "stream", count) for count in (1000, 10_000))
            figures.append(Figure("extra memory, 10,000 stories / 1,000 stories", [many / few], 1.1, "lower"))
    return figures


def _extra(system: str, folder: Path, load: str, count: int) -> float:
    """Measure in a process of its own how far the peak rises above what the loaded model takes, in MB."""
    command = [sys.executable, "-m", "benchmarks.memory", system, str(folder), load, str(count)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measure(system: str, folder: Path, load: str, count: int) -> float:
    from benchmarks.systems import SYSTEMS

    short = [text(40, seed) for seed in range(7)]
    if load == "long":
        score = SYSTEMS[system](folder)
        score(short)
        before = _peak_mb()
        score([*short[:3], text(LONG_WORDS, 99), *short[3:]])
        return _peak_mb() - before
    from storyalign.scoring.reward_models import load_scorer
    from storyalign.scoring.reward_store import Request

    scorer = load_scorer(folder)
    before = _peak_mb()
    stream = (Request(str(n), 0, PREMISE, text(40 + n % 60, n)) for n in range(count))
    scored = sum(len(batch) for batch in scorer.score(stream))
    assert scored == count
    return _peak_mb() - before


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
