import socket
from dataclasses import replace
from importlib.util import find_spec

import pytest

from storyalign.errors import RecipeError
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.step_runs import run_step
from tests.llm.test_step_runs import STEP, endpoint, loud, rows, source
from tests.scripted_llm_server import scripted_server
from tests.slurm_commands import run_tasks, slurm

__all__ = ["slurm"]


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

        run_tasks(out / "logs", 2)
        assert len(running.requests) == 5
        shares = [{row["id"] for row in rows(out / f"replies/0000{task}.jsonl")} for task in (0, 1)]
        assert shares == [{"w0", "w2", "w4"}, {"w1", "w3"}]

        counts = run_step(STEP, words, endpoint(running), out, executor=cluster)
        assert (counts.rows, counts.waiting) == (5, 0)
        assert len(running.requests) == 5
    assert [row["loud"] for row in rows(out / "rows.jsonl")] == [f"WORD {n}" for n in range(5)]


def test_an_endpoint_elsewhere_is_called_from_here(tmp_path, slurm, monkeypatch):
    cluster = Cluster("slurm")  # vLLM
    assert cluster.takes(Endpoint("http://localhost:8001/v1", "meta-llama/Llama-3.1-8B-Instruct"))
    assert not cluster.takes(Endpoint("https://api.openai.com/v1", "gpt-4o"))
    assert Cluster("slurm", server="endpoint").takes(Endpoint("https://api.openai.com/v1", "gpt-4o"))

    here = {"elsewhere.test": "127.0.0.1", b"elsewhere.test": b"127.0.0.1"}
    find = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *more, **k: find(here.get(host, host), *more, **k))
    with scripted_server(loud) as running:
        elsewhere = replace(endpoint(running), url=running.url.replace("127.0.0.1", "elsewhere.test"))
        counts = run_step(STEP, source(tmp_path, 2), elsewhere, tmp_path / "out", executor=cluster)
    assert (counts.rows, counts.asked, counts.waiting) == (2, 2, 0)
    assert not (slurm / "submitted").exists()


def test_without_slurm_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with scripted_server(loud) as running, pytest.raises(RecipeError, match="sbatch: not found"):
        run_step(STEP, source(tmp_path, 2), endpoint(running), tmp_path / "out", executor=Cluster("slurm"))


@pytest.mark.skipif(find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_the_message_says_so(tmp_path):
    with scripted_server(loud) as running, pytest.raises(RecipeError, match="ray is not installed"):
        run_step(STEP, source(tmp_path, 2), endpoint(running), tmp_path / "out", executor=Cluster("ray"))


def test_unknown_settings_are_refused():
    with pytest.raises(RecipeError, match=r"cluster\.gpu is unknown"):
        Cluster.from_recipe("slurm", {"gpu": 1})
    with pytest.raises(RecipeError, match="--executor pbs: unknown"):
        Cluster.from_recipe("pbs", {})
