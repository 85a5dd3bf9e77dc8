from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.cli.rank import order
from storyalign.records import Reward
from tests.support.tiny_models import tiny_model_folder


def reward(candidate: int, value: float | None) -> Reward:
    return Reward(
        "", candidate, value, 7, False, "scored" if value is not None else "not_finite", "s", "NaN" * (value is None)
    )


def test_order_is_by_reward_with_probabilities_between_neighbours() -> None:
    files = [Path(n) for n in ("a", "b", "c")]
    ranking = order(files, ["one", "two words", "and three words"], [reward(0, -1.0), reward(1, 0.5), reward(2, 2.0)])
    assert [row.file for row in ranking] == ["c", "b", "a"]
    assert [row.rank for row in ranking] == [1, 2, 3]
    assert [row.words for row in ranking] == [3, 2, 1]
    # Bradley-Terry: P(c before b) = e^2 / (e^2 + e^0.5)
    assert ranking[0].beats_next == pytest.approx(math.exp(2) / (math.exp(2) + math.exp(0.5)))
    assert ranking[2].beats_next is None


def test_equal_rewards_share_a_rank_and_unscored_stories_come_last() -> None:
    files = [Path(n) for n in "abcd"]
    ranking = order(files, ["x"] * 4, [reward(0, None), reward(1, 1.0), reward(2, 1.0), reward(3, 0.0)])
    assert [(row.file, row.rank) for row in ranking] == [("b", 1), ("c", 1), ("d", 3), ("a", 4)]
    assert ranking[0].beats_next == 0.5
    assert ranking[2].beats_next is None, "nothing is known against a story without a reward"
    assert ranking[3].why_unscored == "NaN"


def storyalign(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "storyalign", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_ranks_files(tmp_path: Path) -> None:
    model = tiny_model_folder(tmp_path / "model")
    for name, text in (("one.txt", "the sea was calm"), ("two.md", "\ufeffrain fell over the old town\r\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / "one.txt"), str(tmp_path / "two.md")]
    done = storyalign("rank", "--model", str(model), "--premise", "the sea", *files, "--json")
    assert done.returncode == 0, done.stderr
    ranking = json.loads(done.stdout)
    assert {row["file"] for row in ranking} == set(files)
    assert ranking[0]["reward"] >= ranking[1]["reward"]
    assert sorted(row["words"] for row in ranking) == [4, 6]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "the file is empty"), (b"caf\xe9", "is not UTF-8 text (byte 3)"), (None, "cannot be read")],
)
def test_a_file_that_is_no_story_is_one_line_and_exit_code_2(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("the sea", encoding="utf-8")
    if content is not None:
        bad.write_bytes(content)
    done = storyalign("rank", "--model", str(tmp_path), "--premise", "p", str(good), str(bad))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert "bad.txt" in done.stderr and problem in done.stderr


def test_one_story_is_no_ranking(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the sea", encoding="utf-8")
    done = storyalign("rank", "--model", str(tmp_path), "--premise", "p", str(tmp_path / "a.txt"))
    assert (done.returncode, done.stderr) == (2, "error: rank takes 2 to 1000 stories, got 1\n")


def test_says_what_the_model_learned_from_and_where_length_alone_decides(tmp_path: Path) -> None:
    model = tiny_model_folder(tmp_path / "runs" / "demo" / "model")
    record = {"data": {"train": [{"path": "p", "pairs": 4, "chosen_writers": {"kit-author": 4}}]}}
    (model / "training.json").write_text(json.dumps(record))
    files = []
    for name, text in (("a", "the sea"), ("b", "the sea was calm and rain fell"), ("c", "a keeper climbed again")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        files.append(f"{name}.txt")
    command = [sys.executable, "-m", "storyalign", "rank", "--premise", "the sea", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == "loading runs/demo/model"
    assert "runs/demo/model: trained on the synthetic sample: not on readers' choices" in lines


def test_no_model_is_named_and_the_demo_has_not_run(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the sea", encoding="utf-8")
    command = [sys.executable, "-m", "storyalign", "rank", "--premise", "p", "a.txt", "b.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "no model is named" in done.stderr and "storyalign demo" in done.stderr
