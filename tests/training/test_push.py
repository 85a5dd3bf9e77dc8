"""``train.py --push``: the finished model goes through the release code to a stand-in for the Hub."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hub.conftest import hub  # noqa: F401
from tests.support.hub_runs import RunningHub
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import ROOT, write_pairs

FILES = """
import json
from huggingface_hub import HfApi
info = HfApi().model_info("demo/storyreward")
print(json.dumps([info.private, sorted(file.rfilename for file in info.siblings)]))
"""


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    base, pairs = tiny_model_folder(tmp_path / "base", "llama"), write_pairs(tmp_path / "pairs.jsonl", 8)
    (base / "README.md").write_text("---\nlicense: mit\nbase_model: someone/tiny\n---\n\n# Tiny\n")
    given = {"model_name_or_path": base, "dataset_name": pairs, "output_dir": tmp_path / "run/model", "max_steps": 2}
    return [part for name, value in given.items() for part in (f"--{name}", str(value))]


def train(hub: RunningHub, *options: str, token: bool = True) -> subprocess.CompletedProcess[str]:  # noqa: F811
    return hub.run(sys.executable, "train.py", *options, "--disable_tqdm", "true", cwd=ROOT, token=token)


def test_the_finished_model_is_released(hub: RunningHub, options: list[str], tmp_path: Path) -> None:  # noqa: F811
    done = train(hub, *options, "--push", "demo/storyreward", "--hub_private_repo", "true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("released: demo/storyreward at ")
    private, files = hub.python(FILES)
    assert private
    assert {"README.md", "config.json", "model.safetensors", "training.json", "recipe.yaml"} <= set(files)
    front = (tmp_path / "run/model/README.md").read_text().split("---")[1]
    assert {"base_model: someone/tiny", "license: mit"} <= set(front.splitlines())
    assert "demo/storyreward" not in (tmp_path / "run/model/recipe.yaml").read_text()
    again = train(hub, *options, "--push", "demo/storyreward")
    assert again.returncode == 0, again.stderr
    assert "nothing to do" in again.stdout
    assert again.stdout.splitlines()[-1].startswith("unchanged: demo/storyreward at ")


def test_what_is_missing_is_said_before_the_training(
    hub: RunningHub,  # noqa: F811
    options: list[str],
    tmp_path: Path,
) -> None:
    done = train(hub, *options, "--push", "demo/storyreward", token=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: demo/storyreward: no token; log in with `hf auth login`")
    done = train(hub, *options, "--push", "storyreward")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2, "error: push is 'storyreward'; write ORG/NAME, your user name or organisation first"
    )  # fmt: skip
    (tmp_path / "base/README.md").write_text("---\nlicense: [\n---\n")  # no YAML
    done = train(hub, *options, "--push", "demo/storyreward")
    assert done.returncode == 2
    assert "write base_model and license into the front matter of its README.md" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "run").exists()
