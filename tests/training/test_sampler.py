from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.training.sampler import PairBatchSampler, deal


def all_ranks(lengths: list[int], world: int, **options: object) -> list[list[list[int]]]:
    return [list(PairBatchSampler(lengths, world_size=world, rank=r, **options)) for r in range(world)]  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 500), min_size=1, max_size=40),
    world=st.integers(1, 4),
    batch=st.integers(1, 3),
    accumulation=st.integers(1, 3),
    grouped=st.booleans(),
)
def test_every_pair_once_and_all_ranks_in_step(
    lengths: list[int], world: int, batch: int, accumulation: int, grouped: bool
) -> None:
    n = len(lengths)
    groups = [str(i // 3) for i in range(n)] if grouped else None
    ranks = all_ranks(lengths, world, batch_size=batch, accumulation=accumulation, groups=groups)
    expected = len(PairBatchSampler(lengths, batch_size=batch, accumulation=accumulation, world_size=world))
    assert {len(batches) for batches in ranks} == {expected}
    seen = [i for batches in ranks for indices in batches for i in indices if i < n]
    assert sorted(seen) == list(range(n))
    for batches in ranks:
        assert all(1 <= len(indices) <= batch for indices in batches)
        assert all(n <= i < 2 * n for indices in batches if len(indices) == 1 for i in indices if i >= n)


def test_steps_are_the_shuffle_whatever_the_number_of_ranks() -> None:
    lengths = [7, 300, 12, 45, 80, 3, 61, 22, 9, 150, 33, 2]
    one = PairBatchSampler(lengths, batch_size=4, seed=3)
    two = all_ranks(lengths, 2, batch_size=2, seed=3)
    # An optimizer step holds the same four pairs in both cases: gradients are sums over them.
    assert [set(b) for b in one] == [set(a) | set(b) for a, b in zip(*two, strict=True)]


def test_epochs_differ_and_repeat() -> None:
    sampler = PairBatchSampler([1] * 20, batch_size=20, seed=5)
    first = list(sampler)
    sampler.set_epoch(1)
    second = list(sampler)
    sampler.set_epoch(0)
    assert first == list(sampler) != second


def test_ranks_that_wait_for_each_other_get_like_work() -> None:
    lengths = [1000, 10, 990, 20, 500, 510, 30, 480]
    a, b = all_ranks(lengths, 2, batch_size=1, accumulation=4, seed=None)
    pairs = [(lengths[x[0]], lengths[y[0]]) for x, y in zip(a, b, strict=True)]
    assert pairs == [(1000, 990), (510, 500), (480, 30), (20, 10)]  # neighbours in order of size


def test_deal_by_hand() -> None:
    # Longest first to the lightest: 9 -> A, 8 -> B, 5 -> B (8 < 9), 4 -> A (9 < 13), 3 -> A (13 = 13), full: B.
    assert deal([0, 1, 2, 3, 4, 5], [9, 8, 5, 4, 3, 1], 2, 3) == [[0, 3, 4], [1, 2, 5]]
    with pytest.raises(ValueError, match="3 pairs for 1 bins of 2"):
        deal([0, 1, 2], [1, 1, 1], 1, 2)


def test_groups_stay_together() -> None:
    groups = ["a", "b", "a", "c", "b", "a", "c", "b", "c"]
    batches = list(PairBatchSampler([1] * 9, batch_size=3, seed=1, groups=groups, together=3))
    assert sorted("".join(sorted({groups[i] for i in batch})) for batch in batches) == ["a", "b", "c"]


def test_parts_of_groups_stay_together_and_premises_are_mixed() -> None:
    groups = [name for name in "abcd" for _ in range(5)]
    batches = list(PairBatchSampler([1] * 20, batch_size=4, seed=0, groups=groups, together=2))
    assert sorted(i for batch in batches for i in batch) == list(range(20))
    for batch in batches[:4]:  # four groups hold two whole parts each; the rest of each comes last
        first, second = batch[:2], batch[2:]
        assert len({groups[i] for i in first}) == len({groups[i] for i in second}) == 1
    assert sorted(groups[i] for i in batches[4]) == ["a", "b", "c", "d"]
    assert any(len({groups[i] for i in batch}) == 2 for batch in batches[:4])
