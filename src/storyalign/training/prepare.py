"""From a recipe to pairs and a model that are ready to train."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from storyalign.errors import RecipeError
from storyalign.models.chat import with_fixed_date
from storyalign.models.loading import RewardModel, head_modules, label_reward, load_reward_model
from storyalign.models.packed import enable
from storyalign.training.arguments import DataRecipe, ModelRecipe, Recipe, TrainingRecipe
from storyalign.training.benchmark_metric import BenchmarkMetric
from storyalign.training.mixture import PairDataset, balance_length, split_by_premise
from storyalign.training.pairs import LoadedPairs, check_rows, iter_rows, label_names, load_pairs, read_pair
from storyalign.training.tokens import LengthPolicy, LengthTable, tokenize_pairs

if TYPE_CHECKING:
    import torch
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_DTYPES = {"float32": "fp32", "bfloat16": "bf16"}


class TrainingData(NamedTuple):
    """Pairs to train on and to validate with."""

    train: PairDataset
    validation: PairDataset | None
    table: LengthTable
    """What the length policy did to the training pairs."""
    left_out: int
    """Training pairs left out to balance lengths."""
    train_sets: list[LoadedPairs]
    validation_sets: list[LoadedPairs]

    @property
    def digests(self) -> list[str]:
        """Content digests of the training sets, each with its weight: what shapes the weights."""
        return [f"{s.digest} {s.source.weight} {s.source.pairs}" for s in self.train_sets]


def load_model(model: ModelRecipe, training: TrainingRecipe) -> RewardModel:
    """Load the base model with a head, new where it has none, ready for packed batches and partly frozen if asked.

    Raises:
        ModelError: the model cannot be loaded.
        RecipeError: ``dtype``, ``keep_layers`` or ``freeze_layers`` does not fit.
    """
    from transformers import set_seed

    if model.dtype not in _DTYPES:
        raise RecipeError(f"dtype is {model.dtype!r}; expected one of {', '.join(_DTYPES)}")
    set_seed(training.seed)  # the new head is drawn at random
    loaded = load_reward_model(
        str(model.model_name_or_path),
        revision=None if model.model_revision == "main" else model.model_revision,
        dtype="bf16" if training.method == "pooled" and training.bf16 else _DTYPES[model.dtype],  # type: ignore[arg-type]
        trust_remote_code=training.trust_remote_code,
        attention=model.attn_implementation,
        device="cpu",
        allow_new_head=True,
    )
    if isinstance(loaded.tokenizer.chat_template, str):  # saved with the model: every tool then reads the same date
        loaded.tokenizer.chat_template = with_fixed_date(loaded.tokenizer.chat_template, loaded.name)
    limit = loaded.max_length
    if training.max_length is None or (limit is not None and training.max_length > limit):
        training.max_length = limit
    label_reward(loaded.model)
    # Its row gets no gradient, and in many base models it is the end token. Nothing is padded here: all rows train.
    loaded.model.get_input_embeddings().padding_idx = None  # type: ignore[assignment]
    keep_lower(loaded.model, training.keep_layers)
    if training.use_liger_kernel:
        use_liger(loaded.model, training)
    enable(loaded.model, all_states=training.method == "pooled")
    freeze(loaded.model, training.freeze_layers)
    return loaded


def use_liger(model: PreTrainedModel, training: TrainingRecipe) -> None:
    """Put Liger's norm, rotary and feed-forward kernels into a model, before it is tried whether packing agrees.

    Its fused losses are a language model's: they would take the place of the whole forward pass, so they stay off, now
    and when transformers applies the same settings at the first step.
    """
    from transformers.integrations.liger import apply_liger_kernel

    off = {"fused_linear_cross_entropy": False, "cross_entropy": False}
    training.liger_kernel_config = {**(training.liger_kernel_config or {}), **off}
    apply_liger_kernel(model, training.liger_kernel_config)


def keep_lower(model: PreTrainedModel, layers: int) -> None:
    """Leave out all layers of a model above the lowest so many; 0 leaves out none.

    Raises:
        RecipeError: the model has fewer layers, or none that can be counted.
    """
    if not layers:
        return
    stack, config = _layers(model, "keep_layers", layers), model.config.get_text_config()
    del stack[layers:]
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]


def freeze(model: PreTrainedModel, layers: int) -> None:
    """Keep the embeddings and the lowest layers of a model as they are.

    Raises:
        RecipeError: the model has fewer layers, or none that can be counted.
    """
    if not layers:
        return
    for module in (model.get_input_embeddings(), *_layers(model, "freeze_layers", layers)[:layers]):
        module.requires_grad_(False)


def _layers(model: PreTrainedModel, option: str, layers: int) -> torch.nn.ModuleList:
    """Return the list of a model's layers, if it has at least so many."""
    body = getattr(model, model.base_model_prefix, None)
    stacks: list[torch.nn.ModuleList | None] = [getattr(body, name, None) for name in ("layers", "h")]
    stack = next((s for s in stacks if s is not None), None)
    if stack is None or layers > len(stack):
        found = "no list of" if stack is None else len(stack)
        raise RecipeError(f"{option} is {layers}; the model has {found} layers")
    return stack


def adapter_config(recipe: ModelRecipe, training: TrainingRecipe, model: PreTrainedModel) -> PeftConfig | None:
    """Return the LoRA settings of a recipe, None where LoRA is not asked for.

    The reward head is trained in full; frozen layers get no adapter.
    """
    from trl.trainer.utils import get_peft_config

    config: Any | None = get_peft_config(recipe)
    if config is not None:
        config.modules_to_save = sorted({*(config.modules_to_save or ()), *head_modules(model)})
        if training.freeze_layers:
            config.layers_to_transform = list(range(training.freeze_layers, model.config.num_hidden_layers))
    return config


def benchmark_metric(training: TrainingRecipe, tokenizer: PreTrainedTokenizerBase) -> BenchmarkMetric | None:
    """Load the benchmark that a recipe wants watched, if it names one."""
    if training.benchmark is None:
        return None
    return BenchmarkMetric(training.benchmark, tokenizer, training.max_length, training.truncate)  # type: ignore[arg-type]


def load_data(recipe: Recipe, tokenizer: PreTrainedTokenizerBase) -> TrainingData:
    """Load, check and tokenise all pairs of a recipe.

    Raises:
        DataError: a set cannot be had, a row is broken, or too many pairs are too long.
    """
    training, data = recipe.training, recipe.data
    engaged = bool(training.engagement_margin)
    train_sets = [load_pairs(source, needs_engagement=engaged) for source in data.train_sources]
    validation_sets = [load_pairs(source) for source in data.validation_sources]
    if data.validation_share:
        train_sets, validation_sets = _hold_out(train_sets, data, training.seed)
    policy = LengthPolicy(training.max_length, training.over_length, training.truncate)  # type: ignore[arg-type]
    tokens = [tokenize_pairs(s, tokenizer, policy, processes=training.dataset_num_proc) for s in train_sets]
    table = LengthTable.of(tokens)
    table.check(training.max_lost_share)
    train = PairDataset(tokens, seed=training.seed, engagement_margin=training.engagement_margin)
    left_out = balance_length(train, training.seed) if training.balance_length else 0
    if data.max_pairs is not None and data.max_pairs < len(train):
        train.select(sorted(random.Random(training.seed).sample(range(len(train)), data.max_pairs)))
    validation = None
    if validation_sets:
        # Validation never stops a run for its length: what does not fit is left out and counted.
        gentle = policy._replace(over_length="drop") if policy.over_length == "error" else policy
        tokens = [tokenize_pairs(s, tokenizer, gentle, processes=training.dataset_num_proc) for s in validation_sets]
        validation = PairDataset(tokens, seed=training.seed)
    return TrainingData(train, validation, table, left_out, train_sets, validation_sets)


def _hold_out(sets: Sequence[LoadedPairs], data: DataRecipe, seed: int) -> tuple[list[LoadedPairs], list[LoadedPairs]]:
    prompts = [[_prompt(row, label_names(s.rows)) for row in iter_rows(s.rows)] for s in sets]
    flat = [prompt for group in prompts for prompt in group]
    _, held = split_by_premise(flat, data.validation_share, seed)
    premises = {flat[i] for i in held}
    sides: tuple[list[LoadedPairs], list[LoadedPairs]] = ([], [])
    for pairs, group in zip(sets, prompts, strict=True):
        for side, wanted in zip(sides, (False, True), strict=True):
            indices = [i for i, prompt in enumerate(group) if (prompt in premises) is wanted]
            if indices:
                side.append(check_rows(pairs.source, pairs.rows.select(indices)))
    return sides


def _prompt(row: dict[str, Any], names: Sequence[str]) -> str:
    return read_pair(row, names).prompt
