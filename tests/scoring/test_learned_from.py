import json

import pytest

from storyalign.scoring.learned_from import learned_from
from storyalign.scoring.reward_models import load_scorer
from tests.support.tiny_models import tiny_model_folder


def source(path, pairs, writers, name=None):
    return {"path": path, "name": name, "pairs": pairs, "chosen_writers": writers}


@pytest.mark.parametrize(
    ("sets", "sentence"),
    [
        ([source("sample", 400, {"kit-author": 400})], "trained on the synthetic sample: not on readers' choices"),
        ([source("/data/lamp.jsonl", 1142, {"human": 1142})], "trained on 1,142 pairs: lamp.jsonl (1,142)"),
        (
            [source("own/pairs", 10, {"human": 10}, "llm_pairs"), source("story_preferences", 5, {"kit-author": 5})],
            "trained on 15 pairs: pairs:llm_pairs (10), story_preferences (5); part of them synthetic",
        ),
        ([], "what it was trained on is not recorded"),
        ([{"path": "x"}], "what it was trained on is not recorded"),
    ],
)  # fmt: skip
def test_the_record_in_one_sentence(tmp_path, sets, sentence):
    (tmp_path / "training.json").write_text(json.dumps({"data": {"train": sets}}))
    assert learned_from(tmp_path) == sentence


def test_without_a_record(tmp_path):
    assert learned_from(tmp_path) == "what it was trained on is not recorded"


def test_it_travels_with_the_scorer_and_changes_no_reward_signature(tmp_path):
    folder = tiny_model_folder(tmp_path / "model")
    before = load_scorer(folder)
    record = {"data": {"train": [source("story_preferences", 4, {"kit-author": 4})]}}
    (folder / "training.json").write_text(json.dumps(record))
    after = load_scorer(folder)
    assert after.learned_from.startswith("trained on the synthetic sample")
    assert after.signature["learned_from"] == after.learned_from
    assert after.digest == before.digest
