"""The verb without its page: files in and out, errors, and the guide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.annotation.store import Store
from storyalign.files import read_jsonl
from tests.support.annotated_groups import ranked, task, write_tasks
from tests.support.command import environment, storyalign

GUIDE = Path(__file__).parents[2] / "docs" / "annotate.md"
BLOCK = re.compile(r"(<!-- not run by the tests: [^>]+ -->\n)?^```bash\n(.*?)^```", re.M | re.S)


def test_the_guide(tmp_path: Path) -> None:
    command = tmp_path / "bin" / "storyalign"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m storyalign "$@"\n')
    command.chmod(0o755)
    code = "".join(code for skipped, code in BLOCK.findall(GUIDE.read_text(encoding="utf-8")) if not skipped)
    variables = environment(PATH=f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    run = ["bash", "-euo", "pipefail", "-c", code]
    done = subprocess.run(run, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert "2 groups added" in done.stdout
    assert "0 verdicts stored, 0 were there already, 2 rows blank" in done.stdout
    assert "2 groups: 0 settled, 0 disputed, 2 open" in done.stdout


def test_settled_rows_carry_keys_and_names_only_when_asked(tmp_path: Path) -> None:
    tasks, path = write_tasks(tmp_path / "t.jsonl", 2), tmp_path / "s.sqlite"
    assert storyalign("annotate", tasks, "--store", path, "--no-serve").returncode == 0
    store = Store(path)
    keys = [store.sign_in(name).key for name in ("Ann", "Ben")]
    for key in keys:
        store.give(ranked(task(0), key, 3, 1, 0, 2))
    done = storyalign("annotate", "export", "--store", path, "--settled", "--out", tmp_path / "out.jsonl")
    assert "1 of 2 groups are settled" in done.stdout
    (line,) = read_jsonl(tmp_path / "out.jsonl")
    assert (line.row["id"], line.row["ranking"], line.row["annotators"]) == ("g0", [3, 1, 0, 2], keys)
    assert "Ann" not in (tmp_path / "out.jsonl").read_text()
    assert "Ann" not in storyalign("annotate", "status", "--store", path).stdout
    storyalign("annotate", "export", "--store", path, "--with-names", "--out", tmp_path / "named.jsonl")
    assert [line.row["name"] for line in read_jsonl(tmp_path / "named.jsonl")] == ["Ann", "Ben"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("t.jsonl", "--mode", "guess"), "--mode guess: unknown; choose rank, confirm, human-best, best-of-n"),
        (("t.jsonl", "--mode", "confirm"), "t.jsonl:1 (id g0): mode confirm needs a ranking to confirm"),
        (("none.jsonl",), "none.jsonl: cannot be read"),
        (("empty.jsonl",), "empty.jsonl: no groups in it"),
        (("status",), "no such store"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    write_tasks(tmp_path / "t.jsonl", 1)
    (tmp_path / "empty.jsonl").write_text("")
    named = [str(tmp_path / option) if option.endswith(".jsonl") else option for option in options]
    done = storyalign("annotate", *named, "--store", tmp_path / "s.sqlite")
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.strip().splitlines()) == 1
