"""Choosing the best of N: any callable, ties, missing rewards, and how good the choices are, by hand."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.evaluation.best_of_n import best_of_n, sum_up
from storyalign.evaluation.head_to_head import head_to_head
from storyalign.records import Instance
from tests.support.scored import instance, scored_set

STORIES = ["one two", "one", "one two three", "three two one"]


def test_any_callable_will_do():
    assert best_of_n(lambda p, s: [len(x) for x in s], "p", STORIES[:3]).chosen == 2
    as_rows = best_of_n(lambda p, s: (SimpleNamespace(reward=-len(x)) for x in s), "p", STORIES)
    assert as_rows.chosen == 1 and as_rows.tied == (1,)


def test_a_tie_is_decided_by_the_texts_and_not_by_their_places():
    chosen = set()
    for seed in range(10):
        shuffled = random.Random(seed).sample(STORIES, len(STORIES))
        choice = best_of_n(lambda p, s: [len(x) for x in s], "p", shuffled)
        assert len(choice.tied) == 2
        chosen.add(shuffled[choice.chosen])
    assert len(chosen) == 1
    other = {STORIES[best_of_n(lambda p, s: [0] * 4, f"premise {n}", STORIES).chosen] for n in range(40)}
    assert other == set(STORIES)


def test_nothing_is_chosen_where_a_story_has_no_reward():
    rewards = [math.nan, None, -5.0, math.inf]
    choice = best_of_n(lambda p, s: rewards, "p", STORIES)
    assert choice.chosen is None and choice.tied == () and choice.unscored == (0, 1, 3)
    assert best_of_n(lambda p, s: [None] * 4, "p", STORIES).chosen is None
    with pytest.raises(ValueError, match="3 rewards for 4 stories"):
        best_of_n(lambda p, s: [1, 2, 3], "p", STORIES)
    with pytest.raises(ValueError, match="no stories"):
        best_of_n(lambda p, s: [], "p", [])


def test_figures_against_an_order():
    items = [instance(n, size=4) for n in range(3)]
    orders = {items[0].id: [1.0, 2.0, 3.0, 4.0], items[1].id: [1.0, 1.0, 2.0, 3.0]}
    choices = {items[0].id: 2, items[1].id: 1, items[2].id: 0}
    scored = scored_set("s", items, lambda item, candidate: float(candidate == choices[item.id]))
    found = sum_up(items, scored, orders)
    assert (found.n, found.n_ordered) == (3, 2)
    # Places 3 of 4, and a shared first one: (1 + 2) / 2.
    assert found.place == pytest.approx((3 + 1.5) / 2)
    assert found.best.value == 0.5 and found.best_by_chance == pytest.approx((1 / 4 + 2 / 4) / 2)
    # The first beats 1 of 3 others; the second two, and ties with one.
    assert found.beats.value == pytest.approx((1 / 3 + 2.5 / 3) / 2)
    assert found.words == pytest.approx(sum(len(i.stories[choices[i.id]].split()) for i in items) / 3)
    assert sum_up(items, scored).best is None


def test_missing_rewards_are_counted():
    items = [instance(n, size=3) for n in range(2)]
    scored = scored_set("s", items, lambda item, c: None if item is items[0] and c == 0 else 1.0)
    found = sum_up(items, scored)
    assert (found.n, found.n_without, found.n_unscored, found.n_ties) == (1, 1, 1, 1)


def test_a_constant_scorer_is_chance():
    items = [instance(n, size=4) for n in range(12)]
    orders = {i.id: [1.0, 1.0, 2.0, 3.0] if n % 3 == 0 else [1.0, 2.0, 3.0, 4.0] for n, i in enumerate(items)}
    found = sum_up(items, scored_set("s", items, lambda item, c: 0.5), orders)
    assert found.best.value == pytest.approx((4 * 2 / 4 + 8 * 1 / 4) / 12)
    assert found.best.value == pytest.approx(found.best_by_chance)
    assert found.beats.value == pytest.approx(0.5) and found.place == pytest.approx(2.5)


@given(
    st.lists(st.lists(st.sampled_from([None, 0.0, 1.0, 2.0]), min_size=4, max_size=4), min_size=2, max_size=5),
    st.permutations(range(4)),
)
def test_the_order_of_candidates_moves_no_figure(rewards, moved):
    items = [instance(n, size=4) for n in range(len(rewards))]
    order = [1.0, 2.0, 2.0, 4.0]
    turned = [Instance(i.id, i.prompt, s[0], s[1:]) for i in items if (s := tuple(i.stories[p] for p in moved))]
    by_id = {i.id: own for i, own in zip(items, rewards, strict=True)}

    def figures(groups, places):
        scored = scored_set("s", groups, lambda item, c: by_id[item.id][places[c]])
        other = scored_set("o", groups, lambda item, c: float(places[c] == 1))
        orders = {i.id: [order[p] for p in places] for i in groups}
        one = sum_up(groups, scored, orders).to_json()
        duel = head_to_head(groups, [scored, other], orders).duels[0].to_json()
        return _rounded({**one, **{f"duel {key}": value for key, value in duel.items()}})

    assert figures(items, range(4)) == figures(turned, moved)


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_rounded(own) for own in value]
    return round(value, 9) if isinstance(value, float) else value
