"""Sums over pairs that stay exact when batches are uneven, processes are many, and fillers are among the pairs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from accelerate import Accelerator

_FIELDS = ("pairs", "correct", "ties", "margin", "loss", "reward", "reward_squared")


class Tally:
    """Sums of what is reported of pairs."""

    def __init__(self, sums: torch.Tensor | None = None) -> None:
        self.sums = sums

    def add(self, chosen: torch.Tensor, rejected: torch.Tensor, losses: torch.Tensor, weights: torch.Tensor) -> None:
        """Count a batch.

        Args:
            chosen: (pairs,) rewards of the chosen stories.
            rejected: (pairs,) rewards of the rejected stories.
            losses: (pairs,).
            weights: (pairs,) 1 for a pair that counts, 0 for one that does not.
        """
        chosen, rejected = chosen.detach().double(), rejected.detach().double()
        ties = (chosen == rejected).double()
        per_pair = torch.stack(
            [
                torch.ones_like(chosen),
                (chosen > rejected).double() + ties / 2,
                ties,
                chosen - rejected,
                losses.detach().double(),
                (chosen + rejected) / 2,
                (chosen**2 + rejected**2) / 2,
            ]
        )
        counts = weights.double()
        # Where the weight is zero the value must not matter, even if it is NaN.
        summed = torch.where(counts > 0, per_pair * counts, 0.0).sum(dim=1)
        self.sums = summed if self.sums is None else self.sums + summed

    def drain(self, accelerator: Accelerator) -> Tally:
        """Return the sums over all processes and start again from zero; every process has to call it."""
        sums = self.sums
        if sums is None:
            sums = torch.zeros(len(_FIELDS), dtype=torch.float64, device=accelerator.device)
        self.sums = None
        return Tally(accelerator.reduce(sums, "sum"))

    @classmethod
    def sum(cls, tallies: Iterable[Tally]) -> Tally:
        """Add tallies up."""
        return cls(torch.stack([t.sums for t in tallies if t.sums is not None]).sum(dim=0))

    def figures(self) -> dict[str, float]:
        """Means over the counted pairs; nothing where no pair was counted.

        ``accuracy`` gives half credit to a tie; ``margin`` is the mean of chosen minus rejected reward.
        """
        if self.sums is None or not self.sums[0]:
            return {}
        pairs, *rest = self.sums.tolist()
        means = {name: value / pairs for name, value in zip(_FIELDS[1:], rest, strict=True)}
        spread = max(means["reward_squared"] - means["reward"] ** 2, 0.0) ** 0.5
        return {
            "loss": means["loss"],
            "accuracy": means["correct"],
            "margin": means["margin"],
            "reward_mean": means["reward"],
            "reward_std": spread,
            "ties": round(means["ties"] * pairs),
            "n": round(pairs),
        }
