"""Bad days of a disk: damaged Parquet, weights cut short, a full disk, ten thousand columns."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import environment, storyalign
from tests.support.rows import storyrmb_row, write_rows
from tests.support.tiny_models import tiny_model_folder


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


def flipped(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:200] + bytes(byte ^ 255 for byte in data[200:400]) + data[400:])


@pytest.fixture
def built(tmp_path: Path) -> Path:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n) for n in range(20)])
    assert storyalign("build", "storyrmb", "--raw", raw, "--out", tmp_path / "storyrmb").returncode == 0
    return tmp_path / "storyrmb"


@pytest.mark.parametrize("damage", [cut_short, flipped])
def test_a_damaged_dataset_is_named_and_rewards_stay_as_they_are(built: Path, damage: Callable[[Path], None]) -> None:
    model, rewards = tiny_model_folder(built.parent / "model"), built.parent / "rewards.jsonl"
    assert storyalign("score", model, built, "--out", rewards).returncode == 0
    before = rewards.read_bytes()
    for path in built.rglob("*.parquet"):
        damage(path)
    for verb in (["score", model, built, "--out", rewards], ["evaluate", rewards, built], ["stats", built]):
        ended = storyalign(*verb)
        last = ended.stderr.strip().splitlines()[-1]
        assert ended.returncode == 2, ended.stderr
        assert last.startswith("error: storyrmb") and "cannot be read after row 0" in last
        assert last.endswith("a file is damaged: build or download it again")
        assert "Traceback" not in ended.stderr
    assert rewards.read_bytes() == before


def test_weights_cut_short_are_refused(built: Path) -> None:
    model = tiny_model_folder(built.parent / "model")
    (weights,) = model.glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:20_000])
    ended = storyalign("score", model, built, "--out", built.parent / "rewards.jsonl")
    assert ended.returncode == 2
    assert ended.stderr.strip().splitlines()[-1].startswith(f"error: {model}: cannot be loaded")
    assert not (built.parent / "rewards.jsonl").exists()


def limited(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that may write no file longer than 4 KiB: to the program the same as a disk that is full."""
    command = [sys.executable, "-m", "storyalign", *map(str, arguments)]
    return subprocess.run(
        command,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        timeout=280,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
    )


def test_a_disk_that_fills_up_leaves_no_half_file(built: Path) -> None:
    folder = built.parent / "out"
    folder.mkdir()
    raw, rewards = built.parent / "raw.jsonl", folder / "rewards.jsonl"
    score = ("score", tiny_model_folder(built.parent / "model"), built, "--out", rewards)
    failed(limited(*score), rewards)
    assert storyalign(*score).returncode == 0  # what was written before counts, the rest follows
    page, again = folder / "page.html", folder / "again"
    failed(limited("evaluate", rewards, built, "--html", page), page)
    failed(limited("build", "storyrmb", "--raw", raw, "--out", again), again)


def failed(ended: subprocess.CompletedProcess[str], out: Path) -> None:
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"error: {out}") and "cannot be written (" in last and "File too large" in last
    assert not out.exists()


def test_ten_thousand_columns_more_change_nothing(built: Path) -> None:
    wide = write_rows(
        built.parent / "wide.jsonl", [{**storyrmb_row(n), **{f"c{i}": i for i in range(10_000)}} for n in range(20)]
    )
    folder = built.parent / "wide"
    assert storyalign("build", "storyrmb", "--raw", wide, "--out", folder).returncode == 0
    files = [path.relative_to(built) for path in sorted(built.rglob("*.parquet"))]
    assert files
    for path in files:
        assert (built / path).read_bytes() == (folder / path).read_bytes()
