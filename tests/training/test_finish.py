from __future__ import annotations

from pathlib import Path

import torch
import yaml

from storyalign.training.arguments import parse_recipe
from storyalign.training.finish import resolved_yaml


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
        "gradient_checkpointing", "max_steps",
    }  # fmt: skip
    again = parse_recipe(["--config", str(resolved)])
    assert again.training.to_dict() == recipe.training.to_dict()
    assert (again.model, again.data) == (recipe.model, recipe.data)
    assert torch.device("cpu") == again.training.device
