"""What a finished model remembers of its training: data, recipe, figures, versions. The model card is made of it."""

from __future__ import annotations

import importlib.metadata
import platform
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storyalign._version import __version__
from storyalign.models.chat import input_format
from storyalign.models.loading import RewardModel
from storyalign.training.arguments import Recipe
from storyalign.training.pairs import LoadedPairs
from storyalign.training.prepare import TrainingData

if TYPE_CHECKING:
    from storyalign.training.trainer import StoryRewardTrainer

_LIBRARIES = ("torch", "transformers", "trl", "accelerate", "peft", "datasets")


def training_record(
    recipe: Recipe, base: RewardModel, data: TrainingData, run: dict[str, Any], fingerprint: str, weights: str
) -> dict[str, Any]:
    """Return the facts of a run as plain values.

    Args:
        recipe: what was asked for.
        base: the model that was trained further.
        data: the pairs.
        run: how it was trained and with what figures: of ``fine_tuning_run`` or ``pooled.fit``.
        fingerprint: of the run.
        weights: digest of the base model's folder.
    """
    training = recipe.training
    return {
        "fingerprint": fingerprint,
        "base": {
            "name": base.name,
            "revision": base.revision,
            "files": base.folder.name,
            "weights": weights,
            "model_type": base.model.config.model_type,
            "new_head": base.new_head,
            "input": input_format(base.tokenizer),
            **origin(base),
        },
        "data": {
            "train": [_describe(pairs) for pairs in data.train_sets],
            "validation": [_describe(pairs) for pairs in data.validation_sets],
            "over_length": {
                "policy": training.over_length,
                "keep": training.truncate if training.over_length == "truncate" else None,
                "max_length": training.max_length,
                "counts": {name: dict(count) for name, count in data.table.counts.items()},
            },
            "left_out_to_balance_length": data.left_out,
            "pairs_per_epoch": len(data.train),
        },
        **run,
        "versions": {
            "storyalign": __version__,
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        },
    }


def fine_tuning_run(recipe: Recipe, trainer: StoryRewardTrainer) -> dict[str, Any]:
    """Return how a model was fine-tuned and with what figures."""
    training, history, ran = recipe.training, trainer.state.log_history, trainer.execution
    return {
        "run": {
            "steps": trainer.state.global_step,
            "epochs": trainer.state.epoch,
            **ran._asdict(),
            "precision": "fp32" if ran.precision == "no" else ran.precision,
            "pairs_per_step": training.per_device_train_batch_size
            * training.gradient_accumulation_steps
            * ran.processes,
            "learning_rate": training.learning_rate,
            "scheduler": str(getattr(training.lr_scheduler_type, "value", training.lr_scheduler_type)),
            "seed": training.seed,
            "weights": recipe.model.dtype,
            "lora": {"r": recipe.model.lora_r, "alpha": recipe.model.lora_alpha} if recipe.model.use_peft else None,
            "keep_layers": training.keep_layers,
            "freeze_layers": training.freeze_layers,
            "packed": trainer.packed,
            "device": str(trainer.args.device),
            "seconds": next((row["train_runtime"] for row in reversed(history) if "train_runtime" in row), None),
        },
        "last_train": _last(history, "loss", ("loss", "accuracy", "margin")),
        "validation": {
            name.removeprefix("eval_"): value
            for name, value in next((row for row in reversed(history) if "eval_loss" in row), {}).items()
            if name.startswith("eval_")
        },
    }


def origin(base: RewardModel) -> dict[str, str | None]:
    """Read what a base model's own card says: its licence, and for a local folder the model that it was made from."""
    from huggingface_hub import ModelCard
    from yaml import YAMLError

    card = (base.base_folder or base.folder) / "README.md"
    try:
        front = ModelCard.load(card).data.to_dict() if card.is_file() else {}
    except (ValueError, YAMLError):  # a front matter that is none says nothing
        front = {}
    made_from = front.get("base_model") if Path(base.name).is_dir() else base.name
    return {
        "license": str(front["license"]) if front.get("license") else None,
        "made_from": str(made_from) if isinstance(made_from, str) else None,
    }


def _describe(pairs: LoadedPairs) -> dict[str, Any]:
    source = pairs.source
    return {
        "path": source.path,
        "name": source.name,
        "split": source.split,
        "revision": source.revision,
        "weight": source.weight,
        "pairs": source.pairs or len(pairs.rows),
        "constructions": pairs.counts,
        "chosen_writers": dict(islice(pairs.writers.items(), 20)),
        "digest": f"sha256:{pairs.digest}",
        "description": pairs.rows.info.description or None,
    }


def _last(history: list[dict[str, Any]], key: str, names: tuple[str, ...]) -> dict[str, float]:
    row: dict[str, Any] = next((row for row in reversed(history) if key in row), {})
    return {name: row[name] for name in names if name in row}
