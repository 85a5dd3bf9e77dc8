"""The options of ``train.py``: TRL's and transformers' own, and what the kit adds; unknown ones are refused."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import torch
from trl.scripts.utils import TrlParser
from trl.trainer.model_config import ModelConfig
from trl.trainer.reward_config import RewardConfig

from storyalign.errors import RecipeError
from storyalign.training.packages import require_deepspeed, require_packages
from storyalign.training.pairs import PairSource

OVER_LENGTH = ("error", "drop", "truncate")
KEEP = ("head", "tail", "middle")
METHODS = ("fine_tuning", "pooled")


@dataclass
class TrainingRecipe(RewardConfig):
    """TRL's ``RewardConfig`` with the kit's defaults and options.

    ``output_dir`` is the folder of the finished model; checkpoints stand beside it in ``<output_dir>-checkpoints``.
    """

    output_dir: str | None = field(
        default=None, metadata={"help": "Folder of the finished model. Checkpoints go to OUTPUT_DIR-checkpoints."}
    )
    learning_rate: float = field(default=2e-5, metadata={"help": "The initial learning rate for AdamW."})
    num_train_epochs: float = field(default=1.0, metadata={"help": "Passes over the training pairs."})
    per_device_train_batch_size: int = field(default=1, metadata={"help": "Pairs per forward pass and device."})
    per_device_eval_batch_size: int = field(default=4, metadata={"help": "Validation pairs per forward pass."})
    max_length: int | None = field(
        default=16384, metadata={"help": "Longest conversation (premise and story) in tokens."}
    )
    over_length: str = field(
        default="error",
        metadata={
            "help": "For longer ones: error, drop the pair, or truncate the story.",
            "choices": OVER_LENGTH,
        },
    )
    truncate: str = field(
        default="head", metadata={"help": "The part of a truncated story that is kept.", "choices": KEEP}
    )
    max_lost_share: float = field(
        default=0.05,
        metadata={"help": "Stop before the first step if a larger share of pairs is cut or dropped."},
    )
    method: str = field(
        default="fine_tuning",
        metadata={
            "help": "fine_tuning, or pooled: the base stays as it is, and a convex head is fitted on the mean of each "
            "story's token states.",
            "choices": METHODS,
        },
    )
    pooled_layers: list[int] = field(
        default_factory=list,
        metadata={"help": "With pooled: the layers to choose from by cross-validation, from 1. Default: the last one."},
    )
    pooled_l2: list[float] = field(
        default_factory=lambda: [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
        metadata={"help": "With pooled: the l2 penalties to choose from by cross-validation."},
    )
    pooled_folds: int = field(
        default=5, metadata={"help": "With pooled: folds over the premises of the training pairs."}
    )
    keep_layers: int = field(
        default=0,
        metadata={"help": "Put the reward head on this many lower layers and leave out those above. 0: all layers."},
    )
    freeze_layers: int = field(
        default=0, metadata={"help": "Keep the embeddings and this many lower layers as they are."}
    )
    gradient_checkpointing: bool = field(
        default=False, metadata={"help": "Recompute activations in the backward pass: less memory, slower."}
    )
    label_smoothing_factor: float = field(
        default=0.0, metadata={"help": "Share of pairs assumed to be labelled the wrong way round, 0 to 0.5."}
    )
    group_premises: int = field(
        default=1,
        metadata={"help": "Pairs of one premise that stay together; a story they share then runs once. 1: no rule."},
    )
    engagement_margin: float = field(
        default=0.0,
        metadata={"help": "Scale of a margin from the readers' engagement: scale * log of the counts' ratio."},
    )
    balance_length: bool = field(
        default=False,
        metadata={"help": "Leave out pairs until the chosen story is the longer one in half of the rest."},
    )
    benchmark: str | None = field(
        default=None, metadata={"help": "A StoryRMB folder or name; its top-1 accuracy is logged at every evaluation."}
    )
    merge_adapter: bool = field(
        default=True, metadata={"help": "With LoRA: save the model with the adapter merged into its weights."}
    )
    resume_from_checkpoint: str | None = field(
        default="auto", metadata={"help": "auto (the last whole checkpoint of this very run), never, or a checkpoint."}
    )
    keep_checkpoints: bool = field(
        default=True, metadata={"help": "Keep the checkpoints after the finished model is saved."}
    )
    overwrite: bool = field(
        default=False, metadata={"help": "Replace a model or checkpoints of another run in OUTPUT_DIR."}
    )
    push: str | None = field(
        default=None,
        metadata={"help": "ORG/NAME on the Hub: release the finished model there, private with --hub_private_repo."},
    )
    cpu_threads: int | None = field(
        default=None, metadata={"help": "Threads per process on CPU; default: the free cores shared out evenly."}
    )
    save_total_limit: int | None = field(default=2, metadata={"help": "Checkpoints kept at the same time."})
    logging_nan_inf_filter: bool = field(default=False, metadata={"help": "Leave as it is: NaN ends the run."})
    ddp_find_unused_parameters: bool | None = field(
        default=False, metadata={"help": "Every trainable weight of a reward model takes part in each step."}
    )

    def __post_init__(self) -> None:
        """Check the kit's options and settle what depends on the machine.

        Raises:
            RecipeError: an option is missing, unknown or contradictory.
        """
        if not self.output_dir:
            raise RecipeError("output_dir is missing; name the folder of the finished model with --output_dir DIR")
        one_of("over_length", self.over_length, OVER_LENGTH)
        one_of("truncate", self.truncate, KEEP)
        one_of("method", self.method, METHODS)
        if self.pooled_folds < 2:
            raise RecipeError(f"pooled_folds is {self.pooled_folds}; expected 2 or more")
        if not self.pooled_l2 or min(self.pooled_l2) <= 0:
            raise RecipeError(f"pooled_l2 is {self.pooled_l2}; expected one or more numbers above 0")
        between("max_lost_share", self.max_lost_share, 0.0, 1.0)
        between("label_smoothing_factor", self.label_smoothing_factor, 0.0, 0.5)
        for name in ("keep_layers", "freeze_layers", "engagement_margin"):
            if getattr(self, name) < 0:
                raise RecipeError(f"{name} may not be negative")
        if self.group_premises < 1:
            raise RecipeError(f"group_premises is {self.group_premises}; expected 1 (no rule) or more")
        if self.push_to_hub:
            raise RecipeError("push_to_hub would skip the release checks; write --push ORG/NAME instead")
        if self.push is not None and (self.push.count("/") != 1 or not all(self.push.split("/"))):
            raise RecipeError(f"push is {self.push!r}; write ORG/NAME, your user name or organisation first")
        require_deepspeed(self.deepspeed)
        launched = os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
        if self.bf16 is None:  # the recipe leaves it open: the launcher decides, then the machine
            self.fp16 = self.fp16 or launched == "fp16"
            self.bf16 = not self.fp16 and (launched == "bf16" or not self.use_cpu)
        if self.bf16 and self.use_cpu and not cpu_has_bf16():
            print("this processor has no bf16 instructions: training in fp32, which is faster here")
            self.bf16 = False
        # One name for the user, the library's newer name underneath.
        if "activation_checkpointing" in self.__dataclass_fields__:
            self.activation_checkpointing = bool(self.gradient_checkpointing or self.activation_checkpointing)
            self.gradient_checkpointing = None  # type: ignore[assignment]
        self.remove_unused_columns = False
        super().__post_init__()  # type: ignore[no-untyped-call]
        self.mixed_precision = "bf16" if self.bf16 else "fp16" if self.fp16 else "no"  # not the launcher's any more

    @property
    def checkpoints_dir(self) -> Path:
        """The folder of this run's checkpoints."""
        model = Path(str(self.output_dir))
        return model.with_name(f"{model.name}-checkpoints")


@dataclass
class ModelRecipe(ModelConfig):
    """TRL's ``ModelConfig``; with LoRA the reward head is trained in full."""

    def __post_init__(self) -> None:
        """Check that a model is named and fill in what a reward model needs.

        Raises:
            RecipeError: no model is named.
        """
        super().__post_init__()  # type: ignore[no-untyped-call]
        if not self.model_name_or_path:
            raise RecipeError("model_name_or_path is missing; name the base model, a folder or a Hub id")
        if self.load_in_4bit or self.load_in_8bit:
            raise RecipeError("load_in_4bit and load_in_8bit are not supported; use LoRA with --use_peft")
        if isinstance(self.lora_target_modules, str) and self.lora_target_modules != "all-linear":
            self.lora_target_modules = [
                self.lora_target_modules
            ]  # PEFT reads a single name as a pattern for whole paths
        self.lora_target_modules = self.lora_target_modules or "all-linear"  # type: ignore[assignment]
        self.lora_task_type = "SEQ_CLS"


@dataclass
class DataRecipe:
    """Which pairs to train on and to validate with.

    Either ``dataset_name`` (with its splits), or ``datasets``: a list of mappings with the keys of ``PairSource``.
    """

    dataset_name: str | None = field(
        default=None, metadata={"help": "A name for load_dataset, a folder, a Hub id, or a JSONL file of pairs."}
    )
    dataset_config: str | None = field(default=None, metadata={"help": "The dataset's configuration."})
    dataset_train_split: str = field(default="train", metadata={"help": "The split to train on."})
    dataset_validation_split: str | None = field(
        default=None, metadata={"help": "The split to validate with, if there is to be validation."}
    )
    datasets: list[Any] = field(
        default_factory=list, metadata={"help": "Several sets (in YAML): path, name, split, weight, revision."}
    )
    validation_datasets: list[Any] = field(
        default_factory=list, metadata={"help": "Sets to validate with (in YAML), written like `datasets`."}
    )
    validation_share: float = field(
        default=0.0, metadata={"help": "Share of the premises held out for validation, where no split is named."}
    )
    max_pairs: int | None = field(
        default=None, metadata={"help": "Train on this many pairs only, drawn with the seed."}
    )

    def __post_init__(self) -> None:
        """Turn mappings into sources and check the combination.

        Raises:
            RecipeError: no set, or two ways of naming one.
        """
        for name in ("dataset_config", "dataset_validation_split"):
            if str(getattr(self, name)).lower() in ("none", "null", ""):  # how a command line takes an option back
                setattr(self, name, None)
        self.datasets = [to_source(entry) for entry in self.datasets]
        self.validation_datasets = [to_source(entry) for entry in self.validation_datasets]
        if bool(self.dataset_name) == bool(self.datasets):
            raise RecipeError("name the training pairs with either dataset_name or datasets, not both and not neither")
        between("validation_share", self.validation_share, 0.0, 0.9)
        if self.validation_share and (self.validation_datasets or self.dataset_validation_split):
            raise RecipeError("validation_share is for sets without a validation split; leave one of the two out")

    @property
    def train_sources(self) -> list[PairSource]:
        """The sets to train on."""
        if self.dataset_name is None:
            return list(self.datasets)
        return [PairSource(self.dataset_name, self.dataset_config, self.dataset_train_split)]

    @property
    def validation_sources(self) -> list[PairSource]:
        """The sets to validate with; empty where there is no validation or it is split off the training pairs."""
        named = list(self.validation_datasets)
        if self.dataset_name is not None and self.dataset_validation_split is not None:
            named.insert(0, PairSource(self.dataset_name, self.dataset_config, self.dataset_validation_split))
        return named


class Recipe(NamedTuple):
    """Everything that a training run was asked for."""

    training: TrainingRecipe
    model: ModelRecipe
    data: DataRecipe


class _Parser(TrlParser):
    """TRL's parser, whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise RecipeError(f"{message}; train.py --help lists the options")


def parse_recipe(argv: Sequence[str] | None = None) -> Recipe:
    """Read ``--config FILE.yaml`` and the options that override it.

    Args:
        argv: the command line without the program's name; the real one by default.

    Raises:
        RecipeError: the file is missing or no YAML mapping, or an option is unknown, missing or contradictory.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    known = [f.name for cls in (TrainingRecipe, ModelRecipe, DataRecipe) for f in fields(cls)]
    _check_file(argv, known)
    parser = _Parser([TrainingRecipe, ModelRecipe, DataRecipe], allow_abbrev=False, prog="train.py")  # type: ignore[list-item]
    # bf16 and device placement go wrong on a machine without an accelerator unless this is set before anything else.
    parser.set_defaults(use_cpu=not torch.accelerator.is_available())
    try:
        training, model, data = parser.parse_args_and_config(args=argv)
    except ValueError as error:
        unknown = re.findall(r"'--([^'=]+)", str(error)) if "not used by" in str(error) else []
        if unknown:
            raise RecipeError(_unknown(unknown, known)) from error
        raise RecipeError(f"the recipe cannot be used: {' '.join(str(error).split())}") from error
    if training.keep_layers and model.use_peft and not training.merge_adapter:
        raise RecipeError("keep_layers with an adapter that is not merged: the adapter would be loaded on all layers")
    require_packages(training, model)
    return Recipe(training, model, data)


def _check_file(argv: Sequence[str], known: Sequence[str]) -> None:
    """Read the recipe once by itself, so that its own faults come before those that follow from them."""
    import yaml

    if "--config" not in argv:
        return
    place = argv.index("--config") + 1
    if place >= len(argv):
        raise RecipeError("--config: name a recipe, such as recipes/demo.yaml")
    path = Path(argv[place])
    try:
        options = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); see the folder recipes/") from error
    except yaml.YAMLError as error:
        raise RecipeError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from error
    if not isinstance(options, dict):
        raise RecipeError(f"{path}: expected a mapping of options to values")
    unknown = [str(name) for name in options if name not in known and name != "env"]
    if unknown:
        raise RecipeError(f"{path}: {_unknown(unknown, known)}")


def to_source(entry: Any) -> PairSource:
    """Turn one entry of ``datasets`` into a source.

    Raises:
        RecipeError: no mapping, an unknown key, or no path.
    """
    known = {f.name for f in fields(PairSource)}
    if isinstance(entry, PairSource):
        return entry
    if not isinstance(entry, dict) or "path" not in entry or not set(entry) <= known:
        raise RecipeError(
            f"datasets: {entry!r} is no mapping with path and, as needed, {', '.join(sorted(known - {'path'}))}"
        )
    return PairSource(**entry)


def cpu_has_bf16() -> bool:
    """Return whether the processor multiplies bf16 matrices in hardware; without that bf16 is slower than fp32."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Refuse a value that is not in the list."""
    if value not in known:
        raise RecipeError(f"{name} is {value!r}; expected one of {', '.join(known)}")


def between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside of the closed interval."""
    if not low <= value <= high:
        raise RecipeError(f"{name} is {value}; expected {low} to {high}")


def _unknown(names: Sequence[str], known: Sequence[str]) -> str:
    hints = []
    for name in names:
        near = difflib.get_close_matches(name, known, n=1)
        hints.append(f"{name} (did you mean {near[0]}?)" if near else name)
    return f"unknown option: {', '.join(hints)}"
