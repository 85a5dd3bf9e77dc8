"""Rewards read from the mean of a story's token states, by a linear head, in place of the last token alone.

On disk such a model is a folder of sentence-transformers modules (``Transformer``, ``Pooling`` with the mean of all
tokens but the prompt's, ``Dense`` to one number), so it loads without this package and without remote code:
``SentenceTransformer(folder).encode(stories, prompt=PREFIX)``, where PREFIX is everything of the conversation before
the story. In memory it is a sequence-classification model of the same body whose ``score`` head reads the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from storyalign.errors import ModelError
from storyalign.files import write_json
from storyalign.models.packed import can_pack, packed_states

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Span = tuple[int, int]
"""First token of a story in its conversation, and the one after its last."""

_MODULES = "modules.json"
POOLING, DENSE = "1_Pooling", "2_Dense"
_MEAN = {"pooling_mode": "mean", "include_prompt": False}


def is_pooled(folder: Path) -> bool:
    """Return whether a folder holds sentence-transformers modules rather than a sequence-classification model."""
    return (folder / _MODULES).is_file()


def story_means(
    model: PreTrainedModel, segments: Sequence[torch.Tensor], spans: Sequence[Span], layers: Sequence[int] = ()
) -> torch.Tensor:
    """Return the mean of each story's token states after the final norm.

    Args:
        model: a sequence-classification model, whose body alone is run; packed if ``enable`` accepted it whole.
        segments: token ids of the conversations, each a 1-D LongTensor.
        spans: where the story lies in each; at least one token long.
        layers: the layers to read, counted from 1; by default the model's last one.

    Returns:
        (segments, layers, hidden size), float32.

    Raises:
        ModelError: layers below the last are asked of a model whose layers or final norm cannot be found.
    """
    body = getattr(model, model.base_model_prefix)
    kept: dict[int, torch.Tensor] = {}
    hooks = []
    stack: Any = getattr(body, "layers", None)
    norm: Any = getattr(body, "norm", None)
    below = [layer for layer in layers if stack is None or layer != len(stack)]
    if below and (stack is None or norm is None):
        raise ModelError(f"{type(body).__name__}: its layers and final norm are not known; pool its last layer alone")
    for layer in below:
        hooks.append(stack[layer - 1].register_forward_hook(_keep(kept, layer)))
    try:
        if can_pack(model):
            return _means(packed_states(model, segments), _in_row(segments, spans), kept, norm, layers)
        device = next(model.parameters()).device
        rows = []
        for segment, span in zip(segments, spans, strict=True):
            ids = segment.reshape(1, -1).to(device)
            last = body(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
            rows.append(_means(last, [span], kept, norm, layers))
        return torch.cat(rows)
    finally:
        for hook in hooks:
            hook.remove()


def pooled_rewards(model: PreTrainedModel, segments: Sequence[torch.Tensor], spans: Sequence[Span]) -> torch.Tensor:
    """Return (segments,) float32 rewards of a pooled model; see ``story_means``."""
    head: Any = model.score
    rewards: torch.Tensor = head(story_means(model, segments, spans)[:, 0]).squeeze(-1)
    return rewards


def save_pooled(
    folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, weight: torch.Tensor, bias: float
) -> None:
    """Write a model's body with a linear head on the mean of the story's states as sentence-transformers modules.

    Args:
        folder: an empty folder.
        model: the sequence-classification model whose body is saved, its final norm included.
        tokenizer: the model's.
        weight: (hidden size,) of the head.
        bias: of the head.
    """
    body: Any = getattr(model, model.base_model_prefix)
    body.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = weight.numel()
    types = {"": "base.modules.transformer.Transformer", DENSE: "base.modules.dense.Dense"}
    types[POOLING] = "sentence_transformer.modules.pooling.Pooling"
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.{types[path]}"}
        for n, path in enumerate(("", POOLING, DENSE))
    ]
    write_json(folder / POOLING / "config.json", {"embedding_dimension": size, **_MEAN})
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    write_json(folder / DENSE / "config.json", {"in_features": size, "out_features": 1, "bias": True, **identity})
    head = {"linear.weight": weight.float().reshape(1, -1).contiguous(), "linear.bias": torch.tensor([bias])}
    save_file(head, folder / DENSE / "model.safetensors")
    write_json(folder / "sentence_bert_config.json", {"transformer_task": "feature-extraction"})
    write_json(folder / _MODULES, modules)


def pooled_head(folder: Path, pooling: dict[str, Any] | None, dense: dict[str, Any] | None) -> torch.nn.Linear:
    """Return the head of a pooled model.

    Args:
        folder: of the model.
        pooling: the configuration of its second module, None where there is none.
        dense: that of its third.

    Raises:
        ModelError: the modules are not mean pooling and a head of one number.
    """
    ours = pooling is not None and all(pooling.get(key) == value for key, value in _MEAN.items())
    if not ours or dense is None or dense.get("out_features") != 1:
        raise ModelError(
            f"{folder}: an embedding model of sentence-transformers; a reward model pools the mean of the story "
            f"({POOLING}) and ends in a head of one number ({DENSE})"
        )
    file = folder / DENSE / "model.safetensors"
    if not file.is_file():
        raise ModelError(f"{file}: is missing; the kit loads no pickled weights")
    weights = load_file(file)
    head = torch.nn.Linear(weights["linear.weight"].shape[1], 1)
    head.load_state_dict({name.removeprefix("linear."): value for name, value in weights.items()})
    return head


def _keep(kept: dict[int, torch.Tensor], layer: int) -> Any:
    def hook(_: Any, __: Any, output: Any) -> None:
        kept[layer] = output[0] if isinstance(output, tuple) else output

    return hook


def _in_row(segments: Sequence[torch.Tensor], spans: Sequence[Span]) -> list[Span]:
    """Return where the stories lie once all segments stand one after another."""
    moved, start = [], 0
    for segment, (first, end) in zip(segments, spans, strict=True):
        moved.append((start + first, start + end))
        start += segment.numel()
    return moved


def _means(
    last: torch.Tensor, spans: Sequence[Span], kept: dict[int, torch.Tensor], norm: Any, layers: Sequence[int]
) -> torch.Tensor:
    states = [norm(kept[layer]).reshape(last.shape) if layer in kept else last for layer in layers or (0,)]
    return torch.stack([torch.stack([s[a:b].float().mean(0) for s in states]) for a, b in spans])
