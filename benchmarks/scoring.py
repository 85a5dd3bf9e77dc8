"""Speed of scoring: this kit, transformers' pipeline and sentence-transformers, turn by turn on the same stories."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.inputs import PREMISE, mixed_stories, save_reward_model
from benchmarks.waiting import Waiting
from storyalign.training.arguments import cpu_has_bf16


def operations(folder: Path, stories: list[str]) -> tuple[float, int]:
    """Count the floating-point operations that scoring needs, and the tokens.

    Two for each weight outside the embedding and token, and for attention two matrix products over the lower triangle.
    The last layer's feed-forward part is needed at one token a story only, and the kit computes it there only.
    """
    from storyalign.models.chat import render_many
    from storyalign.models.loading import load_reward_model

    loaded = load_reward_model(folder)
    config = loaded.model.config
    weights = sum(p.numel() for n, p in loaded.model.named_parameters() if "embed" not in n)
    lengths = [len(c) for c in render_many(loaded.tokenizer, [(PREMISE, story) for story in stories])]
    width = config.num_attention_heads * config.head_dim
    attention = sum(2 * 2 * width * n * (n + 1) / 2 for n in lengths) * config.num_hidden_layers
    last = sum(p.numel() for p in loaded.model.model.layers[-1].mlp.parameters())
    return 2 * weights * sum(lengths) + attention - 2 * last * (sum(lengths) - len(lengths)), sum(lengths)


def run(rounds: int) -> list[Figure]:
    stories = mixed_stories()
    systems: dict[str, str | None] = {"ours": "float32", "pipeline_8": None, "pipeline_1": None, "cross_encoder": None}
    if cpu_has_bf16():
        systems["ours_bf16"] = "bfloat16"
    else:
        print("this processor has no bf16 instructions: the rows for bf16 are left out")
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_reward_model(Path(temporary) / "model")
        flops, tokens = operations(folder, stories)
        workers = {name: Waiting("benchmarks.worker", name, str(folder)) for name in systems}
        try:
            for worker in workers.values():
                worker.run({"stories": mixed_stories(4, 20, 60), "peak": None})
            results: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
            for _ in range(rounds):
                for name, peak in systems.items():
                    results[name].append(workers[name].run({"stories": stories, "peak": peak}))
        finally:
            for worker in workers.values():
                worker.stop()
    _check_rewards(results)
    return [*_speeds(results, tokens), *_ratios(results, flops)]


def _check_rewards(results: dict[str, list[dict[str, Any]]]) -> None:
    """Refuse to compare speeds of systems that compute something else."""
    expected = results["pipeline_1"][0]["rewards"]
    for name, tolerance in (("ours", 1e-4), ("pipeline_8", 1e-3)):
        found = results[name][0]["rewards"]
        worst = max(abs(a - b) for a, b in zip(expected, found, strict=True))
        if worst > tolerance:
            raise SystemExit(f"{name} and pipeline_1 differ by {worst:.2g}; the comparison would mean nothing")


def _speeds(results: dict[str, list[dict[str, Any]]], tokens: int) -> list[Figure]:
    return [Figure(f"{name}, tokens/s", [tokens / r["seconds"] for r in runs]) for name, runs in results.items()]


def _ratios(results: dict[str, list[dict[str, Any]]], flops: float) -> list[Figure]:
    def times(slow: str, fast: str, what: str, goal: float) -> Figure:
        pairs = zip(results[slow], results[fast], strict=True)
        return Figure(what, [a["seconds"] / b["seconds"] for a, b in pairs], goal)

    def share(system: str, what: str, goal: float) -> Figure:
        return Figure(what, [flops / r["seconds"] / r["flops_per_second"] for r in results[system]], goal)

    figures = [times("pipeline_8", "ours", "ours / transformers pipeline, batch 8", 2.0)]
    figures.append(times("cross_encoder", "ours", "ours / sentence-transformers CrossEncoder", 2.8))
    bf16 = []
    if "ours_bf16" in results:
        bf16 = [
            times("ours", "ours_bf16", "ours bf16 / ours fp32", 1.8),
            share("ours_bf16", "share of the bf16 matrix-product peak", 0.70),
        ]
    return [
        *figures,
        times("pipeline_1", "ours", "ours / transformers pipeline, batch 1", 1.1),
        share("ours", "share of the fp32 matrix-product peak", 0.80),
        *bf16,
    ]
