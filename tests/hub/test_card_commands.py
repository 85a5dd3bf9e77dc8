"""Every fenced command of the uploaded cards, run as a reader would: from the Hub, in an empty folder, empty caches."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.hub.test_dataset_release import sample_row
from tests.hub.test_space_release import needs_install
from tests.support.hub_runs import REPOSITORY, RunningHub
from tests.support.rows import pair_row, storyrmb_row
from tests.support.space_serving import free_port, wait_for

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ALONE = "import sys; sys.modules['storyalign'] = None\n"
"""The kit is not installed where a card is read."""


def blocks_of(hub: RunningHub, repo: str, kind: str) -> list[tuple[str, str]]:
    """Return the commands of a card as it stands on the Hub: language and code."""
    card = hub.python(
        "import json, sys; from huggingface_hub import hf_hub_download as get;"
        "print(json.dumps(open(get(sys.argv[1], 'README.md', repo_type=sys.argv[2])).read()))",
        repo,
        kind,
        home="card",
    )
    assert not re.search(r"ORG/NAME|evaluate_metric/|runs/demo|127\.0\.0\.1|path/to/", card)
    return [block for block in BLOCK.findall(card) if block[0] not in ("bibtex", "yaml", "json")]


def release(hub: RunningHub, tmp_path: Path, *arguments: str) -> None:
    done = hub.storyalign("release", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sample", [False, True])
def test_datasets(hub: RunningHub, tmp_path: Path, sample: bool) -> None:
    rows = [(sample_row if sample else storyrmb_row)(i) for i in range(10)]
    write_jsonl(tmp_path / "raw.jsonl", rows)
    write_jsonl(tmp_path / "pairs.jsonl", (pair_row(i) for i in range(10)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "rmb", sample=sample)
    build_story_preferences([tmp_path / "pairs.jsonl"], tmp_path / "pairs")
    for folder, name in (("rmb", "storyrmb-sample" if sample else "storyrmb"), ("pairs", "story_preferences")):
        release(hub, tmp_path, "dataset", folder, "--repo", f"demo/{name}")
        (_, code), *others = blocks_of(hub, f"demo/{name}", "dataset")
        empty = tmp_path / f"empty-{folder}"
        empty.mkdir()
        counted = hub.python(
            f"{ALONE}{code}\nprint(sum(len(split) for split in rows.values()))", cwd=empty, home=folder
        )
        assert counted == 10
        # run in an environment of its own by test_other_environments
        inspect = f"inspect eval hf/demo/{name}/{name} --model MODEL\n"
        assert others == ([("sh", inspect)] if folder == "rmb" else [])


def test_metric(hub: RunningHub, tmp_path: Path) -> None:
    release(
        hub, tmp_path, "metric", str(REPOSITORY / "evaluate_metric/storyrmb_accuracy"), "--repo", "me/storyrmb_accuracy"
    )
    (tmp_path / "empty").mkdir()
    blocks = blocks_of(hub, "me/storyrmb_accuracy", "space")
    assert [language for language, _ in blocks] == ["python", "python"]
    code = "".join(code for _, code in blocks)
    done = hub.run(sys.executable, "-c", ALONE + code, cwd=tmp_path / "empty", home="metric", token=False)
    expected = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    assert (done.stdout.splitlines(), len(expected)) == (expected, 2), done.stderr
    help_text = hub.python(
        "import json, evaluate; print(json.dumps(evaluate.load('me/storyrmb_accuracy').inputs_description))",
        home="metric",
    )
    assert 'evaluate.load("me/storyrmb_accuracy")' in help_text


@needs_install
def test_space(hub: RunningHub, tmp_path: Path) -> None:
    """The app is served as its card says; the client then finds it by its name. pip is left out: see the test there."""
    from tests.support.tiny_models import tiny_model_folder

    release(hub, tmp_path, "space", str(REPOSITORY / "space"), "--repo", "me/which-story")
    (_, start), (_, client) = blocks_of(hub, "me/which-story", "space")
    assert "pip install -r requirements.txt\n" in start
    empty, port, log = tmp_path / "empty", free_port(), tmp_path / "log"
    empty.mkdir()
    with log.open("wb") as output:
        server = subprocess.Popen(
            ["bash", "-euc", "pip() { :; }\n" + start.replace("python app.py", "exec python app.py")],
            cwd=empty,
            env={
                **{name: value for name, value in hub.environment(home="space").items() if name != "PYTHONPATH"},
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "GRADIO_SERVER_PORT": str(port),
                "STORYALIGN_MODEL": str(tiny_model_folder(tmp_path / "model")),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(server, f"http://127.0.0.1:{port}", log)
        hub.python(
            "import sys, huggingface_hub as h;"
            "h.add_space_variable('me/which-story', 'STAND_IN_HOST', sys.argv[1]); print('null')",
            f"http://127.0.0.1:{port}",
        )
        done = hub.run(sys.executable, "-c", ALONE + client, cwd=empty, home="client")
        assert done.returncode == 0, done.stderr[-2000:]
        assert re.fullmatch(r"[01] -?\d+\.\d+", done.stdout.splitlines()[-1])
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
