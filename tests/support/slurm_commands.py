"""Stand-ins for Slurm's commands, and a job's tasks run on this machine as Slurm would start them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.command import environment

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands of Slurm that only note what they were told, in a folder with the file ``submitted``."""
    tools = tmp_path / "slurm"
    tools.mkdir()
    executable(tools / "sbatch", f'echo "$@" >> {tools}/submitted; echo "Submitted batch job 42"')
    executable(tools / "scontrol", "echo localhost")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tools


def run_tasks(logs: Path, count: int, *packages: Path) -> None:
    """Run every task of the job that was submitted with these logs; ``packages`` are importable there too."""
    launcher = shutil.which("launch_pickled_pipeline")
    assert launcher
    for task in range(count):
        variables = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_NODELIST": "here", "SLURM_JOB_ID": "42"}
        path = os.pathsep.join(map(str, (ROOT / "src", ROOT, *packages)))
        job = environment(PYTHONPATH=path, **variables)
        done = subprocess.run([launcher, logs / "executor.pik"], env=job, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


def executable(path: Path, script: str) -> None:
    """Write a shell script that can be called by its name."""
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
