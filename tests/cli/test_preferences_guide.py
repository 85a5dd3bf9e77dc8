"""docs/preferences.md, run block by block against the scripted writer."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.files import read_jsonl, write_jsonl
from tests.audit.test_leakage import instance
from tests.support.command import environment
from tests.support.constructions import clever
from tests.support.scripted_llm_server import scripted_server
from tests.support.story_shelf import write_export
from tests.test_floors import ROOT

BLOCK = re.compile(r"(<!-- not run by the tests: [^>]+ -->\n)?^```bash\n(.*?)^```", re.M | re.S)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_guide(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "storyalign"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m storyalign "$@"\n')
    command.chmod(0o755)
    write_export(tmp_path / "export.csv", 60)
    write_jsonl(tmp_path / "stories_of_the_benchmark.jsonl", [instance(0).to_row()])
    page = (ROOT / "docs/preferences.md").read_text(encoding="utf-8")
    blocks = [code for not_run, code in BLOCK.findall(page) if not not_run]
    printed = []
    with scripted_server(clever) as running:
        for code in blocks:
            script = f"PATH={command.parent}:$PATH\n{code.replace('http://localhost:8000/v1', running.url)}"
            run = ["bash", "-euo", "pipefail", "-c", script]
            done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=280)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
            printed.append(done.stdout)
            key = [line.row for line in read_jsonl(tmp_path / "run/check/key.jsonl")]
            verdicts = [
                {
                    "id": row["id"],
                    "texts": row["texts"],
                    "annotator": "a",
                    "verdict": "reordered",
                    "ranking": [row["chosen"], 1 - row["chosen"]],
                }
                for row in key
            ]
            write_jsonl(tmp_path / "verdicts.jsonl", verdicts)
    assert "llm_pairs_judge: large" in printed[0]
    assert "pairs leak" in printed[1]
    assert "rewriting: people agree with 100.0% of the pairs" in printed[2]
    assert (tmp_path / "story_preferences/README.md").is_file()
