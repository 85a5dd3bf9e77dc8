"""docs/data.md, run block by block, in order, in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.support.command import environment

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- not run by the tests: [^>]+ -->\n)?^```(bash|python)\n(.*?)^```", re.M | re.S)


def test_the_guide(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "storyalign"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m storyalign "$@"\n')
    command.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    variables = environment(STORYALIGN_SALT_FILE=str(tmp_path / "salt"))
    ran = 0
    for skipped, language, code in BLOCK.findall((ROOT / "docs/data.md").read_text(encoding="utf-8")):
        if skipped:
            continue
        script = f"PATH={command.parent}:$PATH\n{code}"
        run = (sys.executable, "-c", code) if language == "python" else ("bash", "-euo", "pipefail", "-c", script)
        done = subprocess.run(run, cwd=work, env=variables, capture_output=True, text=True, timeout=250)
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        printed = re.findall(r"^print\(.*\)  # (.+)$", code, re.M)
        assert done.stdout.splitlines()[: len(printed)] == printed or language == "bash"
        ran += 1
    assert ran == 4
    assert (work / "my_pairs" / "README.md").is_file()
