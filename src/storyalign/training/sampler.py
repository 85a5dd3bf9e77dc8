"""Which pairs stand in which batch: the shuffle is plain, the shares of the devices are equal in real tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Sampler


class PairBatchSampler(Sampler[list[int]]):
    """Batches of pair indices for one process.

    Every epoch is a fresh seeded shuffle, cut into optimizer steps of ``world_size * accumulation * batch_size`` pairs.
    Within a step the pairs are dealt so that the devices that wait for each other have like numbers of tokens. The
    loss is a mean over the step's pairs, so the dealing changes the waiting time and nothing else.

    With ``groups`` the shuffle moves parts of ``together`` pairs of one group, and each batch holds neighbours: a story
    which stands in several of them passes the model once. Small parts keep several premises in each batch.

    A process without a pair in the last step of an epoch still has to take part in it: it gets a *filler*, an
    index ``len(lengths) + i``, which stands for pair ``i`` with weight zero. No pair counts twice and none is left out.

    Args:
        lengths: real tokens of each pair, both stories together.
        batch_size: pairs per forward pass.
        accumulation: forward passes per optimizer step.
        world_size: number of processes; ``rank`` is this one's number.
        seed: of the shuffle; None keeps the order.
        groups: what each pair belongs to, such as its premise; None where pairs stand alone.
        together: pairs of one group that stay together; what is left over of a group comes at the end of the epoch.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        *,
        batch_size: int,
        accumulation: int = 1,
        world_size: int = 1,
        rank: int = 0,
        seed: int | None = 0,
        groups: Sequence[str] | None = None,
        together: int = 2,
    ) -> None:
        self.lengths, self.groups, self.together = list(lengths), groups, together
        self.batch_size, self.accumulation = batch_size, accumulation
        self.world_size, self.rank, self.seed = world_size, rank, seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of an epoch, counted from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        """Forward passes of each process in one epoch."""
        per_step = self.world_size * self.accumulation * self.batch_size
        full, rest = divmod(len(self.lengths), per_step)
        return full * self.accumulation + _passes(rest, self.world_size * self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield this process's batches."""
        order = self._order()
        per_step = self.world_size * self.accumulation * self.batch_size
        for start in range(0, len(order), per_step):
            step = order[start : start + per_step]
            passes = _passes(len(step), self.world_size * self.batch_size)
            bins = self._bins(step, passes * self.world_size)
            for turn in range(passes):
                own = bins[turn * self.world_size + self.rank]
                yield own or [len(self.lengths) + order[0]]

    def _order(self) -> list[int]:
        if self.seed is None:
            return list(range(len(self.lengths)))
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order: list[int] = torch.randperm(len(self.lengths), generator=generator).tolist()
        if self.groups is not None:
            members: dict[str, list[int]] = {}
            for index in order:
                members.setdefault(self.groups[index], []).append(index)
            place = {index: position for position, index in enumerate(order)}
            parts = [own[i : i + self.together] for own in members.values() for i in range(0, len(own), self.together)]
            parts.sort(key=lambda part: (len(part) < self.together, place[part[0]]))
            order = [index for part in parts for index in part]
        return order

    def _bins(self, step: Sequence[int], n_bins: int) -> list[list[int]]:
        if self.groups is None:
            return deal(step, [self.lengths[i] for i in step], n_bins, self.batch_size)
        bins = [list(step[i * self.batch_size : (i + 1) * self.batch_size]) for i in range(n_bins)]
        return sorted(bins, key=lambda indices: -sum(self.lengths[i] for i in indices))


def deal(indices: Sequence[int], lengths: Sequence[int], n_bins: int, capacity: int) -> list[list[int]]:
    """Deal pairs into bins of at most ``capacity`` pairs with like sums of tokens, the heaviest bins first.

    The longest pair goes to the lightest bin that has room (Graham's rule); within a bin the given order is kept.

    Raises:
        ValueError: there are more pairs than room.
    """
    if len(indices) > n_bins * capacity:
        raise ValueError(f"{len(indices)} pairs for {n_bins} bins of {capacity}")
    if n_bins == 1:
        return [list(indices)]
    bins: list[list[int]] = [[] for _ in range(n_bins)]
    weights = [0] * n_bins
    for position in sorted(range(len(indices)), key=lambda p: (-lengths[p], p)):
        # An empty bin first: a device without work waits for nothing.
        open_bins = [b for b in range(n_bins) if len(bins[b]) < capacity]
        lightest = min(open_bins, key=lambda b: (weights[b], len(bins[b]), b))
        bins[lightest].append(position)
        weights[lightest] += lengths[position]
    order = sorted(range(n_bins), key=lambda b: (-weights[b], b))
    return [[indices[p] for p in sorted(bins[b])] for b in order]


def _passes(pairs: int, per_pass: int) -> int:
    return -(-pairs // per_pass)
