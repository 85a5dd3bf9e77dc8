"""Trial 13 (datasets#6465): a rebuilt folder, and another checkout, never answer with older rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows

LOAD = """
import json, sys
from datasets import load_dataset
rmb = load_dataset("storyrmb", split="test")
part = load_dataset("storyrmb", "human_llm", split="test")
pairs = load_dataset("story_preferences", "rewriting", split="train")
print(json.dumps([rows["chosen"][:] for rows in (rmb, part, pairs)]))
"""


def build(checkout: Path, chosen: str) -> None:
    checkout.mkdir(exist_ok=True)
    raw = write_rows(checkout / "rmb.jsonl", [storyrmb_row(0, chosen=chosen), storyrmb_row(1)])
    build_storyrmb([raw], checkout / "storyrmb")
    raw = write_rows(checkout / "pairs.jsonl", [pair_row(0, chosen=chosen), pair_row(4)])
    build_story_preferences([raw], checkout / "story_preferences")


def load(checkout: Path, home: Path) -> list[list[str]]:
    """Load by plain name from the checkout, in a process of its own."""
    environment = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LOAD], cwd=checkout, env=environment, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    answer: list[list[str]] = json.loads(done.stdout)
    return answer


def expected(chosen: str) -> list[list[str]]:
    return [[chosen, storyrmb_row(1)["chosen"]], [chosen], [chosen]]


def test_a_changed_story_is_loaded_after_the_next_build(tmp_path: Path) -> None:
    for chosen in ("The first ending.", "The second ending.", "The first ending."):
        build(tmp_path / "checkout", chosen)
        assert load(tmp_path / "checkout", tmp_path / "home") == expected(chosen)


def test_two_checkouts_in_one_cache_each_load_their_own_rows(tmp_path: Path) -> None:
    build(tmp_path / "one", "The ending in one.")
    build(tmp_path / "two", "The ending in two.")
    for name in ("one", "two", "one"):
        assert load(tmp_path / name, tmp_path / "home") == expected(f"The ending in {name}.")
