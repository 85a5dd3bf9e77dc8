"""Causal attention for bfloat16 on CPUs, without gradients, in blocks of queries.

PyTorch's fused CPU kernel computes bfloat16 at the speed of float32. Plain matrix products run at full bfloat16 speed;
taken in blocks of rows, they leave out all keys that lie ahead, so only half a block is computed in vain. As in
transformers' eager attention, scores are rounded to bfloat16 before the softmax.
"""

from __future__ import annotations

import torch


def serves(query: torch.Tensor, dropout: float) -> bool:
    """Return whether ``blockwise_causal`` is the faster way for these queries."""
    return (
        query.device.type == "cpu"
        and query.dtype == torch.bfloat16
        and query.shape[-2] >= 128
        and dropout == 0.0
        and not torch.is_grad_enabled()
    )


def blockwise_causal(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float | None = None
) -> torch.Tensor:
    """Attend causally within one segment.

    Args:
        query: (1, heads, tokens, size).
        key: (1, key-value heads, tokens, size); each serves heads / key-value heads queries in a row.
        value: like ``key``.
        scale: factor on the scores; one over the root of ``size`` by default.

    Returns:
        (1, tokens, heads, size), contiguous.
    """
    _, heads, tokens, size = query.shape
    groups = key.shape[1]
    queries = (query[0] * (size**-0.5 if scale is None else scale)).reshape(groups, heads // groups, tokens, size)
    keys, values = key[0].transpose(1, 2).contiguous(), value[0].contiguous()
    block = 64 if tokens < 512 else 128
    ahead = query.new_full((block, block), float("-inf")).triu_(1)
    output = query.new_empty(1, tokens, groups, heads // groups, size)
    for start in range(0, tokens, block):
        end = min(start + block, tokens)
        rows = end - start
        scores = torch.bmm(queries[:, :, start:end].reshape(groups, -1, size), keys[:, :, :end])
        scores.view(groups, -1, rows, end)[..., start:] += ahead[:rows, :rows]
        attended = torch.bmm(scores.softmax(-1), values[:, :end])
        output[0, start:end] = attended.view(groups, -1, rows, size).permute(2, 0, 1, 3)
    return output.view(1, tokens, heads, size)
