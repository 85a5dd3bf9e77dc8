from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.scoring.voting import Flips, flips, orders, rewards


def test_orders_by_hand():
    assert orders("rate", 3) == [(0,), (1,), (2,)]
    assert orders("choose", 3) == [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    assert orders("pairwise", 3) == [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]


@given(st.integers(2, 7))
def test_each_story_stands_once_in_each_place(k):
    for place in range(k):
        assert sorted(order[place] for order in orders("choose", k)) == list(range(k))
    assert sorted(orders("pairwise", k)) == sorted(
        [*combinations(range(k), 2), *((b, a) for a, b in combinations(range(k), 2))]
    )


@given(st.integers(2, 7), st.data())
def test_a_judge_that_looks_at_the_place_alone_gives_a_tie_of_all(k, data):
    place = data.draw(st.integers(0, k - 1))
    chosen = {order: order[place] for order in orders("choose", k)}
    assert set(rewards("choose", k, chosen)) == {1 / k}
    assert flips("choose", k, chosen) == Flips(1, 1)
    side = place % 2
    won = {order: order[side] for order in orders("pairwise", k)}
    assert set(rewards("pairwise", k, won)) == {k - 1}
    pairs = k * (k - 1) // 2
    assert flips("pairwise", k, won) == Flips(pairs, pairs)


@given(st.integers(2, 7), st.data())
def test_a_judge_that_looks_at_the_stories_alone_never_flips(k, data):
    strength = data.draw(st.permutations(range(k)))
    for mode in ("choose", "pairwise"):
        votes = {order: max(order, key=strength.__getitem__) for order in orders(mode, k)}
        given_rewards = rewards(mode, k, votes)
        assert given_rewards.index(max(given_rewards)) == strength.index(k - 1)
        assert flips(mode, k, votes).changed == 0
    assert sorted(given_rewards) == [2 * i for i in range(k)]  # pairwise: the weakest wins none, the best all


def test_shares_and_wins_by_hand():
    votes = {(0, 1, 2, 3): 2, (1, 2, 3, 0): 2, (2, 3, 0, 1): 0, (3, 0, 1, 2): 2}
    assert rewards("choose", 4, votes) == [0.25, 0.0, 0.75, 0.0]
    assert flips("choose", 4, votes) == Flips(1, 1)
    # 0 beats 1 both times, 0 and 2 win once each, 2 beats 1 both times.
    won = {(0, 1): 0, (1, 0): 0, (0, 2): 0, (2, 0): 2, (1, 2): 2, (2, 1): 2}
    assert rewards("pairwise", 3, won) == [3, 0, 3]
    assert flips("pairwise", 3, won) == Flips(1, 3)


def test_a_group_that_lacks_a_vote_is_unscored_and_not_compared():
    assert rewards("rate", 3, {(0,): 7.5, (2,): 3}) == [7.5, None, 3]
    assert rewards("choose", 3, {}) == rewards("pairwise", 3, {}) == [None, None, None]
    # A judge that always names the first place, one of four replies unread: never [0, 1/3, 1/3, 1/3].
    first = {order: order[0] for order in orders("choose", 4)[1:]}
    assert rewards("choose", 4, first) == [None] * 4
    assert flips("choose", 4, first) == Flips(0, 0)
    # A judge that always prefers story 0, its replies about one pair unread.
    right = {order: min(order) for order in orders("pairwise", 3) if order != (1, 0)}
    assert rewards("pairwise", 3, right) == [None] * 3
    assert flips("pairwise", 3, right) == Flips(0, 0)
    assert flips("rate", 2, {(0,): 7.5}) == Flips(0, 0)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_shares_sum_to_one(k):
    votes = {order: min(order[:2]) for order in orders("choose", k)}
    assert sum(Fraction(r).limit_denominator(100) for r in rewards("choose", k, votes)) == 1
