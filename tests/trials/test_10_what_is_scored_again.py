"""One rewards file; model, revision, dtype, length, template and a story change in turn: each change misses, alone."""

import dataclasses
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from storyalign.scoring.reward_models import load_scorer
from storyalign.scoring.reward_store import open_store
from storyalign.scoring.run import score_instances
from tests.support.rows_to_score import read_rewards, write_instances
from tests.support.tiny_models import CHATML, tiny_model_folder


@pytest.fixture
def score(tmp_path):
    """Score and give the rows that were really computed."""

    def run(folder, instances, **options):
        computed = []
        scorer = load_scorer(folder, **options)
        with open_store(tmp_path / "rewards.jsonl") as store:
            score_instances(scorer, instances, store, {}, progress=lambda rows, _: computed.extend(rows))
        return {(row.id, row.candidate) for row in computed}

    return run


def test_each_change_misses_and_nothing_else_does(tmp_path, score):
    folder = tiny_model_folder(tmp_path / "model")
    instances = write_instances(tmp_path / "data.jsonl", 3, words_each=20)
    everything = {(item.id, n) for item in instances for n in range(4)}
    assert score(folder, instances) == everything
    assert score(folder, instances) == set()
    assert score(folder, instances, batch_tokens=50) == set()
    for options in ({"dtype": "bf16"}, {"max_length": 200}, {"max_length": 200, "truncate": "tail"}, {"revision": "b"}):
        assert score(folder, instances, **options) == everything, options
        assert score(folder, instances, **options) == set(), options

    assert score(folder, instances) == everything
    instances[1] = dataclasses.replace(instances[1], rejected=(*instances[1].rejected[:2], "A changed story."))
    assert score(folder, instances) == {("rmb-001", 3)}
    before = read_rewards(tmp_path / "rewards.jsonl")
    instances[2] = dataclasses.replace(instances[2], prompt="A changed premise.")
    assert score(folder, instances) == {("rmb-002", n) for n in range(4)}
    after = read_rewards(tmp_path / "rewards.jsonl")
    assert {key for key in after if after[key] != before[key]} == {("rmb-002", n) for n in range(4)}

    assert score(shutil.copytree(folder, tmp_path / "moved"), instances) == set(), "the same files elsewhere"
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.0.mlp.up_proj.weight"][0, 0] += torch.tensor(1e-3)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert score(folder, instances) == everything, "one weight changed in place"
    tokenizer = folder / "chat_template.jinja"
    tokenizer.write_text(CHATML.replace("<|im_end|>\n", "<|im_end|>"))
    assert score(folder, instances) == everything, "the template changed"
