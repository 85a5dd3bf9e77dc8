"""Loading a reward model: one label, its own trained head, safetensors only, remote code only by explicit consent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from storyalign.errors import MissingExtraError, ModelError
from storyalign.models.base_model import resolve_base as resolve_base
from storyalign.models.removed_names import removed_names
from storyalign.models.text_pairs import pass_token_types

try:
    import torch
    import transformers
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer
except ModuleNotFoundError as missing:
    raise MissingExtraError("train", missing.name or "transformers") from missing

from storyalign.models.internlm2 import is_internlm2_reward, load_internlm2_reward
from storyalign.models.mean_pooling import DENSE, POOLING, is_pooled, pooled_head

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DType = Literal["fp32", "bf16"]
DTYPES: dict[str, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}

_COMMIT = re.compile(r"[0-9a-f]{40}")
_LOADED_WITH = ("AutoModel", "AutoModelForSequenceClassification")
_PAD_NAMES = ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>", "<|endoftext|>", "<unk>")


@dataclass(frozen=True)
class RewardModel:
    """A loaded reward model and what it was loaded from."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    name: str
    """What the user called it."""
    folder: Path
    """The local folder with its files."""
    base_folder: Path | None
    """The folder of the model under an adapter; None where there is no adapter."""
    revision: str | None
    dtype: DType
    new_head: bool
    """The checkpoint had no reward head, and an untrained one was put in its place."""
    pooled: bool = False
    """The head reads the mean of the story's token states, not the last token's."""

    @property
    def max_length(self) -> int | None:
        """Tokens that the model was made for, where its configuration or its table of positions says so."""
        stated = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        limits = [int(stated)] if stated else []
        for name, table in self.model.named_modules():
            if name.endswith("position_embeddings") and isinstance(table, torch.nn.Embedding):
                # RoBERTa and its kin number positions from the padding id on: 514 rows serve 512 tokens.
                unused = 0 if table.padding_idx is None else table.padding_idx + 1
                limits.append(table.num_embeddings - unused)
        return min(limits, default=None)


def load_reward_model(
    path: str | Path,
    *,
    revision: str | None = None,
    dtype: DType = "fp32",
    trust_remote_code: bool = False,
    device: str | torch.device | None = None,
    attention: str | None = None,
    allow_new_head: bool = False,
) -> RewardModel:
    """Load a scalar reward model with its tokenizer, in evaluation mode.

    Args:
        path: a local folder (a model, or a PEFT adapter, which is merged) or a Hub id.
        revision: branch, tag or commit on the Hub; with remote code a full commit.
        dtype: precision of the body; the reward head always computes in float32.
        trust_remote_code: run the code that comes with the model.
        device: where to put it; the accelerator where there is one.
        attention: an attention implementation of transformers; its own choice by default.
        allow_new_head: for training: a checkpoint without a reward head gets a new, untrained one.

    Raises:
        ModelError: the files cannot be had or read; there is no trained head, or one with several labels; weights are
            not safetensors; remote code was not allowed, or its commit not pinned.
    """
    if dtype not in DTYPES:
        raise ModelError(f"dtype {dtype!r} is unknown; choose fp32 or bf16")
    _check_consent(path, revision, trust_remote_code)
    folder = resolve_base(path, revision=revision)
    adapter = _read_json(folder / "adapter_config.json")
    base_folder = None
    pooled = adapter is None and is_pooled(folder)
    if pooled:
        model, new_head = _load_pooled(folder, dtype, attention), False
    elif adapter is None:
        model, new_head = _load(folder, dtype, trust_remote_code, attention, allow_new_head, revision)
    else:
        base = str(adapter.get("base_model_name_or_path"))
        base_folder = resolve_base(base, revision=adapter.get("revision"))
        model, new_head = _load_adapter(folder, base_folder, dtype, trust_remote_code, attention), False
    source = folder if base_folder is None or (folder / "tokenizer_config.json").is_file() else base_folder
    tokenizer = load_tokenizer(source, trust_remote_code=trust_remote_code)
    separate_padding(model, tokenizer)
    pass_token_types(model, tokenizer)
    keep_head_in_fp32(model)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model.to(chosen).eval()  # type: ignore[arg-type]
    return RewardModel(model, tokenizer, str(path), folder, base_folder, revision, dtype, new_head, pooled)


def separate_padding(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Set one padding token for model and tokenizer, other than the end token where the vocabulary has one to spare.

    The kit's rewards never depend on it; tools that look for the last token by its padding do.
    """
    stated = getattr(model.config.get_text_config(), "eos_token_id", None)
    ending = {tokenizer.eos_token_id, *(stated if isinstance(stated, list) else [stated])}
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id in ending:
        known = tokenizer.get_vocab()
        spare = next((t for t in _PAD_NAMES if t in known and known[t] not in ending), None)
        if spare is not None or tokenizer.pad_token_id is None:
            tokenizer.pad_token = spare or tokenizer.eos_token
    for config in (model.config, model.config.get_text_config()):
        config.pad_token_id = tokenizer.pad_token_id


def head_modules(model: PreTrainedModel) -> list[str]:
    """Return the modules with weights beside the body: ``score``, or an encoder's ``pooler`` and ``classifier``."""
    return [
        name
        for name, module in model.named_children()
        if name != model.base_model_prefix and next(module.parameters(), None) is not None
    ]


def label_reward(model: PreTrainedModel) -> None:
    """Name the one label of a reward model in its configuration."""
    model.config.id2label, model.config.label2id = {0: "reward"}, {"reward": 0}


def keep_head_in_fp32(model: torch.nn.Module) -> None:
    """Make a linear ``score`` head compute in float32, whatever the precision of the body."""
    head = getattr(model, "score", None)
    if isinstance(head, torch.nn.Linear) and any(weight.dtype != torch.float32 for weight in model.parameters()):
        head.float()
        head.register_forward_pre_hook(lambda layer, inputs: (inputs[0].to(layer.weight.dtype), *inputs[1:]))


def _check_consent(path: str | Path, revision: str | None, trust_remote_code: bool) -> None:
    if trust_remote_code and not Path(path).expanduser().is_dir() and not _COMMIT.fullmatch(revision or ""):
        raise ModelError(
            f"{path}: remote code runs only from a pinned commit; read the code on the Hub, "
            "then give --revision with its 40 hexadecimal digits"
        )


def _load(
    folder: Path, dtype: DType, trust: bool, attention: str | None, allow_new_head: bool, revision: str | None = None
) -> tuple[PreTrainedModel, bool]:
    raw = _read_json(folder / "config.json")
    if raw and is_internlm2_reward(raw):
        _require_safetensors(folder, "model")
        return load_internlm2_reward(folder, raw, DTYPES[dtype]), False
    config = _config(folder, trust)
    auto, has_head = _auto_class(config, trust)
    own_code = trust and bool(getattr(config, "auto_map", None))
    if has_head and not own_code and config.num_labels != 1:
        raise ModelError(f"{folder}: its head gives {config.num_labels} labels; a reward model gives 1")
    if not has_head and not allow_new_head:
        raise ModelError(f"{folder}: {_architecture(config)} has no reward head; train one, or give a reward model")
    _require_safetensors(folder, "model")
    extra: dict[str, Any] = {} if own_code else {"num_labels": 1}
    if attention:
        extra["attn_implementation"] = attention
    with _quiet_loading(), _as_model_error(f"{folder}: cannot be loaded"), removed_names():
        model, info = auto.from_pretrained(
            folder,
            dtype=DTYPES[dtype],
            use_safetensors=True,
            trust_remote_code=trust,
            output_loading_info=True,
            **extra,
        )
    missing = sorted(info["missing_keys"])
    heads = [key for key in missing if not key.startswith(f"{model.base_model_prefix}.")]
    if missing and (len(heads) != len(missing) or not allow_new_head):
        what = "its reward head" if heads == missing else "weights"
        raise ModelError(f"{folder}: the checkpoint lacks {what} ({', '.join(missing[:3])}); scores would be random")
    return model, bool(missing)


def _load_pooled(folder: Path, dtype: DType, attention: str | None) -> PreTrainedModel:
    configs = (_read_json(folder / name / "config.json") for name in (POOLING, DENSE))
    head = pooled_head(folder, *configs)
    model, _ = _load(folder, dtype, False, attention, allow_new_head=True)
    model.score = head
    return model


def _load_adapter(folder: Path, base_folder: Path, dtype: DType, trust: bool, attention: str | None) -> PreTrainedModel:
    try:
        from peft import PeftModel
    except ModuleNotFoundError as error:
        raise MissingExtraError("train", "peft") from error
    from safetensors import safe_open

    _require_safetensors(folder, "adapter_model")
    base, new_head = _load(base_folder, "fp32", trust, attention, allow_new_head=True)
    with safe_open(folder / "adapter_model.safetensors", "pt") as file:
        held = {part for key in file.keys() for part in key.split(".")}  # noqa: SIM118
    if new_head and not held.issuperset(head := head_modules(base)):
        names = ", ".join(head)
        raise ModelError(f"{folder}: the adapter holds no reward head; train it with modules_to_save: [{names}]")
    with _quiet_loading(), _as_model_error(f"{folder}: cannot be loaded"):
        merged = PeftModel.from_pretrained(base, folder).merge_and_unload()
    return merged.to(DTYPES[dtype])  # type: ignore[no-any-return]


def load_tokenizer(
    source: str | Path, *, revision: str | None = None, trust_remote_code: bool = False
) -> PreTrainedTokenizerBase:
    """Load a model's tokenizer without the model.

    Args:
        source: a local folder or a Hub id.
        revision: branch, tag or commit on the Hub.
        trust_remote_code: run the code that comes with the tokenizer.

    Raises:
        ModelError: it cannot be loaded.
    """
    with _as_model_error(f"{source}: its tokenizer cannot be loaded"):
        return AutoTokenizer.from_pretrained(source, revision=revision, trust_remote_code=trust_remote_code)


def _config(folder: Path, trust: bool) -> Any:
    raw = _read_json(folder / "config.json")
    if raw is None:
        raise ModelError(f"{folder}: no config.json; give a model folder or a PEFT adapter folder")
    own = {key: str(value) for key, value in (raw.get("auto_map") or {}).items() if key in _LOADED_WITH}
    if own and not trust:
        raise ModelError(
            f"{folder}: the model brings code of its own; read it, then allow it with --trust-remote-code "
            "(and, for the Hub, --revision with a full commit)"
        )
    foreign = next((value for value in own.values() if "--" in value), None)
    if foreign:
        raise ModelError(f"{folder}: its code stands in another repository ({foreign}), which no revision here can pin")
    with _as_model_error(f"{folder}: cannot be loaded"):
        return AutoConfig.from_pretrained(folder, trust_remote_code=trust)


def _auto_class(config: Any, trust: bool) -> tuple[Any, bool]:
    """Choose the class to load with, and tell whether the checkpoint was saved with a head for sequences."""
    own = getattr(config, "auto_map", None) or {}
    if trust and "AutoModelForSequenceClassification" in own:
        return AutoModelForSequenceClassification, True
    if trust and "AutoModel" in own:
        return AutoModel, True
    return AutoModelForSequenceClassification, _architecture(config).endswith("ForSequenceClassification")


def _architecture(config: Any) -> str:
    return str((getattr(config, "architectures", None) or ["a model without a stated architecture"])[0])


def _require_safetensors(folder: Path, stem: str) -> None:
    if not any(folder.glob(f"{stem}*.safetensors")):
        raise ModelError(f"{folder}: no {stem}.safetensors; the kit loads no pickled weights, convert them first")


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read as JSON ({error})") from error
    return value if isinstance(value, dict) else {}


@contextmanager
def _as_model_error(what: str) -> Iterator[None]:
    """Raise one line for files that cannot be read; their readers, and code that comes with them, raise anything."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(f"{what} ({reason})") from error


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """Keep transformers' load report and progress bar off the screen: what matters in them is raised as an error."""
    log = transformers.utils.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
