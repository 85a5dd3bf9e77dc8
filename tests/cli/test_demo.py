from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.support.rows import storyrmb_row, write_rows


def test_a_dataset_that_is_not_the_sample_is_never_replaced(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n) for n in range(3)])
    build_storyrmb([raw], tmp_path / "storyrmb")
    before = {p: p.read_bytes() for p in (tmp_path / "storyrmb").rglob("*") if p.is_file()}
    done = subprocess.run(
        [sys.executable, "-m", "storyalign", "demo", "--quick"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("error: ./storyrmb holds a dataset that is not the sample")
    assert before == {p: p.read_bytes() for p in (tmp_path / "storyrmb").rglob("*") if p.is_file()}
    assert not (tmp_path / "story_preferences").exists()
