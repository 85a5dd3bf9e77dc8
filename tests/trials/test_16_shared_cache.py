"""Trial 16: many processes with one Hugging Face home agree; an unwritable home is an error at once, not a wait."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "evaluate_metric" / "storyrmb_accuracy"

EIGHT = """
    import multiprocessing, sys
    import evaluate

    def work(number, barrier, results):
        barrier.wait()
        for turn in range(5):
            metric = evaluate.load(sys.argv[1], "grouped")
            # number + 1 of 8 groups are right
            predictions = [[1.0, 0.0]] * (number + 1) + [[0.0, 1.0]] * (7 - number)
            found = metric.compute(predictions=predictions, references=[0] * 8, dimensions=[0] * 8, sources=None)
            assert found["accuracy"] == found["macro_accuracy"] == (number + 1) / 8, (number, found)
        results.put(number)

    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    processes = [context.Process(target=work, args=(i, barrier, results)) for i in range(8)]
    for process in processes: process.start()
    for process in processes: process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert sorted(results.get(timeout=5) for _ in range(8)) == list(range(8))
"""

UNWRITABLE = """
    import os, sys
    import evaluate

    if os.geteuid() == 0:  # root may write anywhere
        os.setgid(65534)
        os.setuid(65534)
    try:
        evaluate.load(sys.argv[1])
    except OSError as error:
        print("refused:", error)
"""


def run(code, home, folder=FOLDER):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(folder)],
        env={**os.environ, "HF_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_eight_processes_share_one_home(tmp_path):
    done = run(EIGHT, tmp_path / "home")
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture
def public_folder():
    """Give a folder that an unprivileged user may read, with the metric in it."""
    folder = Path(tempfile.mkdtemp(prefix="storyalign-"))
    folder.chmod(0o755)
    shutil.copytree(FOLDER, folder / FOLDER.name, ignore=shutil.ignore_patterns("__pycache__"))
    yield folder
    shutil.rmtree(folder)


def test_home_without_write_permission(public_folder):
    home = public_folder / "home"
    home.mkdir()
    home.chmod(0o555)
    done = run(UNWRITABLE, home, public_folder / FOLDER.name)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("refused:") and "home" in done.stdout


@pytest.mark.full
def test_home_that_is_a_file(public_folder):
    home = public_folder / "home"
    home.touch()
    done = run(UNWRITABLE, home, public_folder / FOLDER.name)
    assert done.stdout.startswith("refused:"), done.stderr[-3000:]
