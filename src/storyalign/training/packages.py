"""Packages that only some recipes need: a missing one is named before anything is loaded."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from storyalign.errors import MissingExtraError, RecipeError

if TYPE_CHECKING:
    from trl.trainer.model_config import ModelConfig
    from trl.trainer.reward_config import RewardConfig


def require_deepspeed(config: object) -> None:
    """Check that DeepSpeed is installed where an option or the launcher asks for it.

    Args:
        config: the option ``deepspeed``.

    Raises:
        RecipeError: it is not installed.
    """
    asked = bool(config) or os.environ.get("ACCELERATE_USE_DEEPSPEED", "false").lower() == "true"
    if asked and find_spec("deepspeed") is None:
        raise RecipeError("deepspeed is not installed; run: pip install deepspeed, or shard with fsdp2.yaml")


def require_packages(training: RewardConfig, model: ModelConfig) -> None:
    """Check that what the options of a recipe need is installed: adapters, kernels, optimizers, trackers.

    Raises:
        RecipeError: a package is missing; the message names the option and the package.
        MissingExtraError: peft, which the extra ``train`` brings, is missing.
    """
    from transformers import Trainer
    from transformers.integrations.integration_utils import (
        INTEGRATION_TO_CALLBACK,
        get_available_reporting_integrations,
    )
    from transformers.utils.import_utils import (
        is_flash_attn_2_available,
        is_flash_attn_3_available,
        is_kernels_available,
        is_liger_kernel_available,
    )

    if model.use_peft and find_spec("peft") is None:
        raise MissingExtraError("train", "peft")
    if training.use_liger_kernel and not is_liger_kernel_available():
        raise _missing("use_liger_kernel", "liger-kernel")
    attention = model.attn_implementation or ""
    installed = {"flash_attention_2": is_flash_attn_2_available, "flash_attention_3": is_flash_attn_3_available}
    if attention in installed and not installed[attention]() and not is_kernels_available():
        raise _missing(f"attn_implementation {attention}", "flash-attn" if attention.endswith("2") else "kernels")
    if "/" in attention and not is_kernels_available():  # a kernel from the Hub
        raise _missing(f"attn_implementation {attention}", "kernels")
    for tracker in training.report_to or ():
        if tracker in INTEGRATION_TO_CALLBACK and tracker not in get_available_reporting_integrations():
            raise _missing(f"report_to {tracker}", tracker)
    try:
        Trainer.get_optimizer_cls_and_kwargs(training)
    except (ImportError, ValueError) as error:
        if "install" in str(error).lower():
            name = getattr(training.optim, "value", training.optim)
            raise RecipeError(f"optim {name}: {' '.join(str(error).split())}") from error


def _missing(option: str, package: str) -> RecipeError:
    return RecipeError(f"{option}: {package} is not installed; run: pip install {package}, or leave the option out")
