"""The benchmark at the paper's size against a scripted endpoint, and killed at random points."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
import yaml

from storyalign.files import read_jsonl
from tests.support.command import environment
from tests.support.scripted_authors import answer, write_human_stories, write_recipe, write_verdicts
from tests.support.scripted_llm_server import Running, scripted_server

pytestmark = pytest.mark.full


def rows(path: Path) -> list[dict]:
    return [line.row for line in read_jsonl(path)]


def themes(folder: Path) -> None:
    content = {
        "families": [
            {"label": f"family {n}", "about": "something", "themes": [f"theme {n}.{m}" for m in range(4)]}
            for n in range(5)
        ],
        "turns": {"conflict": "a conflict.", "reversal": "a reversal."},
        "styles": ["plain", "dry"],
    }
    (folder / "themes.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")


def construct(recipe: Path, out: Path, *more: str | Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "storyalign", "construct", "storyrmb", "--recipe", recipe, "--out", out, *more]
    return subprocess.Popen(list(map(str, command)), env=environment(), stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> tuple[str, float]:
    """Wait for the end; give the output and the peak memory in MiB."""
    peak = 0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            peak = max(peak, watched.memory_info().rss)
        except psutil.NoSuchProcess:
            break
        time.sleep(0.05)
    output = process.communicate()[0]
    assert process.returncode == 0, output[-3000:]
    return output, peak / 2**20


@pytest.mark.timeout(3600)
def test_624_and_509_instances_in_minutes_with_flat_memory(tmp_path):
    write_human_stories(tmp_path, 640)
    # 5 x 4 themes x 2 turns x 4 calls x 4 seeds: 640 seeds, 624 of them wanted
    with scripted_server(answer, keep=False) as running:
        recipe = write_recipe(
            tmp_path,
            running.url,
            premises={"calls_per_theme": 4, "seeds_per_call": 4, "wanted": 624},
            human_premises={"wanted": 600},
        )
        themes(tmp_path)
        _, small = finish(construct(recipe, tmp_path / "small", "--limit", "5"))
        before, began = running.count, time.monotonic()
        out = tmp_path / "out"
        _, peak = finish(construct(recipe, out))
        seconds, calls = time.monotonic() - began, running.count - before
        write_verdicts(out, tmp_path / "verdicts.jsonl", unsure=91)
        output, _ = finish(construct(recipe, out, "--verdicts", tmp_path / "verdicts.jsonl"))
        assert running.count == before + calls
    print(f"{calls:,} calls in {seconds:.0f} s, peak {peak:.0f} MiB, {small:.0f} MiB with 5 premises a source")
    # 160 calls for seeds; 640 enriched, restyled, checked; 624 x 4 + 600 x 3 stories; 1,224 groups x 4 judges
    assert calls == 160 + 3 * 640 + 624 * 4 + 600 * 3 + 1224 * 4
    instances = rows(out / "instances.jsonl")
    assert Counter(row["source"] for row in instances) == {"llm_llm": 624, "human_llm": 509}
    assert len({row["id"] for row in instances}) == 1133
    assert Counter(row["reason"] for row in rows(out / "settled_dropped.jsonl")) == {
        "annotators unsure whether the human story is best": 91
    }
    assert Counter(row["reason"] for row in rows(out / "premises/llm_dropped.jsonl")) == {"more than wanted": 16}
    assert Counter(row["reason"] for row in rows(out / "premises/human_dropped.jsonl")) == {"not drawn": 40}
    assert peak < small + 100
    assert "instances.jsonl: 1,133 rows" in output


@pytest.mark.timeout(3600)
def test_killed_at_random_moments_the_files_are_those_of_a_whole_run(tmp_path):
    write_human_stories(tmp_path, 12)
    moments = random.Random(3)
    with scripted_server(answer, keep=False) as running:
        recipe = write_recipe(tmp_path, running.url, human_premises={"wanted": 12})
        finish(construct(recipe, tmp_path / "whole"))
        calls = running.count
        for _ in range(6):
            process = construct(recipe, tmp_path / "killed")
            kill_after(process, running, running.count + moments.randrange(1, calls // 5))
        finish(construct(recipe, tmp_path / "killed"))
        assert running.count - calls <= calls + 6 * 4 * 8  # a kill loses the calls under way, at most
    for name in ("premises", "candidates", "ratings", "routes", "tasks"):
        assert (tmp_path / f"killed/{name}.jsonl").read_bytes() == (tmp_path / f"whole/{name}.jsonl").read_bytes()


def kill_after(process: subprocess.Popen, running: Running, count: int) -> None:
    while running.count < count and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
