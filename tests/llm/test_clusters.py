import json
import socket
import sys
from dataclasses import replace
from importlib.util import find_spec

import pytest

from storyalign.errors import RecipeError
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.step_runs import run_step
from tests.llm.test_step_runs import STEP, endpoint, loud, rows, source
from tests.support.scripted_llm_server import scripted_server
from tests.support.slurm_commands import executable, run_tasks, slurm

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


VLLM = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))

class Answers(BaseHTTPRequestHandler):
    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer({"data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = body["model"] + ": " + body["messages"][-1]["content"]
        reply = reply.upper()
        message = {"role": "assistant", "content": reply}
        usage = {"prompt_tokens": 5, "completion_tokens": 5}
        self.answer({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answers).serve_forever()
"""


def test_a_job_starts_vllm_asks_it_and_lets_no_code_of_the_model_run(tmp_path, slurm, monkeypatch):
    """A stand-in takes the place of vLLM: a package to be found and a command that serves the model it is given."""
    monkeypatch.setenv("VLLM_COMPILE_LOCK_DIR", str(tmp_path / "locks"))
    (tmp_path / "packages/vllm").mkdir(parents=True)
    (tmp_path / "packages/vllm/__init__.py").write_text("")
    (tmp_path / "packages/vllm-1.0.dist-info").mkdir()
    (tmp_path / "packages/vllm-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 1.0\n")
    (tmp_path / "vllm.py").write_text(VLLM)
    executable(slurm / "vllm", f'exec {sys.executable} {tmp_path}/vllm.py {tmp_path}/arguments.json "$@"')
    local = Endpoint("http://localhost:1/v1", "org/model", max_concurrency=2)  # nothing listens there
    cluster, words, out = Cluster("slurm", max_context=2048), source(tmp_path, 3), tmp_path / "out"
    run_step(STEP, words, local, out, executor=cluster)
    run_tasks(out / "logs", 1, tmp_path / "packages")
    counts = run_step(STEP, words, local, out, executor=cluster)
    assert (counts.rows, counts.waiting) == (3, 0)
    assert all(row["loud"].startswith("ORG/MODEL: ") for row in rows(out / "rows.jsonl"))
    given = json.loads((tmp_path / "arguments.json").read_text())
    assert given[:2] == ["serve", "org/model"]
    assert given[given.index("--max-model-len") + 1] == "2048"
    trust = [argument for argument in given if argument.endswith("trust-remote-code")]
    assert trust[-1:] == ["--no-trust-remote-code"], "the last one counts"


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
