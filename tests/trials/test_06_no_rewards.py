"""A model that gives NaN, nothing, or ten logits: unscored with the id, or a clear error; never a plain loss."""

import torch
from safetensors.torch import load_file, save_file

from tests.support.command import storyalign
from tests.support.rows_to_score import read_rewards, write_instances
from tests.support.tiny_models import tiny_model_folder


def test_nan_is_unscored_and_counted(tmp_path):
    folder, data, out = tiny_model_folder(tmp_path / "model"), tmp_path / "data.jsonl", tmp_path / "rewards.jsonl"
    write_instances(data, 3)
    weights = load_file(folder / "model.safetensors")
    weights["score.weight"] = torch.full_like(weights["score.weight"], torch.nan)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    done = storyalign("score", folder, data, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "scored 0 | unscored 12" in done.stdout
    for (instance, _), row in read_rewards(out).items():
        assert instance.startswith("rmb-")
        assert (row["reward"], row["status"], row["detail"]) == (None, "not_finite", "the model returned nan")


def test_ten_labels_are_an_error(tmp_path):
    folder, data = tiny_model_folder(tmp_path / "model", config={"num_labels": 10}), tmp_path / "data.jsonl"
    write_instances(data, 1)
    refused = storyalign("score", folder, data, "--out", tmp_path / "rewards.jsonl")
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("its head gives 10 labels; a reward model gives 1")
