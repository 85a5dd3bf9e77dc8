"""InternLM2 reward checkpoints as Llama models: the same computation under other names.

The code that ships with these checkpoints needs an older transformers. Their layers are Llama's: the matrices for
queries, keys and values lie in one (``wqkv``: for each key-value head its queries, then the key, then the value), norms
and projections have other names, and the reward is a linear map (``v_head``) of the state at a token of its own, which
ends the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import safe_open
from transformers import LlamaConfig, LlamaForSequenceClassification

from storyalign.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

ARCHITECTURE = "InternLM2ForRewardModel"

_SAME = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "hidden_act", "max_position_embeddings", "rms_norm_eps"),
    *("bos_token_id", "eos_token_id", "pad_token_id"),
)
_NAMES = {
    "model.tok_embeddings.weight": "model.embed_tokens.weight",
    "model.norm.weight": "model.norm.weight",
    "v_head.weight": "score.weight",
    "attention_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "attention.wo.weight": "self_attn.o_proj.weight",
    "attention.wo.bias": "self_attn.o_proj.bias",
    "feed_forward.w1.weight": "mlp.gate_proj.weight",
    "feed_forward.w3.weight": "mlp.up_proj.weight",
    "feed_forward.w2.weight": "mlp.down_proj.weight",
}
_LAYER = re.compile(r"(model\.layers\.\d+\.)(.+)")


def is_internlm2_reward(config: dict[str, Any]) -> bool:
    """Return whether a checkpoint is one of these, by its ``config.json``."""
    return ARCHITECTURE in (config.get("architectures") or [])


def load_internlm2_reward(folder: Path, raw: dict[str, Any], dtype: torch.dtype) -> PreTrainedModel:
    """Load a checkpoint as a Llama model with a reward head.

    Args:
        folder: holds ``*.safetensors``.
        raw: its ``config.json``.
        dtype: precision of the weights.

    Raises:
        ModelError: the configuration or the weights are not what is expected; nothing is left out silently.
    """
    config = _config(folder, raw)
    with torch.device("meta"):
        model = LlamaForSequenceClassification(config)
    weights: dict[str, torch.Tensor] = {}
    for name, tensor in _tensors(folder):
        for new_name, part in _translate(name, tensor, raw):
            weights[new_name] = part.to(dtype)
    expected = set(model.state_dict())
    if wrong := sorted(expected ^ set(weights)):
        raise ModelError(f"{folder}: the weights are not those of {ARCHITECTURE} ({', '.join(wrong[:3])})")
    try:
        model.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise ModelError(f"{folder}: the weights do not fit the configuration ({reason})") from error
    rotary = type(model.model.rotary_emb)(config)  # its tables are no weights: they were made on no device
    model.model.rotary_emb = rotary
    return model


def _config(folder: Path, raw: dict[str, Any]) -> LlamaConfig:
    missing = [key for key in (*_SAME, "rope_theta", "reward_token_id") if key not in raw]
    if missing:
        raise ModelError(f"{folder / 'config.json'}: {', '.join(missing[:3])} missing")
    if raw.get("rope_scaling"):
        raise ModelError(f"{folder / 'config.json'}: rope_scaling {raw['rope_scaling']} is not known here")
    rope = {"rope_type": "default", "rope_theta": raw["rope_theta"]}
    same = {key: raw[key] for key in _SAME}
    own: dict[str, Any] = {"reward_token_id": raw["reward_token_id"], "num_labels": 1}
    return LlamaConfig(**same, **own, rope_parameters=rope, attention_bias=bool(raw.get("bias")))


def _tensors(folder: Path) -> Iterator[tuple[str, torch.Tensor]]:
    for path in sorted(folder.glob("model*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118
                yield name, file.get_tensor(name)


def _translate(name: str, tensor: torch.Tensor, raw: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    layer = _LAYER.fullmatch(name)
    prefix, rest = (layer[1], layer[2]) if layer else ("", name)
    if rest.startswith("attention.wqkv."):
        kind = rest.rsplit(".", 1)[1]
        for part, matrix in zip(("q", "k", "v"), _split(tensor, raw), strict=True):
            yield f"{prefix}self_attn.{part}_proj.{kind}", matrix
    else:
        yield prefix + _NAMES.get(rest, rest), tensor


def _split(fused: torch.Tensor, raw: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Take queries, keys and values apart."""
    heads, queries = int(raw["num_key_value_heads"]), int(raw["num_attention_heads"])
    groups = queries // heads
    by_head = fused.reshape(heads, groups + 2, int(raw["hidden_size"]) // queries, *fused.shape[1:])

    def joined(part: torch.Tensor) -> torch.Tensor:
        return part.reshape(-1, *fused.shape[1:]).contiguous()

    return joined(by_head[:, :groups]), joined(by_head[:, groups]), joined(by_head[:, groups + 1])
