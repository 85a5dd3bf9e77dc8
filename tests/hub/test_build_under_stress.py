"""A build that is killed, one that cannot finish, and one of many rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import storyalign
from storyalign.errors import DataError
from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(storyalign.__file__).parents[1])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


BUILD = """
import sys
from storyalign.hub.build.dataset_folder import build_storyrmb
build_storyrmb([sys.argv[1]], sys.argv[2])
"""


def test_a_killed_build_leaves_the_old_folder_whole(tmp_path: Path) -> None:
    out = tmp_path / "storyrmb"
    build_storyrmb([write_rows(tmp_path / "raw.jsonl", [storyrmb_row(0)])], out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    os.mkfifo(tmp_path / "pipe")
    process = start(BUILD, str(tmp_path / "pipe"), str(out))
    with (tmp_path / "pipe").open("w") as pipe:  # opens as soon as the build reads; the build waits for more rows
        for number in range(2_000):
            pipe.write(json.dumps(storyrmb_row(number)) + "\n")
        pipe.flush()
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=250)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    build_storyrmb([write_rows(tmp_path / "raw.jsonl", [storyrmb_row(1)])], out)
    assert "rmb-0001" not in str(before)
    assert (out / "data/llm_llm").exists()
    assert not (out / "data/human_llm").exists()


def test_if_the_new_folder_cannot_take_its_place_the_old_one_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "storyrmb"
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(0)])
    build_storyrmb([raw], out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    replace = Path.replace

    def full_disk(self: Path, target: Path) -> Path:
        if target == out and self.name != out.name:  # the new folder; the old one keeps its name wherever it is
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(DataError, match=r"storyrmb: cannot be written \(No space left on device\)"):
        build_storyrmb([raw], out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw.jsonl", "storyrmb"]


PEAK = """
import resource, sys
from storyalign.hub.build.dataset_folder import build_story_preferences
build_story_preferences([sys.argv[1]], sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.full
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path) -> None:
    peaks, sizes = [], []
    for n in (4_000, 12_000):  # by the fourth thousand all row groups that are open at once were full once
        raw = tmp_path / f"{n}.jsonl"
        with raw.open("w") as file:
            for i in range(n):
                text = " ".join(f"{word:x}{i:x}" for word in range(1_500))
                file.write(json.dumps(pair_row(i, chosen=text, rejected=text[1:], prompt=f"Premise {i}.")) + "\n")
        process = start(PEAK, str(raw), str(tmp_path / f"{n}"))
        peaks.append(1024 * int(process.communicate(timeout=280)[0]))
        sizes.append(raw.stat().st_size)
    assert sizes[1] - sizes[0] > 100 << 20
    assert peaks[1] - peaks[0] < 0.2 * (sizes[1] - sizes[0])
