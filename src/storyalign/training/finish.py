"""The end of a run: one finished model folder, complete or not there, without any pickle in it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from storyalign.files import atomic_folder, write_json, write_text
from storyalign.models.loading import RewardModel
from storyalign.training.arguments import DataRecipe, ModelRecipe, Recipe, TrainingRecipe
from storyalign.training.checkpoints import RECORD_FILE, room_on_disk

if TYPE_CHECKING:
    from storyalign.training.pooled import PooledModel
    from storyalign.training.trainer import StoryRewardTrainer

RECIPE_FILE = "recipe.yaml"
"""In a finished model's folder: every option as it was used."""


_OF_THIS_RUN = (
    "accelerator_config",
    "deepspeed_plugin",
    "distributed_state",
    "parallelism_config",
    "hub_token",
    "push",
)


def save_finished(trainer: StoryRewardTrainer, recipe: Recipe, record: Mapping[str, Any]) -> Path:
    """Save the model, its tokenizer, the resolved recipe and the record of the run; every process has to call it.

    The files are written beside the folder and moved into it, the record last.

    Args:
        trainer: after training.
        recipe: what was asked for.
        record: what ``record.py`` knows of the run.

    Returns:
        The model's folder.
    """
    target = Path(str(recipe.training.output_dir))
    partial = target.with_name(f".{target.name}.partial")
    main = trainer.is_world_process_zero()
    if main:
        shutil.rmtree(partial, ignore_errors=True)
    trainer.accelerator.wait_for_everyone()
    with room_on_disk(partial, "and the same command goes on from the last checkpoint"):
        trainer.save_model(str(partial), _internal_call=True)
        trainer.accelerator.wait_for_everyone()
        if main:
            if recipe.model.use_peft and recipe.training.merge_adapter:
                _merge(partial)
            write_text(partial / RECIPE_FILE, resolved_yaml(recipe))
            write_json(partial / RECORD_FILE, dict(record))
            _move_into(partial, target)
    trainer.accelerator.wait_for_everyone()
    return target


def save_pooled_model(model: PooledModel, base: RewardModel, recipe: Recipe, record: Mapping[str, Any]) -> Path:
    """Save a frozen base with its convex head, the resolved recipe and the record of the run; return the folder."""
    from storyalign.models.mean_pooling import save_pooled

    target = Path(str(recipe.training.output_dir))
    with atomic_folder(target) as partial, room_on_disk(partial, "and run the same command again"):
        save_pooled(partial, base.model, base.tokenizer, model.weight, model.bias)
        write_text(partial / RECIPE_FILE, resolved_yaml(recipe))
        write_json(partial / RECORD_FILE, dict(record))
        for path in partial.rglob("*.safetensors"):
            path.chmod(0o644)  # safetensors writes files that nobody else may read
    return target


def resolved_yaml(recipe: Recipe) -> str:
    """Write down every option that differs from its default, in the form that ``--config`` reads.

    What the machine decides (device, memory pinning, progress bars) is left out, and where the model was sent.
    """
    plain = (TrainingRecipe(output_dir="-", use_cpu=recipe.training.use_cpu), ModelRecipe("-"), DataRecipe("-"))
    options: dict[str, Any] = {}
    parts: Any = zip(recipe, plain, strict=True)
    for part, default in parts:
        for field in fields(part):
            value, usual = getattr(part, field.name, None), getattr(default, field.name, None)
            unset = value is None and usual == "-"
            if field.init and value != usual and not unset and field.name not in _OF_THIS_RUN:
                options[field.name] = _plain(value)
    # The launcher or the machine may have decided the precision.
    options |= {"bf16": True} if recipe.training.bf16 else {"fp16": True} if recipe.training.fp16 else {"bf16": False}
    if options.pop("activation_checkpointing", None):
        options["gradient_checkpointing"] = True
    return yaml.safe_dump(options, sort_keys=True, allow_unicode=True)


def _merge(folder: Path) -> None:
    """Replace an adapter by the whole model with the adapter in its weights."""
    from storyalign.models.loading import label_reward, load_reward_model

    merged = load_reward_model(folder, device="cpu")
    label_reward(merged.model)
    whole = folder.with_name(f"{folder.name}.whole")
    shutil.rmtree(whole, ignore_errors=True)
    merged.model.save_pretrained(whole)
    merged.tokenizer.save_pretrained(whole)
    shutil.rmtree(folder)
    whole.rename(folder)


def _move_into(partial: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    (target / RECORD_FILE).unlink(missing_ok=True)
    for stale in (*target.glob("*.safetensors"), *target.glob("*.safetensors.index.json"), *target.glob("adapter_*")):
        stale.unlink()
    for path in sorted(partial.iterdir(), key=lambda p: p.name == RECORD_FILE):
        path.chmod(0o644)  # safetensors writes files that nobody else may read
        path.replace(target / path.name)
    partial.rmdir()


def _plain(value: Any) -> Any:
    if hasattr(value, "value"):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != f.default}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
