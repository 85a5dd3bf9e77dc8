"""Trial 1: the same reward for every story earns exactly 1/4, though the chosen story is stored first."""

from __future__ import annotations

from pathlib import Path

import evaluate
import pytest

FOLDER = Path(__file__).parents[2] / "evaluate_metric" / "storyrmb_accuracy"
N = 1133


@pytest.mark.parametrize("reward", [0.0, -3.25, 1e300])
def test_constant_scorer(reward):
    metric = evaluate.load(str(FOLDER))
    result = metric.compute(predictions=[[reward] * 4] * N, references=[0] * N)
    assert result["accuracy"] == 0.25
    assert result["n_ties"] == result["n"] == N
    strict = metric.compute(predictions=[[reward] * 4] * N, references=[0] * N, tie_policy="strict")
    assert strict["accuracy"] == 0.0


def test_rewards_rounded_to_bf16():
    torch = pytest.importorskip("torch")
    # bf16 keeps 8 bits: around 100 the next number is 100.5, so these four become one.
    exact = torch.tensor([[100.1, 100.05, 100.0, 99.9]] * N, dtype=torch.float64)
    rounded = exact.to(torch.bfloat16).to(torch.float64)
    metric = evaluate.load(str(FOLDER))
    assert metric.compute(predictions=exact.tolist(), references=[0] * N)["accuracy"] == 1.0
    result = metric.compute(predictions=rounded.tolist(), references=[0] * N)
    assert result["accuracy"] == 0.25
    assert result["n_ties"] == N
