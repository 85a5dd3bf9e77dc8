"""Trial 17: what training saved gives the same rewards again, whoever loads it, in every way of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import AutoPeftModelForSequenceClassification
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from storyalign.errors import ModelError
from storyalign.models.chat import render
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import enable, packed_rewards
from storyalign.training.finish import save_finished
from tests.support.tiny_models import tiny_model_folder, words
from tests.support.training_runs import ROOT, build, launch, run_here, write_pairs

STORIES = [("the sea", words(n, n)) for n in (3, 20, 150)]
LORA = ["--use_peft", "true", "--lora_r", "4", "--lora_target_modules", "q_proj", "--lora_target_modules", "v_proj"]


def options(tmp_path: Path, *more: str) -> list[str]:
    base = tiny_model_folder(tmp_path / "base", "llama-lm")
    return [
        "--model_name_or_path", str(base), "--dataset_name", str(write_pairs(tmp_path / "pairs.jsonl", 8)),
        "--output_dir", str(tmp_path / "run" / "model"), "--max_steps", "3", "--learning_rate", "1e-2",
        "--save_strategy", "no", "--disable_tqdm", "true", *more,
    ]  # fmt: skip


def plain_rewards(model: Any, tokenizer: Any) -> list[float]:
    """Transformers alone, one conversation at a time."""
    with torch.no_grad():
        return [model(torch.tensor([render(tokenizer, *pair)])).logits.item() for pair in STORIES]


@pytest.mark.parametrize("way", ["full", "frozen", "lower half", "lora merged", "lora apart"])
def test_rewards_are_those_of_the_trainer(tmp_path: Path, way: str) -> None:
    more = {
        "full": [],
        "frozen": ["--freeze_layers", "1"],
        "lower half": ["--keep_layers", "1"],
        "lora merged": LORA,
        "lora apart": [*LORA, "--merge_adapter", "false"],
    }[way]
    trainer, recipe = build(*options(tmp_path, *more))
    trainer.train()
    folder = save_finished(trainer, recipe, {"fingerprint": "x"})
    trainer.model.eval()
    segments = [torch.tensor(render(trainer.processing_class, *pair)) for pair in STORIES]
    with torch.no_grad():
        expected = trainer.rewards(trainer.model, segments).tolist()
    assert max(expected) - min(expected) > 1e-3
    assert trainer.model.config.num_hidden_layers == (1 if way == "lower half" else 2)

    auto = AutoPeftModelForSequenceClassification if way == "lora apart" else AutoModelForSequenceClassification
    more_kwargs = {"num_labels": 1} if way == "lora apart" else {}
    plain = auto.from_pretrained(folder, **more_kwargs).eval()
    assert plain_rewards(plain, AutoTokenizer.from_pretrained(folder)) == pytest.approx(expected, abs=1e-5)
    ours = load_reward_model(folder)
    assert not ours.new_head and enable(ours.model)
    with torch.no_grad():
        assert packed_rewards(ours.model, segments).tolist() == pytest.approx(expected, abs=1e-5)
    assert (folder / "adapter_config.json").exists() == (way == "lora apart")
    assert not [p for p in folder.rglob("*") if p.suffix in (".bin", ".pt", ".pth", ".pkl")]


@pytest.mark.full
def test_two_processes_save_one_model(tmp_path: Path) -> None:
    two_cpu = ["--config_file", str(ROOT / "recipes" / "accelerate" / "two_cpu.yaml")]
    done = launch(*options(tmp_path, *LORA, "--merge_adapter", "false"), accelerate=two_cpu)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "run" / "model"
    plain = AutoPeftModelForSequenceClassification.from_pretrained(folder, num_labels=1).eval()
    ours = load_reward_model(folder)
    segments = [torch.tensor(render(ours.tokenizer, *pair)) for pair in STORIES]
    enable(ours.model)
    with torch.no_grad():
        expected = packed_rewards(ours.model, segments).tolist()
    assert plain_rewards(plain, ours.tokenizer) == pytest.approx(expected, abs=1e-5)


def test_a_checkpoint_without_its_head_is_refused_for_scoring_and_marked_as_new_for_training(tmp_path: Path) -> None:
    run_here(*options(tmp_path))
    folder = tmp_path / "run" / "model"
    weights = load_file(folder / "model.safetensors")
    del weights["score.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks its reward head"):
        load_reward_model(folder)
    assert load_reward_model(folder, allow_new_head=True).new_head
