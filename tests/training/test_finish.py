from __future__ import annotations

import json
from pathlib import Path

import torch
import yaml
from transformers import AutoTokenizer

from storyalign.models.chat import render
from storyalign.training.arguments import parse_recipe
from storyalign.training.finish import resolved_yaml
from tests.support.tiny_models import CHATML, tiny_model_folder
from tests.support.training_runs import run_here, write_pairs


def test_resolved_recipe_reads_back_as_the_same_recipe(tmp_path: Path) -> None:
    source = tmp_path / "r.yaml"
    source.write_text(
        "model_name_or_path: m\noutput_dir: o\nlearning_rate: 3e-4\nuse_peft: true\nlora_r: 4\n"
        "lr_scheduler_type: cosine\ngradient_checkpointing: true\n"
        "datasets:\n  - {path: a, weight: 0.5}\n  - {path: b, name: rewriting, pairs: 7}\n"
    )
    recipe = parse_recipe(["--config", str(source), "--max_steps", "5"])
    resolved = tmp_path / "resolved.yaml"
    resolved.write_text(resolved_yaml(recipe))
    options = yaml.safe_load(resolved.read_text())
    assert options["datasets"] == [{"path": "a", "weight": 0.5}, {"path": "b", "name": "rewriting", "pairs": 7}]
    assert set(options) == {
        "model_name_or_path", "output_dir", "learning_rate", "use_peft", "lora_r", "lr_scheduler_type", "datasets",
        "gradient_checkpointing", "max_steps", "bf16",
    }  # fmt: skip
    again = parse_recipe(["--config", str(resolved)])
    assert again.training.to_dict() == recipe.training.to_dict()
    assert (again.model, again.data) == (recipe.model, recipe.data)
    assert torch.device("cpu") == again.training.device


def test_the_date_of_the_training_is_saved_with_the_model(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", template="{{ strftime_now('%d %B %Y') }}\n" + CHATML)
    pairs = write_pairs(tmp_path / "pairs.jsonl", 2)
    run_here(
        "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "m"),
        "--max_steps", "1", "--save_strategy", "no", "--disable_tqdm", "true",
    )  # fmt: skip
    plain = AutoTokenizer.from_pretrained(tmp_path / "m")
    chat = [{"role": "user", "content": "the sea"}, {"role": "assistant", "content": "calm"}]
    text = plain.apply_chat_template(chat, tokenize=False)
    assert text.startswith("26 July 2024\n")
    ids = plain(text, add_special_tokens=False)["input_ids"]
    assert render(AutoTokenizer.from_pretrained(base), "the sea", "calm") == ids  # what the training read


def test_a_merged_adapter_is_saved_like_a_full_fine_tune(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama-lm")
    pairs = write_pairs(tmp_path / "pairs.jsonl", 4)
    configs = {}
    for name, more in (("full", ()), ("lora", ("--use_peft", "true", "--lora_target_modules", "q_proj"))):
        run_here(
            "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / name),
            "--max_steps", "1", "--save_strategy", "no", "--disable_tqdm", "true", *more,
        )  # fmt: skip
        configs[name] = json.loads((tmp_path / name / "config.json").read_text())
    assert configs["lora"]["id2label"] == {"0": "reward"}
    for config in configs.values():
        config.pop("use_cache")  # off while activations are recomputed; a reward model never uses it
    assert configs["lora"] == configs["full"]
