"""Trial 15: two releases at once, and a Hub that always answers 412 (datasets#7600, #7777)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.hub.release.publish import TRIES
from tests.support.hub_runs import RunningHub, running_hub

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

CARD = """---
title: A Space
emoji: 📖
sdk: gradio
sdk_version: 6.31.0
app_file: shared.py
license: apache-2.0
---

Text.
"""

FILES = """
import json, huggingface_hub as h

files = sorted(h.HfApi().list_repo_files("demo/shared", repo_type="space"))
texts = {f: open(h.hf_hub_download("demo/shared", f, repo_type="space")).read() for f in files}
print(json.dumps([texts, len(h.HfApi().list_repo_commits("demo/shared", repo_type="space"))]))
"""


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    (path / "README.md").write_text(CARD)
    (path / "shared.py").write_text("print('the same in both')\n")
    for name, text in files.items():
        (path / f"{name}.txt").write_text(text)
    return path


def start(hub: RunningHub, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "storyalign.cli.main", "release", "metric", str(path), "--repo", "demo/shared"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=hub.environment(), stdout=pipe, stderr=pipe, text=True)


def release_both(hub: RunningHub, first: Path, second: Path) -> list[tuple[int, str]]:
    """Run two releases of which each reads the repository before the other commits."""
    # The Hub lets neither commit through before both are there: whoever comes second meets a newer head.
    hub.plant({"method": "POST", "path": "/commit/", "meet": 2, "times": 2})
    running = [start(hub, first), start(hub, second)]
    ends = [process.communicate(timeout=600) for process in running]
    return [(process.returncode, out + err) for process, (out, err) in zip(running, ends, strict=True)]


@pytest.fixture
def hub(tmp_path: Path):
    with running_hub(tmp_path) as running:
        base = folder(tmp_path / "base")
        start(running, base).communicate(timeout=600)
        yield running


def test_both_releases_are_kept(hub: RunningHub, tmp_path: Path) -> None:
    """Different files: one of the two meets 412, looks again, and adds its files to the other's."""
    ends = release_both(hub, folder(tmp_path / "a", one="1"), folder(tmp_path / "b", two="2"))
    assert [code for code, _ in ends] == [0, 0], ends
    assert sorted(row["status"] for row in hub.log("POST", "/commit/")) == [200, 200, 200, 412]
    texts, commits = hub.python(FILES)
    assert (texts["one.txt"], texts["two.txt"], commits) == ("1", "2", 4)


def test_nobody_writes_over_the_other(hub: RunningHub, tmp_path: Path) -> None:
    """The same file with two texts: one release wins, the other ends with an error that names the file."""
    ends = release_both(hub, folder(tmp_path / "a", one="first"), folder(tmp_path / "b", one="second"))
    assert sorted(code for code, _ in ends) == [0, 2], ends
    loser = next(said for code, said in ends if code == 2)
    assert "somebody else released one.txt at the same time" in loser
    assert len(loser.splitlines()) == 1
    winner = ("first", "second")[[code for code, _ in ends].index(0)]
    assert hub.python(FILES)[0]["one.txt"] == winner


def test_the_same_release_twice_at_once_is_one_commit(hub: RunningHub, tmp_path: Path) -> None:
    ends = release_both(hub, folder(tmp_path / "a", one="1"), folder(tmp_path / "b", one="1"))
    assert [code for code, _ in ends] == [0, 0], ends
    assert hub.python(FILES)[1] == 3


def test_a_hub_that_always_answers_412(hub: RunningHub, tmp_path: Path) -> None:
    hub.plant({"method": "POST", "path": "/commit/", "status": 412, "times": 1000})
    before = len(hub.log("POST", "/commit/"))
    process = start(hub, folder(tmp_path / "a", one="1"))
    out, err = process.communicate(timeout=600)
    assert process.returncode == 2
    assert len(hub.log("POST", "/commit/")) - before == TRIES
    assert (out, len(err.splitlines())) == ("", 1)
    assert f"refused as outdated (412) in {TRIES} tries" in err
