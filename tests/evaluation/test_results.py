"""The table of results, by hand and against the metric."""

from __future__ import annotations

import json

import pytest

from storyalign.accuracy import top1_report
from storyalign.errors import DataError
from storyalign.evaluation.results import evaluate_scorers
from storyalign.evaluation.scored_sets import ScoredSet, null_scored_sets
from tests.support.scored import evaluation_set, instance, right_in, scored_set

KEYS = [
    *("name", "kind", "accuracy", "ci", "macro_accuracy", "macro_ci", "n", "n_ties", "n_unscored", "n_truncated"),
    *("by_dimension", "by_source", "signature", "unscored", "accuracy_unscored_wrong"),
]


def test_figures_are_those_of_the_metric_where_each_group_has_its_premise():
    items = [instance(n, size=2 + n % 4) for n in range(60)]
    scored = scored_set("m", items, right_in(0.6))
    result = evaluate_scorers(evaluation_set(items), [scored]).scorers[0]
    metric = top1_report(
        [scored.rewards[i.id] for i in items], [0] * 60, [i.dimension for i in items], [i.source for i in items]
    )
    for key in ("accuracy", "ci", "macro_accuracy", "macro_ci", "n", "n_ties", "n_unscored", "ci_unscored_wrong"):
        assert getattr(result, key) == metric[key], key
    for name, part in metric["by_dimension"].items():
        assert {key: result.by_dimension[name][key] for key in part} == part
    assert list(result.by_dimension) == list(metric["by_dimension"])
    assert result.ci_method == "wilson"


def test_shared_premises_widen_every_interval():
    alone = [instance(n, dimension="fluency" if n < 100 else "coherence") for n in range(200)]
    shared = [
        instance(n, prompt=f"Premise {n % 20}.", dimension="fluency" if n < 100 else "coherence") for n in range(200)
    ]
    by_premise = right_in(0.5)

    def together(item, candidate):  # all groups of a premise are right or wrong together
        return by_premise(instance(int(item.prompt.split()[1][:-1])), candidate)

    first = evaluate_scorers(evaluation_set(alone), [scored_set("m", alone, right_in(0.5))]).scorers[0]
    second = evaluate_scorers(evaluation_set(shared), [scored_set("m", shared, together)]).scorers[0]
    assert second.ci_method == "wilson over premises"

    def width(interval):
        return interval[1] - interval[0]

    # 20 trials in place of 200: about three times as wide
    assert width(second.ci) > 2 * width(first.ci)
    assert width(second.macro_ci) > 2 * width(first.macro_ci)
    assert second.macro_ci[0] < second.macro_accuracy < second.macro_ci[1]


def test_ties_cuts_and_unscored_groups_are_counted_and_named():
    items = [instance(n) for n in range(4)]
    rewards = {
        "g-000": [1.0, 1.0, 0.0, 0.0],  # a tie of two, and one of them was cut
        "g-001": [2.0, 1.0, 0.0, 0.0],
        "g-002": [0.0, 0.0, 0.0, 0.0],  # a tie of four without a cut
        "g-003": [1.0, None, 0.0, 0.0],
    }
    truncated = {"g-000": [True, False, False, False], "g-001": [False, True, True, False]}
    scored = ScoredSet("m", "model", rewards, truncated, {"g-003": "candidate 1 not_finite: the model returned nan"})
    result = evaluate_scorers(evaluation_set(items), [scored]).scorers[0]
    assert result.accuracy == pytest.approx((0.5 + 1 + 0.25) / 3)
    assert result.accuracy_unscored_wrong == pytest.approx((0.5 + 1 + 0.25) / 4)
    assert (result.n, result.n_ties, result.n_ties_cut, result.n_truncated, result.n_unscored) == (4, 2, 1, 2, 1)
    assert result.unscored == [{"id": "g-003", "reason": "candidate 1 not_finite: the model returned nan"}]
    strict = evaluate_scorers(evaluation_set(items), [scored], "strict").scorers[0]
    assert strict.accuracy == pytest.approx(1 / 3)


def test_a_set_without_dimensions_and_sources():
    items = [instance(n, size=3, dimension=None, source=None) for n in range(5)]
    results = evaluate_scorers(evaluation_set(items), null_scored_sets(items))
    for result in results.scorers:
        assert result.by_dimension == {} and result.by_source == {}
        assert result.macro_accuracy is None and result.macro_ci is None
    assert results.chance == pytest.approx(1 / 3)


def test_all_right_under_shared_premises_is_not_certain():
    items = [instance(n, prompt=f"Premise {n % 3}") for n in range(12)]
    result = evaluate_scorers(evaluation_set(items), [scored_set("m", items, right_in(1.0))]).scorers[0]
    # 3 premises are 3 trials: 1 / (1 + t * t / 3), t = 4.302653 with 2 degrees of freedom
    assert result.ci == [pytest.approx(0.139452, abs=1e-6), 1.0] and result.ci_method == "wilson over premises"
    assert result.macro_ci[0] < 1.0 == result.macro_ci[1]


def test_nothing_scored_is_none():
    items = [instance(n) for n in range(3)]
    result = evaluate_scorers(evaluation_set(items), [scored_set("m", items, lambda i, c: None)]).scorers[0]
    assert result.accuracy is None and result.ci is None and result.macro_accuracy is None
    assert result.n_unscored == 3 and result.accuracy_unscored_wrong == 0.0


def test_json_has_the_agreed_shape():
    items = [instance(n) for n in range(10)]
    results = evaluate_scorers(evaluation_set(items), [scored_set("m", items, right_in(0.6)), *null_scored_sets(items)])
    value = json.loads(json.dumps(results.to_json(), allow_nan=False))
    assert set(value) == {"scorers", "chance", "signature", "tie_policy", "dropped", "data"}
    assert value["chance"] == 0.25 and value["dropped"] == {"tied for best": 2}
    assert [row["kind"] for row in value["scorers"]] == ["model"] + ["null"] * 6
    for row in value["scorers"]:
        assert set(KEYS) <= set(row)
        assert all(0 <= part["ci"][0] <= part["ci"][1] <= 1 for part in row["by_dimension"].values())
    assert "|ties=split|" in value["signature"] and "data=toy.jsonl" in value["signature"]


def test_no_accuracy_without_a_gold_order():
    items = [instance(0)]
    with pytest.raises(DataError, match="no gold order"):
        evaluate_scorers(evaluation_set(items, has_gold=False), null_scored_sets(items))
