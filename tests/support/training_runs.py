"""Running the real ``train.py`` in real processes, on tiny models and generated pairs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from storyalign.files import write_jsonl
from storyalign.training import prepare
from storyalign.training.arguments import Recipe, parse_recipe
from storyalign.training.launch import read_launch, shard_on_cpu
from storyalign.training.trainer import StoryRewardTrainer
from tests.support.tiny_models import words

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted(p for p in (ROOT / "recipes").glob("*.yaml") if "model_name_or_path:" in p.read_text("utf-8"))
"""The recipes of training runs; others say how data is made and fetched."""


def write_pairs(path: Path, count: int, *, length: int = 12, construction: str = "rewriting", seed: int = 0) -> Path:
    """Write pairs that are easy to tell apart: every rejected story ends in the same three words."""
    rows = [
        {
            "id": f"pair-{i}",
            "prompt": words(5, seed + 3 * i),
            "chosen": words(length + i % 5, seed + 3 * i + 1),
            "rejected": words(length + i % 3, seed + 3 * i + 2) + " winter winter winter",
            "construction": construction,
        }
        for i in range(count)
    ]
    write_jsonl(path, rows)
    return path


def environment(**more: str) -> dict[str, str]:
    """The environment of a training process: this checkout's package, offline, one thread."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1", **more}


def launch(
    *options: str, accelerate: Sequence[str] = (), script: Path = ROOT / "train.py"
) -> subprocess.CompletedProcess[str]:
    """Run ``accelerate launch train.py`` to its end."""
    command = [sys.executable, "-m", "accelerate.commands.launch", *accelerate, str(script), *options]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)


def build(*options: str) -> tuple[StoryRewardTrainer, Recipe]:
    """Make a trainer the way ``train.py`` does, in this process."""
    recipe = parse_recipe(options)
    shard_on_cpu(read_launch())
    base = prepare.load_model(recipe.model, recipe.training)
    data = prepare.load_data(recipe, base.tokenizer)
    adapter = prepare.adapter_config(recipe.model, recipe.training, base.model)
    trainer = StoryRewardTrainer(
        base.model, recipe.training, base.tokenizer, data.train, data.validation, peft_config=adapter
    )
    return trainer, recipe


def run_here(*options: str) -> str:
    """Run ``train.py``'s main in this process and give what it printed."""
    spec = importlib.util.spec_from_file_location("train_script", ROOT / "train.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.main(options)
    return printed.getvalue()
