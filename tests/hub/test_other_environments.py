"""What was released, used where the kit is not installed: an empty environment that pip fills."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.hub.test_posted_results import CARD
from tests.support.hub_runs import REPOSITORY, RunningHub
from tests.support.rows import storyrmb_row
from tests.support.space_serving import free_port
from tests.support.tiny_models import tiny_model_folder

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The interpreter of a fresh virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    return tmp_path / "venv/bin/python"


def install(python: Path, *requirements: str) -> None:
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", *requirements], capture_output=True, text=True, check=False
    )
    if re.search(r"Max retries|Connection|No matching distribution", done.stderr):
        pytest.skip(f"pip cannot install {requirements[0]} here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


INSPECT = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

answers = json.loads(sys.argv[2])
outputs = [ModelOutput.from_content("mockllm/model", f"ANSWER: {letter}") for letter in answers]
for output in outputs:
    output.usage = ModelUsage()  # else the mock counts tokens with a table that it downloads
model = get_model("mockllm/model", custom_outputs=outputs)
log = eval(f"hf/{sys.argv[1]}", model=model, max_samples=1, max_connections=1, display="none")[0]
assert log.status == "success", log.error
print(json.dumps([log.status, log.results.total_samples, log.results.scores[0].metrics["accuracy"].value]))
"""

ANSWERS = """
import json
from datasets import load_dataset
print(json.dumps(["ABCD"[row["answer"]] for row in load_dataset("demo/storyrmb", "multiple_choice", split="fluency")]))
"""


def test_inspect_runs_the_benchmark(hub: RunningHub, tmp_path: Path, empty: Path) -> None:
    """`inspect eval hf/demo/storyrmb/fluency` on eval.yaml as released: right answers, and one wrong, are scored so."""
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(20)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    released = hub.storyalign("release", "dataset", "storyrmb", "--repo", "demo/storyrmb", cwd=tmp_path)
    assert released.returncode == 0, released.stderr
    right = hub.python(ANSWERS)
    assert len(right) == 4
    install(empty, "inspect-ai", "datasets", "huggingface_hub>=1.0")
    for answers, accuracy in ((right, 1.0), ([{"A": "B"}.get(right[0], "A"), *right[1:]], 0.75)):
        command = (str(empty), "-c", INSPECT, "demo/storyrmb/fluency", json.dumps(answers))
        done = hub.run(*command, cwd=tmp_path, home="inspect")
        assert done.returncode == 0, done.stderr[-2000:]
        assert json.loads(done.stdout.splitlines()[-1]) == ["success", 4, accuracy]


RANK = """
import json, sys
from gradio_client import Client
stories = ["the sea was calm", "rain fell again"]
answer = Client(sys.argv[1], verbose=False).predict("A calm sea.", stories, api_name="/rank")
print(json.dumps(str(answer)))
"""


def test_the_space_starts_from_its_files_alone(hub: RunningHub, tmp_path: Path, empty: Path) -> None:
    """As the Hub does it: gradio of ``sdk_version``, then requirements.txt, then ``python app.py``."""
    model = tiny_model_folder(tmp_path / "model")
    (model / "README.md").write_bytes(CARD)
    for command in (
        ("model", "model", "--repo", "demo/storyreward"),
        ("space", str(REPOSITORY / "space"), "--repo", "demo/storyalign", "--model", "demo/storyreward"),
    ):
        done = hub.storyalign("release", *command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    hub.python(
        "from huggingface_hub import snapshot_download as get;"
        "get('demo/storyalign', repo_type='space', local_dir='app'); print('null')",
        cwd=tmp_path,
    )
    card = (tmp_path / "app/README.md").read_text()
    version = re.search(r"sdk_version: (\S+)", card)
    assert version
    install(empty, f"gradio[oauth,mcp]=={version[1]}")
    install(empty, "-r", str(tmp_path / "app/requirements.txt"))
    assert subprocess.run([empty, "-c", "import storyalign"], capture_output=True, cwd=tmp_path, check=False).returncode

    environment = {k: v for k, v in hub.environment(home="space").items() if k != "PYTHONPATH"}
    variables = {
        "STORYALIGN_MODEL": "demo/storyreward",
        "GRADIO_SERVER_PORT": str(free_port()),
        "GRADIO_ANALYTICS_ENABLED": "False",
    }
    log = (tmp_path / "app.log").open("w")
    with subprocess.Popen(
        [empty, "app.py"], cwd=tmp_path / "app", env={**environment, **variables}, stdout=log, stderr=log
    ) as app:
        try:
            address = _address(tmp_path / "app.log", app)
            with urllib.request.urlopen(address) as page:
                assert page.status == 200
            told = hub.run(str(empty), "-c", RANK, address)
            assert told.returncode == 0, told.stderr
            assert told.stdout.count("'place':") == 2
        finally:
            app.kill()


def _address(log: Path, app: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and app.poll() is None:
        if found := re.search(r"http://(?:127\.0\.0\.1|0\.0\.0\.0|localhost):\d+", log.read_text()):
            return found.group().replace("0.0.0.0", "127.0.0.1")
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-3000:])
