"""The metric folder as evaluate loads it, and as a Space runs it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import evaluate
import numpy as np
import pytest
import yaml
from hypothesis import given, settings

from storyalign.accuracy import top1_report
from tests.test_accuracy import labelled_sets

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "evaluate_metric" / "storyrmb_accuracy"


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(str(FOLDER))


@pytest.fixture(scope="module")
def grouped():
    return evaluate.load(str(FOLDER), "grouped")


def run_python(code, cwd, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_folder_is_one_metric_space():
    assert {path.name for path in FOLDER.iterdir() if path.name != "__pycache__"} == {
        "README.md",
        "accuracy.py",
        "app.py",
        "requirements.txt",
        "storyrmb_accuracy.py",
    }
    link = ROOT / "src" / "storyalign" / "accuracy.py"  # not the other way round: the folder must work as a copy
    assert link.is_symlink() and not link.readlink().is_absolute()
    assert link.resolve() == FOLDER / "accuracy.py"


def test_a_copy_with_links_kept_works_alone(tmp_path):
    subprocess.run(["cp", "-r", str(FOLDER), str(tmp_path / "storyrmb_accuracy")], check=True)
    code = """
        import evaluate
        metric = evaluate.load("./storyrmb_accuracy")
        print(metric.compute(predictions=[[2, 1], [1, 1]], references=[0, 0])["accuracy"])
    """
    run = run_python(code, tmp_path, HF_HOME=str(tmp_path / "home"), PYTHONPATH="")
    assert run.stdout == "0.75\n", run.stderr


def test_card_front_matter_is_what_a_space_needs():
    _, front, body = (FOLDER / "README.md").read_text().split("---\n", 2)
    front = yaml.safe_load(front)
    assert front["sdk"] == "gradio" and front["app_file"] == "app.py" and front["license"] == "apache-2.0"
    assert re.fullmatch(r"\d+\.\d+\.\d+", front["sdk_version"])
    assert f"gradio=={front['sdk_version']}" in (ROOT / "constraints.txt").read_text().splitlines()
    assert {"evaluate", "metric"} <= set(front["tags"])
    assert "gradio" not in (FOLDER / "requirements.txt").read_text()  # sdk_version pins it
    assert "More Information Needed" not in body


@settings(max_examples=60, deadline=None)
@given(labelled_sets())
def test_passing_through_arrow_changes_nothing(labelled):
    groups, references, dimensions, sources = labelled
    grouped = evaluate.load(str(FOLDER), "grouped")
    result = grouped.compute(predictions=groups, references=references, dimensions=dimensions, sources=sources)
    assert result == top1_report(groups, references, dimensions, sources)


def test_rewards_a_billionth_apart_are_no_tie(metric):
    result = metric.compute(predictions=[[1.0, 1.0 + 1e-9], [1.0, 1.0]], references=[1, 0])
    assert (result["accuracy"], result["n_ties"]) == (0.75, 1)


def test_arrays_none_groups_and_empty_input(metric):
    assert metric.compute(predictions=np.float32([[2, 1], [2, 1]]), references=np.array([0, 1]))["accuracy"] == 0.5
    result = metric.compute(predictions=[None, [None, None], [1, float("nan")], [1, 0]], references=[0, 0, 0, 0])
    assert (result["accuracy"], result["n"], result["n_unscored"]) == (1.0, 4, 3)
    assert metric.compute(predictions=[], references=[])["accuracy"] is None


def test_groups_may_be_added_one_by_one(grouped):
    grouped.add(prediction=[1.0, 0.0], reference=0, dimensions=None, sources=1)
    grouped.add_batch(predictions=[[1.0, 0.0, 2.0]], references=[0], dimensions=["fluency"], sources=None)
    result = grouped.compute()
    assert result["accuracy"] == 0.5
    assert result["by_dimension"]["fluency"]["accuracy"] == 0
    assert result["by_source"]["llm_llm"]["accuracy"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predictions": [[1, 2], [1]]}, r"predictions\[1\] has 1 candidate"),
        ({"predictions": [[1, 2], [True, 1]]}, r"predictions\[1\]\[0\] is True"),
        ({"predictions": [[1, 2], ["0.1", 1]]}, r"predictions\[1\]\[0\] is '0.1'"),
        ({"references": [0, 0.7]}, r"references\[1\] is 0.7"),
        ({"references": [0, 2]}, r"references\[1\] is 2 among 2"),
        ({"references": [0]}, "1 references for 2 predictions"),
        ({"references": None}, "both needed"),
        ({"dimensions": ["fluency"]}, r"predictions \(2\) and dimensions \(1\)"),
        ({"dimensions": ["fluency", "style"]}, r"dimensions\[1\] is 'style'"),
        ({"sources": [None, ""]}, r"sources\[1\] is ''"),
        ({"tie_policy": "half"}, "tie_policy is 'half'"),
    ],
)
def test_bad_input_is_refused_and_the_next_call_is_right(grouped, change, message):
    good = {"predictions": [[1, 2], [2, 1]], "references": [1, 1], "dimensions": [0, 3], "sources": [None, None]}
    with pytest.raises(ValueError, match=message):
        grouped.compute(**{**good, **change})
    fresh = evaluate.load(str(FOLDER), "grouped")
    assert fresh.compute(**good)["accuracy"] == 0.5


def test_unknown_configuration_is_refused():
    with pytest.raises(ValueError, match="'by_group'; expected one of default, grouped"):
        evaluate.load(str(FOLDER), "by_group")


def test_code_of_the_card_runs_with_evaluate_alone_and_no_network(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), flags=re.DOTALL)
    expected = re.findall(r"^print\(.*\)  # (.*)$", "".join(blocks), flags=re.MULTILINE)
    alone = """
        import socket, sys
        sys.modules["storyalign"] = None
        def refuse(*args): raise AssertionError("network")
        socket.socket.connect = socket.getaddrinfo = refuse
    """
    code = "\n".join([textwrap.dedent(alone), *blocks])
    run = run_python(code, ROOT, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="0", PYTHONPATH="")
    assert run.stdout.splitlines() == expected and len(expected) == 2, run.stderr


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """Run a copy of the folder as a Space does: under another name, links followed."""
    folder = tmp_path_factory.mktemp("space") / "app"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **os.environ,
        "HF_HOME": str(folder.parent / "home"),
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_ANALYTICS_ENABLED": "False",
        "PYTHONPATH": "",
    }
    log = folder.parent / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-W", "error::DeprecationWarning:__main__", "app.py"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
        )
        try:
            while process.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            assert process.poll() is None, log.read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=30)


def test_space_computes_and_names_what_is_wrong(space):
    from gradio_client import Client
    from gradio_client.exceptions import AppError

    client = Client(space, verbose=False)
    lines = '{"rewards": [2, 1], "chosen": 0, "dimension": "fluency"}\n\n{"rewards": [1, 1], "chosen": 0}\n'
    table, figures = client.predict(lines, "split", api_name="/score")
    assert figures["accuracy"] == 0.75 and figures["n_ties"] == 1
    assert table["data"][0][:2] == ["all", "75.0"]
    assert ["fluency", "100.0"] in [row[:2] for row in table["data"]]
    assert client.predict(lines, "strict", api_name="/score")[1]["accuracy"] == 0.5
    for bad, message in (
        ("{", "line 1 is no JSON"),
        ("\n[1, 2]", "line 2 needs an object"),
        ('{"rewards": [1], "chosen": 0}', r"predictions\[0\] has 1 candidate"),
        (" " * 1_000_001, "the limit is 1,000,000"),
    ):
        with pytest.raises(AppError, match=message):
            client.predict(bad, "split", api_name="/score")
