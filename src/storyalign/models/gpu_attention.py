"""Causal attention over all segments in one kernel, on CUDA devices in half precision, where PyTorch brings it.

Elsewhere each segment is one call of PyTorch's scaled dot-product attention, which gives the same and costs a launch
a segment.
"""

from __future__ import annotations

from functools import cache

import torch


def serves(query: torch.Tensor, key: torch.Tensor, dropout: float) -> bool:
    """Return whether ``varlen_causal`` can be used for these queries on this device; tried once and remembered."""
    if query.device.type != "cuda" or query.dtype not in (torch.float16, torch.bfloat16) or dropout != 0.0:
        return False
    return _works(query.device, query.dtype, query.shape[1], key.shape[1], query.shape[-1])


def varlen_causal(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    starts: torch.Tensor,
    longest: int,
    scale: float | None = None,
) -> torch.Tensor:
    """Attend causally within each segment.

    Args:
        query: (1, heads, tokens, size).
        key: (1, key-value heads, tokens, size).
        value: like ``key``.
        starts: (segments + 1,) int32 on the same device: where each segment starts, and the end of the last.
        longest: tokens of the longest segment.
        scale: factor on the scores; one over the root of ``size`` by default.

    Returns:
        (1, tokens, heads, size).
    """
    from torch.nn.attention.varlen import varlen_attn

    q, k, v = (t[0].transpose(0, 1).contiguous() for t in (query, key, value))
    output = varlen_attn(
        q, k, v, starts, starts, longest, longest,
        scale=scale, window_size=(-1, 0), enable_gqa=query.shape[1] != key.shape[1],
    )  # fmt: skip
    assert isinstance(output, torch.Tensor)
    return output.unsqueeze(0)


@cache
def _works(device: torch.device, dtype: torch.dtype, heads: int, groups: int, size: int) -> bool:
    query = torch.zeros(1, heads, 4, size, dtype=dtype, device=device)
    key = torch.zeros(1, groups, 4, size, dtype=dtype, device=device)
    starts = torch.tensor([0, 1, 4], dtype=torch.int32, device=device)
    try:
        varlen_causal(query, key, key, starts, 3)
    except (ImportError, RuntimeError, TypeError, ValueError):
        return False  # an older PyTorch or card: one call a segment does the same
    return True
