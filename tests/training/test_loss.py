from __future__ import annotations

import math

import pytest
import torch

from storyalign.training.loss import pair_losses

CHOSEN, REJECTED = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 1.0])


def minus_log_sigmoid(x: float) -> float:
    return math.log1p(math.exp(-x))


def test_bradley_terry() -> None:
    expected = [minus_log_sigmoid(1.5), minus_log_sigmoid(-2.0)]
    assert pair_losses(CHOSEN, REJECTED).tolist() == pytest.approx(expected, rel=1e-6)


def test_margin_asks_for_more() -> None:
    losses = pair_losses(CHOSEN, REJECTED, margin=torch.tensor([0.5, 0.0]))
    assert losses.tolist() == pytest.approx([minus_log_sigmoid(1.0), minus_log_sigmoid(-2.0)], rel=1e-6)


def test_label_smoothing_mixes_both_directions() -> None:
    expected = [0.9 * minus_log_sigmoid(1.5) + 0.1 * minus_log_sigmoid(-1.5)]
    assert pair_losses(CHOSEN[:1], REJECTED[:1], label_smoothing=0.1).tolist() == pytest.approx(expected, rel=1e-6)


def test_centering_punishes_the_sum() -> None:
    plain, centered = pair_losses(CHOSEN, REJECTED), pair_losses(CHOSEN, REJECTED, center=0.01)
    assert (centered - plain).tolist() == pytest.approx([0.01 * 2.5**2, 0.0], abs=1e-7)


def test_computes_in_fp32_and_survives_large_differences() -> None:
    losses = pair_losses(torch.tensor([-3e4], dtype=torch.bfloat16), torch.tensor([3e4], dtype=torch.bfloat16))
    assert losses.dtype == torch.float32 and torch.isfinite(losses).all()
