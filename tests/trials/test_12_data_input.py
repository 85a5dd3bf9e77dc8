"""Trial 12, the data's part (lm-eval#3882, OmniReward#3): two processes at once, no network, and odd groups.

Broken rows one by one stand in ``tests/corpus/test_evaluation_sets.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import storyalign
from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.errors import RowError
from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.support.rows import storyrmb_row, write_rows

LOAD = """
import sys
from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.errors import StoryAlignError
try:
    print(load_evaluation_set(sys.argv[1]).digest)
except StoryAlignError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def start(data: str, home: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", LOAD, data],
        cwd=home.parent,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(storyalign.__file__).parents[1]),
            "HF_HOME": str(home),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_at_once_in_one_home(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n) for n in range(20)])
    build_storyrmb([raw], tmp_path / "storyrmb")
    running = [start("storyrmb", tmp_path / "home") for _ in range(2)]
    answers = [process.communicate(timeout=250) for process in running]
    assert [out.strip() for out, _ in answers] == [load_evaluation_set(raw).digest] * 2, answers


def test_no_network(tmp_path: Path) -> None:
    process = start("someone/storyrmb", tmp_path / "home", HF_HUB_OFFLINE="1")
    out, err = process.communicate(timeout=250)
    assert (process.returncode, out) == (1, "")
    assert err.startswith("HubError: someone/storyrmb: no file or folder of that name")
    assert err.count("\n") == 1


def test_groups_of_two_and_five_beside_each_other_and_one_of_one(tmp_path: Path) -> None:
    two, five, one = (
        storyrmb_row(n, rejected=[f"Other {n} {i}." for i in range(k - 1)], rejected_writers=[])
        for n, k in enumerate((2, 5, 1))
    )
    loaded = load_evaluation_set(write_rows(tmp_path / "a.jsonl", [two, five]))
    assert [len(item.stories) for item in loaded.instances] == [2, 5]
    with pytest.raises(RowError, match=r"b.jsonl:3 \(id rmb-0002\): expected at least 1 rejected story, found 0"):
        load_evaluation_set(write_rows(tmp_path / "b.jsonl", [two, five, one]))
