"""``accelerate launch train.py`` as users run it: real processes, tiny models."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from storyalign.models.chat import render
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import enable, packed_rewards
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import ROOT, launch, write_pairs


def test_smoke_recipe_trains_a_model_that_loads_everywhere(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama-lm")
    pairs = write_pairs(tmp_path / "pairs.jsonl", 12)
    out = tmp_path / "run" / "model"
    done = launch(
        "--config", str(ROOT / "recipes" / "smoke.yaml"), "--model_name_or_path", str(base), "--keep_layers", "0",
        "--freeze_layers", "1", "--dataset_name", str(pairs), "--output_dir", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "rewriting" in done.stdout and "dropped" in done.stdout  # the table of what the length limit did

    names = {path.name for path in out.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "recipe.yaml", "training.json"} <= names
    assert not [n for n in names if n.endswith((".bin", ".pt", ".pth", ".pkl"))]
    assert not (tmp_path / "run" / "model-checkpoints").exists()

    before = load_file(base / "model.safetensors")
    after = load_file(out / "model.safetensors")
    assert torch.equal(before["model.layers.0.mlp.up_proj.weight"], after["model.layers.0.mlp.up_proj.weight"])
    assert torch.equal(before["model.embed_tokens.weight"], after["model.embed_tokens.weight"])
    assert not torch.equal(before["model.layers.1.mlp.up_proj.weight"], after["model.layers.1.mlp.up_proj.weight"])

    ours = load_reward_model(out)
    assert not ours.new_head
    plain = AutoModelForSequenceClassification.from_pretrained(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert tokenizer.chat_template and tokenizer.pad_token_id not in (None, tokenizer.eos_token_id)
    ids = torch.tensor(render(tokenizer, "the sea", "the keeper climbed his stair"))
    with torch.no_grad():
        expected = plain(input_ids=ids[None]).logits.item()
        enable(ours.model)
        assert abs(packed_rewards(ours.model, [ids]).item() - expected) < 1e-5
