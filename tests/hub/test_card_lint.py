"""What a card lint refuses, card by card."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.errors import DataError
from storyalign.hub.cards.card_lint import lint_card, require_clean_card
from storyalign.hub.payload import Payload

MODEL = """---
library_name: transformers
pipeline_tag: text-classification
base_model: org/base
license: apache-2.0
---

# A model

It gets 0.75 of 40 right.
"""
SPACE = """---
title: Rank
emoji: 📖
colorFrom: green
colorTo: gray
sdk: gradio
sdk_version: 6.31.0
python_version: '3.12'
app_file: app.py
license: apache-2.0
short_description: Which story would readers prefer?
---

Text with 4711 in it: a Space's text is no table of results.
"""
DATASET = """---
pretty_name: Rows
language: [en]
license: mit
task_categories: [text-ranking]
size_categories: [n<1K]
configs:
- config_name: default
  data_files: [{split: test, path: data/*.parquet}]
dataset_info:
- config_name: default
---

Rows.
"""


def lint(kind: str, card: str) -> list[str]:
    files = {"README.md": card.encode(), "app.py": b"", "kit.whl": b"", "data/test.parquet": b""}
    return lint_card(Payload(kind, Path("folder"), files))  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "card"), [("model", MODEL), ("space", SPACE), ("dataset", DATASET)])
def test_clean(kind: str, card: str) -> None:
    assert lint(kind, card) == []


@pytest.mark.parametrize(
    ("kind", "old", "new", "problem"),
    [
        ("model", "license: apache-2.0\n", "", "no license"),
        ("model", "base_model: org/base\n", "", "no base_model"),
        ("model", "# A model", "# A model\n\n[More Information Needed]", "a placeholder: [More Information Needed]"),
        ("model", "# A model", "# A model\n\nTODO: write", "a placeholder: TODO"),
        ("model", "# A model", "# {{ model_name }}", "a placeholder: {{ model_name }}"),
        ("model", "# A model", "# A model by <org>", "a placeholder: <org>"),
        ("model", "---\nlib", "lib", "no front matter"),
        ("model", "license: apache-2.0", "license: [a", "front matter is no YAML"),
        ("space", "6.31.0", "6.31", "sdk_version 6.31 is no full version"),
        ("space", "app_file: app.py", "app_file: main.py", "app_file main.py is not there"),
        ("space", "colorTo: gray", "colorTo: beige", "colorTo beige is none of"),
        ("space", "python_version: '3.12'\n", "", "python_version None is older than 3.11, or missing"),
        ("space", "emoji: 📖\n", "", "no emoji"),
        (
            "space",
            "readers prefer?",
            "readers prefer, if they had the time to read them all?",
            "more than 60 characters",
        ),
        ("dataset", "path: data/", "path: rows/", "no file fits rows/*.parquet"),
        ("dataset", "- config_name: default\n---", "- config_name: other\n---", "name different configurations"),
        ("dataset", "language: [en]\n", "", "no language"),
    ],
)
def test_one_thing_wrong(kind: str, old: str, new: str, problem: str) -> None:
    card = {"model": MODEL, "space": SPACE, "dataset": DATASET}[kind]
    assert old in card
    problems = lint(kind, card.replace(old, new, 1))
    assert len(problems) == 1
    assert problem in problems[0]


INDEX = """model-index:
- name: m
  results:
  - task: {type: text-ranking}
    dataset: {type: org/storyrmb, name: StoryRMB}
    metrics: [{type: accuracy, value: 0.9137}]
---
"""


def test_results_that_the_hub_shows_are_backed_too() -> None:
    """The front matter and posted entries are claims like any other; they do not back each other."""
    card = MODEL.replace("---\n\n#", INDEX + "\n#")
    posted = b"- dataset: {id: org/storyrmb, task_id: storyrmb}\n  value: 0.9137\n- value: best\n"
    files = {"README.md": card.encode(), ".eval_results/storyrmb.yaml": posted}
    payload = Payload("model", Path("folder"), files)
    assert lint_card(payload) == [
        "results.json has no accuracy 0.9137, the result in model-index",
        ".eval_results/storyrmb.yaml has a result that must be a number",
        "results.json has no accuracy 0.9137, the result in .eval_results/storyrmb.yaml",
    ]
    for accuracy, problems in ((0.9137, 0), (0.91374, 1)):  # to the last digit
        scorer = {"kind": "model", "accuracy": accuracy, "n": 10, "by_dimension": {}, "by_source": {}}
        results = json.dumps({"scorers": [scorer]}).encode()
        backed = payload.with_files({"results.json": results, ".eval_results/storyrmb.yaml": b"[]"})
        assert len(lint_card(backed)) == problems


def test_counts_of_rows_are_those_of_the_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["calm", "sea"]}), tmp_path / "test.parquet")
    card = DATASET.replace(
        "- config_name: default\n---", "- config_name: default\n  splits: [{name: test, num_examples: 3}]\n---"
    )
    files = {"README.md": card.encode(), "data/test.parquet": tmp_path / "test.parquet"}
    assert lint_card(Payload("dataset", tmp_path, files)) == [
        "dataset_info says 3 rows of default/test, the files have 2"
    ]
    files["README.md"] = card.replace("num_examples: 3", "num_examples: 2").encode()
    assert lint_card(Payload("dataset", tmp_path, files)) == []


def test_the_error_is_one_line() -> None:
    card = MODEL.replace("license: apache-2.0\n", "").replace("# A model", "TODO")
    with pytest.raises(DataError, match=r"README\.md: a placeholder: TODO; no license in the front matter"):
        require_clean_card(Payload("model", Path("folder"), {"README.md": card.encode()}))
