from __future__ import annotations

import pytest
import torch
from accelerate import Accelerator

from storyalign.training.tally import Tally


def add(tally: Tally, chosen: list[float], rejected: list[float], weights: list[float]) -> None:
    tally.add(torch.tensor(chosen), torch.tensor(rejected), torch.tensor(chosen), torch.tensor(weights))


def test_means_over_uneven_batches_are_exact() -> None:
    tally = Tally()
    add(tally, [1.0, 2.0, 3.0], [0.0, 2.0, 5.0], [1, 1, 1])
    add(tally, [4.0], [0.0], [1])
    figures = tally.drain(Accelerator(cpu=True)).figures()
    # Right, tie, wrong, right: 1 + 0.5 + 0 + 1 of 4. A mean of the two batches' means would be 0.75.
    assert figures["accuracy"] == 0.625
    assert figures["margin"] == (1 + 0 - 2 + 4) / 4
    assert figures["loss"] == 2.5
    assert (figures["n"], figures["ties"]) == (4, 1)
    assert figures["reward_mean"] == (1 + 0 + 2 + 2 + 3 + 5 + 4 + 0) / 8
    values = torch.tensor([1.0, 0, 2, 2, 3, 5, 4, 0], dtype=torch.float64)
    assert figures["reward_std"] == pytest.approx(values.std(correction=0).item())


def test_fillers_count_for_nothing_even_if_they_are_nan() -> None:
    tally = Tally()
    add(tally, [1.0, float("nan")], [0.0, float("nan")], [1, 0])
    figures = tally.drain(Accelerator(cpu=True)).figures()
    assert (figures["n"], figures["accuracy"], figures["margin"]) == (1, 1.0, 1.0)


def test_nothing_counted_gives_no_figures_and_draining_starts_again() -> None:
    tally, accelerator = Tally(), Accelerator(cpu=True)
    assert tally.drain(accelerator).figures() == {}
    add(tally, [1.0], [0.0], [1])
    tally.drain(accelerator)
    assert tally.drain(accelerator).figures() == {}
