"""docs/construct.md, run block by block against a scripted endpoint."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.command import environment
from tests.support.scripted_authors import answer
from tests.support.scripted_llm_server import scripted_server
from tests.test_floors import ROOT

BLOCK = re.compile(r"(<!-- not run by the tests: [^>]+ -->\n)?^```bash\n(.*?)^```", re.M | re.S)


def test_the_guide(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "storyalign"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m storyalign "$@"\n')
    command.chmod(0o755)
    text = (ROOT / "docs/construct.md").read_text(encoding="utf-8")
    blocks = [code for skipped, code in BLOCK.findall(text) if not skipped]
    assert len(blocks) == 1
    with scripted_server(answer) as running:
        for code in blocks:
            script = f"PATH={tools}:$PATH\n{code.replace('http://localhost:8000/v1', running.url)}"
            run = ["bash", "-euo", "pipefail", "-c", script]
            done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=250)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
    assert "all: first" in done.stdout  # the dry run
    assert "candidates.jsonl: 3 rows" in done.stdout
    assert "# Construction report" in done.stdout
    # 3 premises x 4 writers, 3 groups x 4 judges
    assert len(running.requests) == 24
