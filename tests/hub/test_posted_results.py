"""A model's results on their way to the Hub: only its own, only on the rows that were measured."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.errors import DataError
from storyalign.evaluation.results import evaluate_scorers
from storyalign.evaluation.scored_sets import ScoredSet, null_scored_sets
from storyalign.files import write_json, write_jsonl
from storyalign.hub.build.dataset_folder import build_storyrmb
from storyalign.hub.cards.posted_results import POSTED_FILE, with_results
from storyalign.hub.payload import Payload, collect
from tests.support.rows import storyrmb_row

CARD = b"""---
library_name: transformers
pipeline_tag: text-classification
base_model: org/base
license: apache-2.0
---

# My reward model

Text.
"""
BENCHMARK = ("demo/storyrmb", "a" * 40)
MODEL = Payload("model", Path("model"), {"README.md": CARD})


@pytest.fixture
def rows(tmp_path: Path) -> Payload:
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(20)))
    return collect(build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb").path, "dataset")


@pytest.fixture
def results(tmp_path: Path, rows: Payload) -> Path:
    """A model that is right on fluency, half right (a tie of two) on coherence, and wrong on all else."""
    measured = load_evaluation_set(rows.folder)
    rewards = {"fluency": [2.0, 1, 0, 0], "coherence": [1.0, 1, 0, 0]}
    scored = {i.id: list(rewards.get(str(i.dimension), [0.0, 1, 2, 3])) for i in measured.instances}
    table = evaluate_scorers(measured, [ScoredSet("mine", "model", scored), *null_scored_sets(measured.instances)])
    write_json(tmp_path / "results.json", table.to_json())
    return tmp_path / "results.json"


def test_posted_under_the_tasks_of_the_benchmark(results: Path, rows: Payload) -> None:
    payload = with_results(MODEL, results, BENCHMARK, rows)
    entries = parse_eval_result_entries(yaml.safe_load(payload.read(POSTED_FILE)))
    assert {(e.dataset_id, e.dataset_revision) for e in entries} == {BENCHMARK}
    # 20 rows, 4 of each dimension: 4 right and 4 halves. Fluency (number 3 of 5) has even and odd numbers alike.
    assert {e.task_id: e.value for e in entries} == {
        "storyrmb": pytest.approx(6 / 20),
        "coherence": 0.5,
        "creativity": 0.0,
        "characterization": 0.0,
        "fluency": 1.0,
        "relevance": 0.0,
        "human_llm": pytest.approx((2 + 1) / 10),
        "llm_llm": pytest.approx((2 + 1) / 10),
    }
    data = ModelCard(payload.text("README.md")).data
    assert data.model_name == "My reward model"
    figures = {r.metric_name: r.metric_value for r in data.eval_results}
    assert figures["top-1 accuracy"] == pytest.approx(0.3)
    assert figures["top-1 accuracy (fluency)"] == 1.0
    assert len(figures) == 8
    assert with_results(payload, results, BENCHMARK, rows).digest == payload.digest


def test_the_sample_is_never_posted_as_the_benchmark(results: Path, rows: Payload) -> None:
    payload = with_results(MODEL, results, ("demo/storyrmb-sample", BENCHMARK[1]), rows)
    posted = yaml.safe_load(payload.read(POSTED_FILE))
    assert posted[0]["dataset"]["task_id"] == "storyrmb-sample"
    index = yaml.safe_load(payload.text("README.md").split("---")[1])["model-index"]
    assert {result["dataset"]["name"] for result in index[0]["results"]} == {"StoryRMB (synthetic sample)"}


def test_results_on_other_rows(results: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "other.jsonl", (storyrmb_row(i, corpus="other") for i in range(20)))
    other = collect(build_storyrmb([tmp_path / "other.jsonl"], tmp_path / "other").path, "dataset")
    with pytest.raises(DataError, match="measured on other rows"):
        with_results(MODEL, results, BENCHMARK, other)


@pytest.mark.parametrize("wrong", [b"{", b"[]", b'{"scorers": []}'])
def test_what_is_no_evaluation(tmp_path: Path, wrong: bytes) -> None:
    (tmp_path / "results.json").write_bytes(wrong)
    with pytest.raises(DataError, match="results of"):
        with_results(MODEL, tmp_path / "results.json", BENCHMARK)


def test_two_models_are_no_one_model(results: Path, tmp_path: Path) -> None:
    table = orjson.loads(results.read_bytes())
    table["scorers"][1]["kind"] = "model"
    write_json(tmp_path / "two.json", table)
    with pytest.raises(DataError, match="expected the results of one model, found 2"):
        with_results(MODEL, tmp_path / "two.json", BENCHMARK)
