import itertools

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from storyalign.models import cpu_attention, gpu_attention
from storyalign.models.packed import packed_attention


def heads(tokens, seed=0, dtype=torch.float32, groups=2):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(1, 6, tokens, 16), (1, groups, tokens, 16), (1, groups, tokens, 16)]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def reference(query, key, value, scale=None):
    full = scaled_dot_product_attention(
        query.double(), key.double(), value.double(), is_causal=True, enable_gqa=True, scale=scale
    )
    return full.transpose(1, 2)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("tokens", [1, 63, 64, 65, 130, 512, 700])
def test_blocks_give_causal_attention(tokens, groups):
    query, key, value = heads(tokens, tokens, groups=groups)
    for scale in (None, 0.4):
        found = cpu_attention.blockwise_causal(query, key, value, scale)
        torch.testing.assert_close(found.double(), reference(query, key, value, scale), rtol=0, atol=1e-5)
    assert found.is_contiguous()


@torch.inference_mode()
def test_blocks_in_bf16_are_as_near_as_the_fused_kernel():
    query, key, value = heads(600, dtype=torch.bfloat16)
    exact = reference(query, key, value)
    found = cpu_attention.blockwise_causal(query, key, value).double()
    fused = scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True).transpose(1, 2).double()
    assert (found - exact).norm() < 2 * (fused - exact).norm() < 0.02 * exact.norm()


def test_blocks_are_used_where_they_pay_only():
    (query,) = heads(600, dtype=torch.bfloat16)[:1]
    assert not cpu_attention.serves(query, 0.0), "gradients go through the fused kernel"
    with torch.no_grad():
        assert cpu_attention.serves(query, 0.0)
        assert not cpu_attention.serves(query, 0.1)
        assert not cpu_attention.serves(query.float(), 0.0)
        assert not cpu_attention.serves(query[:, :, :100], 0.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.inference_mode()
def test_segments_attend_to_themselves_alone(dtype):
    lengths = [5, 200, 1, 40]
    query, key, value = heads(sum(lengths), dtype=dtype)
    module = torch.nn.Module()
    found, _ = packed_attention(module, query, key, value, None, segment_lengths=lengths)
    parts = [reference(*p) for p in zip(*(t.split(lengths, 2) for t in (query, key, value)), strict=True)]
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(found.double(), torch.cat(parts, 1), rtol=0, atol=tolerance)


def test_the_one_kernel_way_hands_over_what_the_kernel_documents(monkeypatch):
    """No CUDA here: a stand-in with the documented interface shows that rows, offsets and causality arrive right."""
    import torch.nn.attention.varlen as varlen

    def stand_in(query, key, value, starts, starts_k, longest, longest_k, *, scale, window_size, enable_gqa):
        assert (starts.dtype, window_size, enable_gqa) == (torch.int32, (-1, 0), True)
        assert starts is starts_k
        assert longest == longest_k == max(b - a for a, b in itertools.pairwise(starts.tolist()))
        outputs = [
            reference(*(t[a:b].transpose(0, 1)[None] for t in (query, key, value)), scale)[0].float()
            for a, b in itertools.pairwise(starts.tolist())
        ]
        return torch.cat(outputs)

    monkeypatch.setattr(varlen, "varlen_attn", stand_in)
    monkeypatch.setattr(gpu_attention, "serves", lambda *_: True)
    lengths = [5, 200, 1, 40]
    query, key, value = heads(sum(lengths))
    starts = torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)
    module = torch.nn.Module()
    found, _ = packed_attention(module, query, key, value, None, segment_lengths=lengths, segment_starts=starts)
    monkeypatch.undo()
    expected, _ = packed_attention(module, query, key, value, None, segment_lengths=lengths)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
