from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import storyalign
from storyalign.cli.main import app
from tests.support.rows import pair_row, storyrmb_row, write_rows


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["build", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_build_storyrmb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("a.jsonl"), [storyrmb_row(0)])
    write_rows(Path("b.jsonl"), [storyrmb_row(1)])
    output = run("storyrmb", "--raw", "a.jsonl", "--raw", "b.jsonl")
    assert "2 instances, sha256:" in output
    assert "load_dataset('storyrmb')" in output
    assert Path("storyrmb/README.md").exists()


def test_build_story_preferences(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "a.jsonl", [pair_row(n) for n in range(5)])
    output = run("story_preferences", "--raw", str(raw), "--out", str(tmp_path / "made"))
    assert "5 pairs, sha256:" in output
    assert (tmp_path / "made/README.md").exists()


def test_help_has_an_example_each() -> None:
    for dataset in ("storyrmb", "story_preferences"):
        assert f"    storyalign build {dataset} --raw" in run(dataset, "--help")


def test_a_broken_row_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [storyrmb_row(0), storyrmb_row(1, rejected=["one", "two"], rejected_writers=[])])
    done = subprocess.run(
        [sys.executable, "-m", "storyalign.cli.main", "build", "storyrmb", "--raw", "a.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(storyalign.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 2
    assert done.stderr == "error: a.jsonl:2 (id rmb-0001): expected 3 rejected stories, found 2\n"
    assert not (tmp_path / "storyrmb").exists()
