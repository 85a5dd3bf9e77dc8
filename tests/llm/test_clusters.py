import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from storyalign.errors import RecipeError
from storyalign.llm.clusters import Cluster
from storyalign.llm.step_runs import run_step
from tests.command import environment
from tests.llm.test_step_runs import STEP, endpoint, loud, rows, source
from tests.scripted_llm_server import scripted_server

ROOT = Path(__file__).parents[2]


def executable(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Commands of Slurm that only note what they were told."""
    tools = tmp_path / "slurm"
    tools.mkdir()
    executable(tools / "sbatch", f'echo "$@" >> {tools}/submitted; echo "Submitted batch job 42"')
    executable(tools / "scontrol", "echo localhost")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    return tools


def test_the_job_script_asks_for_what_the_recipe_says_and_the_job_does_its_share(tmp_path, slurm):
    asked = {"tasks": 2, "server": "endpoint", "partition": "short", "gpus_per_task": 3}
    cluster = Cluster.from_recipe("slurm", {**asked, "env_command": "source env/bin/activate"})
    words, out = source(tmp_path, 5), tmp_path / "out"
    with scripted_server(loud) as running:
        counts = run_step(STEP, words, endpoint(running), out, executor=cluster)
        assert (counts.rows, counts.waiting, counts.asked) == (0, 5, 0)
        assert not running.requests

        script = (out / "logs/launch_script.slurm").read_text()
        for line in ("--partition=short", "--gpus=3", "--array=0-1", "--time=24:00:00", "--cpus-per-task=8"):
            assert f"#SBATCH {line}\n" in script
        assert "source env/bin/activate" in script
        assert f"launch_pickled_pipeline {(out / 'logs/executor.pik').resolve()}" in script
        assert (slurm / "submitted").read_text().startswith("--export=ALL,RUN_OFFSET=0")

        launcher = shutil.which("launch_pickled_pipeline")
        assert launcher
        for task in ("0", "1"):
            variables = {"SLURM_ARRAY_TASK_ID": task, "SLURM_NODELIST": "here", "SLURM_JOB_ID": "42"}
            job = environment(PYTHONPATH=f"{ROOT}/src{os.pathsep}{ROOT}", **variables)
            done = subprocess.run([launcher, out / "logs/executor.pik"], env=job, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-2000:]
        assert len(running.requests) == 5
        shares = [{row["id"] for row in rows(out / f"replies/0000{task}.jsonl")} for task in (0, 1)]
        assert shares == [{"w0", "w2", "w4"}, {"w1", "w3"}]

        counts = run_step(STEP, words, endpoint(running), out, executor=cluster)
        assert (counts.rows, counts.waiting) == (5, 0)
        assert len(running.requests) == 5
    assert [row["loud"] for row in rows(out / "rows.jsonl")] == [f"WORD {n}" for n in range(5)]


def test_without_slurm_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with scripted_server(loud) as running, pytest.raises(RecipeError, match="sbatch: not found"):
        run_step(STEP, source(tmp_path, 2), endpoint(running), tmp_path / "out", executor=Cluster("slurm"))


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_the_message_says_so(tmp_path):
    with scripted_server(loud) as running, pytest.raises(RecipeError, match="ray is not installed"):
        run_step(STEP, source(tmp_path, 2), endpoint(running), tmp_path / "out", executor=Cluster("ray"))


def test_unknown_settings_are_refused():
    with pytest.raises(RecipeError, match="unknown field gpu"):
        Cluster.from_recipe("slurm", {"gpu": 1})
    with pytest.raises(RecipeError, match="--executor pbs: unknown"):
        Cluster.from_recipe("pbs", {})
