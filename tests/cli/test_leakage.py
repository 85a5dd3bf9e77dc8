from __future__ import annotations

import json
from pathlib import Path

import pytest

from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.audit.test_leakage import instance, pair
from tests.support.command import storyalign
from tests.support.rows import write_rows

pytest.importorskip("rensa")


def test_leaks_are_counted_shown_and_end_with_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bench = [{**instance(n).to_row(), "dimension": "fluency", "source": "human_llm", "chosen_writer": "human",
              "rejected_writers": ["a", "b", "c"]} for n in range(3)]  # fmt: skip
    build_storyrmb([write_rows(tmp_path / "bench.jsonl", bench)], tmp_path / "storyrmb")
    rows = [pair(n).to_row() for n in range(5)]
    rows[2]["chosen"] = instance(1).rejected[0]
    raw = write_rows(tmp_path / "pairs.jsonl", rows)
    done = storyalign("audit", "leakage", "pairs.jsonl", "--against", "storyrmb", "--json", "leaks.json")
    assert done.returncode == 1, done.stderr
    assert "1 of 5 pairs leak (20.00%, 95% interval 3.62% to 62.45%)" in done.stdout  # Wilson for 1 of 5
    assert "pair-2 chosen = rmb-1 of storyrmb" in done.stdout
    report = json.loads((tmp_path / "leaks.json").read_text())
    assert report["kinds"] == {"story, exact": 1}
    build_story_preferences([raw], tmp_path / "story_preferences")
    assert storyalign("audit", "leakage", "story_preferences", "--against", "storyrmb").returncode == 1


def test_no_leak_ends_with_0_and_a_broken_row_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "bench.jsonl", [instance(0).to_row()])
    rows = [pair(n).to_row() for n in range(3)]
    write_rows(tmp_path / "pairs.jsonl", rows)
    done = storyalign("audit", "leakage", "pairs.jsonl", "--against", "bench.jsonl")
    assert (done.returncode, done.stdout.splitlines()[-1][:18]) == (0, "0 of 3 pairs leak ")
    rows[1]["chosen"] = ""
    write_rows(tmp_path / "pairs.jsonl", rows)
    done = storyalign("audit", "leakage", "pairs.jsonl", "--against", "bench.jsonl")
    assert (done.returncode, done.stderr.strip()) == (2, "error: pairs.jsonl:2 (id pair-1): chosen is empty")
