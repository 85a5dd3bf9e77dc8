"""InternLM2's reward model in plain tensor operations, written after its published description; for comparison only."""

from __future__ import annotations

import math

import torch


def random_weights(config: dict, seed: int = 5) -> dict[str, torch.Tensor]:
    """Weights under InternLM2's names."""
    generator = torch.Generator().manual_seed(seed)
    size, inner, heads, kv = (
        config[k] for k in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads")
    )

    def matrix(*shape):
        return torch.randn(*shape, generator=generator) * 0.2

    weights = {"model.tok_embeddings.weight": matrix(config["vocab_size"], size), "v_head.weight": matrix(1, size)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        weights |= {
            at + "attention.wqkv.weight": matrix((heads + 2 * kv) * (size // heads), size),
            at + "attention.wo.weight": matrix(size, size),
            at + "feed_forward.w1.weight": matrix(inner, size),
            at + "feed_forward.w2.weight": matrix(size, inner),
            at + "feed_forward.w3.weight": matrix(inner, size),
            at + "attention_norm.weight": 1 + matrix(size),
            at + "ffn_norm.weight": 1 + matrix(size),
        }
    return weights | {"model.norm.weight": 1 + matrix(size)}


def reward(ids: list[int], weights: dict[str, torch.Tensor], config: dict) -> float:
    """Read the reward at the last token, which must be the reward token."""
    assert ids[-1] == config["reward_token_id"]
    heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
    groups, width = heads // kv, config["hidden_size"] // heads
    state = weights["model.tok_embeddings.weight"][ids].double()
    n = len(ids)
    angles = torch.outer(
        torch.arange(n).double(), config["rope_theta"] ** -(torch.arange(0, width, 2).double() / width)
    )

    def norm(x, name):
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + config["rms_norm_eps"]) * weights[name].double()

    def rotate(x):  # (tokens, heads, width): pairs are (i, i + width / 2)
        a, b = x[..., : width // 2], x[..., width // 2 :]
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        mixed = norm(state, at + "attention_norm.weight") @ weights[at + "attention.wqkv.weight"].double().T
        mixed = mixed.reshape(n, kv, groups + 2, width)
        query, key, value = mixed[:, :, :groups], mixed[:, :, groups], mixed[:, :, groups + 1]
        query, key = rotate(query.reshape(n, heads, width)).reshape(n, kv, groups, width), rotate(key)
        out = torch.zeros(n, kv, groups, width, dtype=torch.double)
        for j in range(kv):
            for g in range(groups):
                scores = query[:, j, g] @ key[:, j].T / math.sqrt(width)
                scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
                out[:, j, g] = scores.softmax(-1) @ value[:, j]
        state = state + out.reshape(n, -1) @ weights[at + "attention.wo.weight"].double().T
        inner = norm(state, at + "ffn_norm.weight")
        gate, up, down = (weights[f"{at}feed_forward.{w}.weight"].double() for w in ("w1", "w3", "w2"))
        state = state + (torch.nn.functional.silu(inner @ gate.T) * (inner @ up.T)) @ down.T
    return float((norm(state, "model.norm.weight")[-1] @ weights["v_head.weight"].double().T).item())
