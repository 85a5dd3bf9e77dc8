"""Pairs of scorers: counted by hand, tested as statsmodels does, worded with care."""

from __future__ import annotations

import json

import pytest
from statsmodels.stats.contingency_tables import mcnemar

from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.comparison import compare_scorers
from storyalign.evaluation.margins import hardest, margins
from tests.support.scored import evaluation_set, instance, right_in, scored_set

ITEMS = [instance(n) for n in range(200)]


def fixed(winners):
    """A scorer that prefers the given candidate in each group."""
    return lambda item, candidate: 1.0 if candidate == winners[item.id] else -candidate / 10


def winners(right):
    return {item.id: 0 if n in right else 2 for n, item in enumerate(ITEMS)}


def test_counts_test_and_ids():
    a, b = set(range(130)), set(range(90, 190))
    [found] = compare_scorers(
        evaluation_set(ITEMS),
        [scored_set("a", ITEMS, fixed(winners(a))), scored_set("b", ITEMS, fixed(winners(b)))],
    )
    assert (found.both_right, found.only_a, found.only_b, found.both_wrong) == (40, 90, 60, 10)
    assert found.n == 200 and found.difference == pytest.approx(0.15)
    assert found.p_value == pytest.approx(mcnemar([[40, 90], [60, 10]], exact=False, correction=True).pvalue)
    assert found.only_a_ids == [f"g-{n:03d}" for n in range(90)]
    assert found.agreement == pytest.approx(50 / 200)  # both right, or both on candidate 2
    assert found.told_apart and found.verdict == "a is better than b by 15.0 points"
    fluency = found.by_dimension["fluency"]
    assert fluency["n"] == 40 and fluency["accuracy_a"] == pytest.approx(26 / 40)


def test_interval_of_the_difference_is_the_paired_one():
    a, b = set(range(130)), set(range(90, 190))
    [found] = compare_scorers(
        evaluation_set(ITEMS),
        [scored_set("a", ITEMS, fixed(winners(a))), scored_set("b", ITEMS, fixed(winners(b)))],
    )
    # a - b is +1 in 90, -1 in 60 and 0 in 50 of 200 groups: variance 150/200 - 0.15 ** 2
    error = ((150 / 200 - 0.15**2) / 200) ** 0.5
    assert found.ci == pytest.approx((0.15 - 1.96 * error, 0.15 + 1.96 * error), abs=0.01)


def test_scorers_that_the_data_cannot_tell_apart_are_said_to_be_so():
    a, b = set(range(103)), set(range(3, 106)) | {110}
    [found] = compare_scorers(
        evaluation_set(ITEMS),
        [scored_set("first", ITEMS, fixed(winners(a))), scored_set("second", ITEMS, fixed(winners(b)))],
    )
    assert not found.told_apart
    assert found.verdict == "first and second cannot be told apart with these 200 groups"


def test_groups_of_one_premise_do_not_prove_a_difference():
    # 180 groups on two premises: McNemar alone would be sure
    items = [instance(n, prompt=f"Premise {n % 2}") for n in range(180)]
    a = scored_set("a", items, lambda i, c: 1.0 if c == (0 if i.prompt.endswith("0") else 1) else 0.0)
    b = scored_set("b", items, lambda i, c: 1.0 if c == 1 else 0.0)
    [found] = compare_scorers(evaluation_set(items), [a, b])
    assert found.p_holm < 0.001 and found.ci is None
    assert not found.told_apart


def test_holm_over_many_pairs():
    scorers = [scored_set(f"s{k}", ITEMS, right_in(0.4 + 0.1 * k, seed=k)) for k in range(4)]
    found = compare_scorers(evaluation_set(ITEMS), scorers)
    assert len(found) == 6
    smallest = min(found, key=lambda pair: pair.p_value)
    assert smallest.p_holm == pytest.approx(min(1.0, 6 * smallest.p_value))
    assert all(pair.p_holm >= pair.p_value for pair in found)


def test_ties_are_wrong_for_both_and_shared_in_agreement():
    [found] = compare_scorers(
        evaluation_set(ITEMS),
        [scored_set("flat", ITEMS, lambda i, c: 0.0), scored_set("right", ITEMS, fixed(winners(set(range(200)))))],
    )
    assert found.only_b == 200 and found.only_a == found.both_right == 0
    assert found.accuracy_a == 0.25
    assert found.agreement == 0.25


def test_groups_that_one_has_not_scored_are_left_out_and_counted():
    holes = scored_set("holes", ITEMS, lambda i, c: None if i.id == "g-007" and c == 3 else 1.0 - c)
    [found] = compare_scorers(evaluation_set(ITEMS), [holes, scored_set("b", ITEMS, right_in(0.5))])
    assert (found.n, found.n_left_out) == (199, 1)
    nothing = scored_set("nothing", ITEMS, lambda i, c: None)
    [found] = compare_scorers(evaluation_set(ITEMS), [nothing, holes])
    assert found.difference is None and found.n == 0 and not found.told_apart
    assert (
        json.loads(json.dumps(found.to_json(), allow_nan=False))["verdict"] == "nothing and holes share no scored group"
    )


def test_what_cannot_be_compared_is_refused():
    scorer = scored_set("a", ITEMS, right_in(0.5))
    for few in ([scorer], [scorer, scorer]):
        with pytest.raises(RecipeError, match="at least two scorers with different names"):
            compare_scorers(evaluation_set(ITEMS), few)
    with pytest.raises(DataError, match="no gold order"):
        compare_scorers(evaluation_set(ITEMS, has_gold=False), [scorer, scored_set("b", ITEMS, right_in(0.5))])


def test_margins_and_hardest_groups():
    items = [instance(n) for n in range(4)]
    rewards = {"g-000": [1, 0, 0, 0], "g-001": [0, 1, 3, 2], "g-002": [0, 0, 1, 0], "g-003": [1, None, 2, 0]}
    scored = scored_set("m", items, lambda i, c: rewards[i.id][c])
    assert margins(scored, items) == {"g-000": 1, "g-001": -3, "g-002": -1}
    assert [(m.instance.id, m.highest, m.margin) for m in hardest(scored, items)] == [
        ("g-001", 2, -3),
        ("g-002", 2, -1),
    ]
    assert len(hardest(scored, items, most=1)) == 1
