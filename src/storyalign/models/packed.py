"""The forward pass without padding: several conversations lie one after another in a single row of tokens.

Each segment attends to itself alone, its positions start at zero, and its reward is read at its last token, which is
found by length and never by looking for a padding token. Rewards therefore depend on nothing but the segment.

``enable`` puts this on a sequence-classification model *instance*: called with ``segment_lengths`` the model's own
``forward`` runs packed, so that whatever wraps the model (DDP, FSDP, DeepSpeed) sees the call; called without, it runs
as always. Models whose layers cannot be told apart by segments (sliding windows, recurrent layers, soft caps, heads of
their own) are found by trying, not by name, and go through ``one_by_one``, which is exact for every architecture.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask
from transformers.modeling_outputs import SequenceClassifierOutputWithPast

from storyalign.models import cpu_attention, gpu_attention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel

ATTENTION = "storyalign_packed"
"""The name under which the segment-wise attention is known to transformers."""

_SHAPES_ATTENTION = ("sliding_window", "softcap", "s_aux", "position_bias")


class CannotPackError(Exception):
    """A layer asked for something that segment-wise attention does not do."""


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    segment_lengths: Sequence[int] | None = None,
    segment_starts: torch.Tensor | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention within each segment; without segments, transformers' own SDPA attention.

    Args:
        module: the attention layer.
        query: (1, heads, tokens, head size).
        key: (1, key-value heads, tokens, head size).
        value: like ``key``.
        attention_mask: ignored where segments are given.
        dropout: probability of dropping an attention weight.
        scaling: factor on the scores.
        segment_lengths: tokens of each segment; they sum to ``tokens``.
        segment_starts: (segments + 1,) int32, the same as running sums on the device.
        **kwargs: whatever else the layer passes on.

    Returns:
        (1, tokens, heads, head size), and no weights.

    Raises:
        CannotPackError: the layer wants a window, soft cap, sink or bias, or is not causal.
    """
    ends: Any = getattr(module, "segment_ends", None)
    if ends is not None:  # the last layer: its feed-forward part comes next
        ends[0] = None if segment_starts is None else segment_starts[1:].long() - 1
    if segment_lengths is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    unknown = [name for name in _SHAPES_ATTENTION if kwargs.get(name) is not None]
    if unknown or not kwargs.get("is_causal", getattr(module, "is_causal", True)):
        raise CannotPackError(f"{type(module).__name__} uses {', '.join(unknown) or 'two-sided attention'}")
    if segment_starts is not None and gpu_attention.serves(query, key, dropout):
        longest = max(segment_lengths)
        return gpu_attention.varlen_causal(query, key, value, segment_starts, longest, scaling), None
    # Contiguous heads: the fused CPU kernel reads them up to a tenth faster than slices of interleaved ones.
    segments = zip(*(t.contiguous().split(list(segment_lengths), 2) for t in (query, key, value)), strict=True)
    parts = [_attend(q, k, v, dropout, scaling) for q, k, v in segments]
    return (parts[0] if len(parts) == 1 else torch.cat(parts, 1)).contiguous(), None


def _attend(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float, scaling: float | None
) -> torch.Tensor:
    if cpu_attention.serves(query, dropout):
        return cpu_attention.blockwise_causal(query, key, value, scaling)
    attended = scaled_dot_product_attention(
        query,
        key,
        value,
        dropout_p=dropout,
        is_causal=True,
        scale=scaling,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return attended.transpose(1, 2)


AttentionInterface.register(ATTENTION, packed_attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


def enable(model: PreTrainedModel, *, all_states: bool = False) -> bool:
    """Put the packed forward on this model instance if a trial shows that it computes the same, and return whether.

    A model that cannot is left as it was. Call it before the model is wrapped; calling twice changes nothing.

    Args:
        model: a sequence-classification model.
        all_states: the states of all tokens are wanted, not those of the last tokens alone.
    """
    if can_pack(model):
        return True
    head = getattr(model, "score", None)
    body = getattr(model, model.base_model_prefix, None) if model.base_model_prefix else None
    kinds = set(getattr(model.config.get_text_config(), "layer_types", None) or ["full_attention"])
    if not isinstance(head, torch.nn.Linear) or body is None or kinds != {"full_attention"}:
        return False
    before = model.config._attn_implementation
    layers = getattr(body, "layers", None)
    try:
        model.set_attn_implementation(ATTENTION)
        model.forward = types.MethodType(_forward, model)
        if _trial_agrees(model, head):
            if layers and not all_states:
                _cut_short(model, layers[-1], head)
            return True
    except (CannotPackError, TypeError, ValueError, KeyError):
        pass  # the layers do not take what packing needs: the exact path it is
    vars(model).pop("forward", None)
    model.set_attn_implementation(before)
    return False


def can_pack(model: torch.nn.Module) -> bool:
    """Return whether ``enable`` has put the packed forward on this model."""
    return "forward" in vars(model) and model.config._attn_implementation == ATTENTION  # type: ignore[union-attr]


def packed_rewards(model: torch.nn.Module, segments: Sequence[torch.Tensor]) -> torch.Tensor:
    """Score conversations in one packed forward; gradients flow.

    Args:
        model: a model that ``enable`` accepted, wrapped or not.
        segments: token ids, each a 1-D LongTensor on any device.

    Returns:
        (segments,) float32 rewards.
    """
    device = next(model.parameters()).device
    ids = torch.cat([s.reshape(-1) for s in segments]).unsqueeze(0).to(device)
    output = model(input_ids=ids, segment_lengths=[s.numel() for s in segments], use_cache=False)
    rewards: torch.Tensor = output.logits.squeeze(-1).float()
    return rewards


def packed_states(model: PreTrainedModel, segments: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the states (tokens, hidden size) of all tokens of some conversations, one after another.

    Args:
        model: a model that ``enable`` accepted with ``all_states``.
        segments: token ids, each a 1-D LongTensor on any device.
    """
    device = next(model.parameters()).device
    ids = torch.cat([s.reshape(-1) for s in segments]).unsqueeze(0).to(device)
    return _states(model, ids, [s.numel() for s in segments], use_cache=False)[0][0]


def one_by_one(model: torch.nn.Module, segments: Sequence[torch.Tensor]) -> list[Any]:
    """Run the model's own forward on one conversation at a time, without padding, and give its outputs.

    The padding id is taken out of the configuration meanwhile: heads then read the last token, whatever it is.
    """
    device = next(model.parameters()).device
    rows = [segment.reshape(1, -1).to(device) for segment in segments]
    with _unpadded(getattr(model, "module", model).config):
        return [model(input_ids=row, attention_mask=torch.ones_like(row)) for row in rows]


def _forward(self: Any, input_ids: Any = None, *args: Any, segment_lengths: Any = None, **kwargs: Any) -> Any:
    if segment_lengths is None:
        return type(self).forward(self, input_ids, *args, **kwargs)
    # An adapter's wrapper hands on every argument that it knows, set or not.
    kwargs = {name: value for name, value in kwargs.items() if value is not None and name != "return_dict"}
    hidden, starts = _states(self, input_ids, [int(n) for n in segment_lengths], **kwargs)
    with torch.autocast(hidden.device.type, enabled=False):  # under mixed precision the head still computes in its own
        rewards = self.score(hidden[0, starts[1:] - 1].to(next(self.score.parameters()).dtype))
    return SequenceClassifierOutputWithPast(logits=rewards)


def _states(model: Any, ids: torch.Tensor, lengths: list[int], **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last states (1, tokens, hidden size) of a row of segments, and (segments + 1,) where each begins."""
    device = ids.device
    starts = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32, device=device)
    output = getattr(model, model.base_model_prefix)(
        input_ids=ids,
        # Four dimensions: transformers takes it as a finished mask and builds none; the attention ignores it.
        attention_mask=torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device),
        position_ids=torch.cat([torch.arange(n, device=device) for n in lengths]).unsqueeze(0),
        segment_lengths=lengths,
        segment_starts=starts,
        **kwargs,
    )
    return output.last_hidden_state, starts


def _cut_short(model: PreTrainedModel, layer: Any, head: torch.nn.Linear) -> None:
    """Restrict the last layer's feed-forward part to the token read per segment, if that gives the same.

    All tokens are keys and values still. What the layer adds to the other tokens is wrong then, and nobody reads them.
    The attention hands the places over, as it runs in the same layer just before, also when checkpointing repeats it.
    """
    attention: Any = getattr(layer, "self_attn", None)
    mlp: Any = getattr(layer, "mlp", None)
    if attention is None or mlp is None or "forward" in vars(mlp):
        return
    attention.segment_ends = mlp.segment_ends = [None]
    mlp.forward = types.MethodType(_at_ends, mlp)
    try:
        # Twice: a layer whose feed-forward part runs first would see the places of the segments before.
        if _trial_agrees(model, head) and _trial_agrees(model, head, (4, 2, 13)):
            return
    except (AttributeError, RuntimeError, TypeError, ValueError):
        pass  # its feed-forward part takes or gives more than one tensor
    del vars(mlp)["forward"], attention.segment_ends, mlp.segment_ends


def _at_ends(self: Any, hidden_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    ends, self.segment_ends[0] = self.segment_ends[0], None
    if ends is None:
        return type(self).forward(self, hidden_states, *args, **kwargs)
    read = type(self).forward(self, hidden_states[:, ends], *args, **kwargs)
    return read.new_zeros(hidden_states.shape).index_copy(1, ends, read)


@torch.no_grad()
def _trial_agrees(model: PreTrainedModel, head: torch.nn.Linear, lengths: tuple[int, int, int] = (5, 11, 3)) -> bool:
    """Compare what reaches the head, packed and one by one, on three short segments; leaking changes it by far more."""
    seen: list[torch.Tensor] = []
    hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    was_training = model.training
    model.eval()
    try:
        generator = torch.Generator().manual_seed(0)
        vocabulary = model.config.get_text_config().vocab_size
        segments = [torch.randint(vocabulary, (n,), generator=generator) for n in lengths]
        packed_rewards(model, segments)
        singles = one_by_one(model, segments)
    finally:
        hook.remove()
        model.train(was_training)
    packed, single = seen[0].float(), torch.stack([states[0, -1] for states in seen[1:]]).float()
    plain_head = torch.stack([output.logits.reshape(-1) for output in singles]).float()
    close = (packed - single).norm(dim=-1) <= (1e-3 if model.dtype == torch.float32 else 0.2) * single.norm(dim=-1)
    return bool(close.all()) and torch.allclose(
        head(single.to(head.weight.dtype)).float(), plain_head, rtol=1e-2, atol=1e-3
    )


@contextmanager
def _unpadded(config: Any) -> Iterator[None]:
    """Take the padding id and the key-value cache out of a configuration for a while."""
    saved = [
        (part, name, getattr(part, name))
        for part in {id(c): c for c in (config, config.get_text_config())}.values()
        for name in ("pad_token_id", "use_cache")
        if hasattr(part, name)
    ]
    for part, name, _ in saved:
        setattr(part, name, None if name == "pad_token_id" else False)
    try:
        yield
    finally:
        for part, name, value in saved:
            setattr(part, name, value)
