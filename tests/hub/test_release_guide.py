"""docs/release.md, run block by block against the stand-in."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.hub.test_dataset_release import sample_row
from tests.hub.test_space_release import needs_install
from tests.support.hub_runs import REPOSITORY, RunningHub
from tests.support.rows import pair_row, storyrmb_row

BLOCK = re.compile(r"(<!-- not run by the tests: [^>]+ -->\n)?^```(bash|python)\n(.*?)^```", re.M | re.S)


@pytest.mark.full
@needs_install
@pytest.mark.timeout(900)
def test_the_guide(hub: RunningHub, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "sample.jsonl", (sample_row(i) for i in range(10)))
    build_storyrmb([tmp_path / "sample.jsonl"], tmp_path / "storyrmb", sample=True)
    restricted = [storyrmb_row(i, license="all-rights-reserved" if i < 4 else "mit") for i in range(10)]
    write_jsonl(tmp_path / "restricted.jsonl", restricted)
    build_storyrmb([tmp_path / "restricted.jsonl"], tmp_path / "restricted")
    write_jsonl(tmp_path / "pairs.jsonl", (pair_row(i) for i in range(10)))
    build_story_preferences([tmp_path / "pairs.jsonl"], tmp_path / "story_preferences")
    for name in ("space", "evaluate_metric"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    command_line = tmp_path / "bin" / "storyalign"
    command_line.parent.mkdir()
    command_line.write_text(f'#!/bin/sh\nexec {sys.executable} -m storyalign.cli.main "$@"\n')
    command_line.chmod(0o755)

    text = (REPOSITORY / "docs/release.md").read_text(encoding="utf-8")
    printed = []
    for skipped, language, code in BLOCK.findall(text):
        if skipped:
            continue
        script = f"PATH={command_line.parent}:$PATH\n{code}"
        run = (sys.executable, "-c", code) if language == "python" else ("bash", "-euo", "pipefail", "-c", script)
        done = hub.run(*run, cwd=tmp_path)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr[-2000:]}"
        printed.append(done.stdout)
    assert "True 0\n" in printed  # source 0 is human_llm
    assert "1.0\n" in printed
    assert len(printed) == 7
