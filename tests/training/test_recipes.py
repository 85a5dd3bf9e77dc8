"""Every recipe runs: two steps on a tiny model of the same architecture, with the chat template of its family."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from storyalign.models.loading import load_reward_model
from tests.support.tiny_models import tiny_model_folder, trl_template
from tests.support.training_runs import RECIPES, run_here, write_pairs

FAST = {"storyreward_llama", "storyreward_qwen_lora"}
LLAMA3 = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<pad>")
QWEN3 = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")


def base_model(folder: Path, name: str) -> Path:
    """Make a small stand-in for a recipe's base model."""
    if "Llama-3" in name:
        return tiny_model_folder(
            folder, "llama-lm", template=trl_template("llama3_1"), special=LLAMA3, bos=LLAMA3[0], eos="<|eot_id|>"
        )
    if "Qwen3" in name:
        return tiny_model_folder(
            folder, "qwen3", template=trl_template("qwen3"), special=QWEN3, pad="<|endoftext|>", eos="<|im_end|>"
        )
    return tiny_model_folder(folder, "llama-lm", config={"num_hidden_layers": 30, "hidden_size": 24, "head_dim": 6})


@pytest.mark.parametrize(
    "recipe",
    [pytest.param(p, id=p.stem, marks=() if p.stem in FAST else pytest.mark.full) for p in RECIPES],
)
def test_two_steps_of_each_recipe(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # its datasets are named like folders of the current directory
    options = yaml.safe_load(recipe.read_text())
    base = base_model(tmp_path / "base", options["model_name_or_path"])
    constructions = ["back_generation", "rewriting", "guided_continuation", "llm_pairs"]
    make_folder(tmp_path / "story_preferences", constructions)
    overrides = [] if options.get("method") != "pooled" else ["--pooled_layers", "1", "2"]
    overrides += [
        "--model_name_or_path",
        str(base),
        "--max_steps",
        "2",
        "--output_dir",
        str(tmp_path / "out" / "model"),
    ]
    if "datasets" in options:
        path = tmp_path / "r.yaml"
        write_pairs(tmp_path / "size_pairs.jsonl", 6, construction="llm_pairs", seed=7000)
        for entry in options["datasets"]:
            if entry["path"] == "size_pairs.jsonl":
                entry["pairs"] = 4  # as many as this small set lost
        path.write_text(yaml.safe_dump(options))
        recipe = path
    printed = run_here("--config", str(recipe), *overrides, "--disable_tqdm", "true")
    assert "the finished model is in" in printed
    record = json.loads((tmp_path / "out" / "model" / "training.json").read_text())
    assert record["run"].get("steps", 2) == 2 and record["run"]["packed"]
    assert not load_reward_model(tmp_path / "out" / "model").new_head


def make_folder(folder: Path, constructions: list[str]) -> None:
    """Build a small ``story_preferences`` folder with all constructions, the way ``storyalign build`` does."""
    from storyalign.files import read_jsonl, write_jsonl
    from storyalign.hub.build.dataset_folder import build_story_preferences

    rows = []
    for number, construction in enumerate(constructions):
        for split, count in (("train", 4), ("validation", 1)):
            seed = 1000 * number + (500 if split == "validation" else 0)
            path = write_pairs(folder.with_name(f"{construction}.jsonl"), count, construction=construction, seed=seed)
            for line in read_jsonl(path):
                rows.append(
                    {**line.row, "id": f"{construction}-{split}-{line.number}", "split": split, "language": "en",
                     "prompt": f"{construction} {split} {line.number} {line.row['prompt']}",
                     "chosen": f"{construction} {split} {line.number} {line.row['chosen']}",
                     "rejected": f"{construction} {split} {line.number} {line.row['rejected']}",
                     "corpus": "test", "license": "cc0-1.0", "chosen_writer": "a", "rejected_writer": "b"}
                )  # fmt: skip
    raw = folder.with_name("raw.jsonl")
    write_jsonl(raw, rows)
    build_story_preferences([raw], folder)
