from hypothesis import given
from hypothesis import strategies as st

from storyalign.models.batches import plan_batches


@given(st.lists(st.integers(1, 900), max_size=80), st.integers(1, 1000), st.integers(1, 20))
def test_each_item_once_and_no_group_over_budget(lengths, budget, window):
    items = list(enumerate(lengths))
    groups = list(plan_batches(items, lambda item: item[1], budget=budget, window=window))
    assert sorted(item for group in groups for item in group) == items
    assert all(sum(n for _, n in group) <= budget or len(group) == 1 for group in groups)


def test_groups_are_filled_longest_first():
    assert list(plan_batches([1, 7, 2, 5, 4, 1], lambda n: n, budget=8)) == [[7, 1], [5, 2, 1], [4]]


def test_no_more_than_one_window_is_read_ahead():
    read = []

    def stream():
        for n in range(1000):
            read.append(n)
            yield 1

    groups = plan_batches(stream(), lambda n: n, budget=4, window=16)
    assert next(groups) == [1] * 4
    assert len(read) == 16
