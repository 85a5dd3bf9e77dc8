from __future__ import annotations

import pytest

from storyalign.annotation.annotator_agreement import agreement_figures, alpha, consistency_figures
from tests.support.annotated_groups import ranked, task, unsure


def test_alpha_of_nominal_values_by_hand() -> None:
    # Four units, two annotators: (0,0) (0,0) (1,1) (0,1). Coincidences: 0-0 4, 1-1 2, 0-1 1 and 1-0 1; n0 = 5, n1 = 3.
    # alpha = 1 - (n - 1) * disagreements / (n0 * n1 * 2) = 1 - 7 * 2 / 30
    units = {i: {"a": a, "b": b} for i, (a, b) in enumerate([(0, 0), (0, 0), (1, 1), (0, 1)])}
    assert alpha(units, "nominal") == pytest.approx(1 - 14 / 30)


def test_alpha_where_it_says_nothing() -> None:
    assert alpha({0: {"a": 1.0}}, "nominal") is None  # nobody to agree with
    assert alpha({0: {"a": 1.0, "b": 1.0}}, "nominal") is None  # chance agrees fully too
    assert alpha({}, "interval") is None


def figures(*verdicts):
    return {figure.name: figure for figure in agreement_figures(verdicts)}


def test_identical_orders_agree_fully() -> None:
    found = figures(*(ranked(task(i), who, 0, 1, 2, 3) for i in range(3) for who in "ab"))
    assert {name: (f.value, f.n) for name, f in found.items()} == {
        "alpha of places": (1.0, 3),
        "alpha of scores": (1.0, 3),
        "Kendall's tau": (1.0, 3),
    }


def test_tau_is_the_mean_over_groups_and_alpha_falls_below_chance_for_reversed_orders() -> None:
    first, second = task(0), task(1)
    found = figures(
        ranked(first, "a", 0, 1, 2, 3), ranked(first, "b", 3, 2, 1, 0),  # tau -1
        ranked(second, "a", 0, 1, 2, 3), ranked(second, "b", 1, 0, 2, 3),  # tau 4/6
    )  # fmt: skip
    tau = found["Kendall's tau"]
    assert tau.value == pytest.approx(-1 / 6) and tau.n == 2
    assert tau.low is None and tau.high is None  # two premises: none is given with fewer than eight
    assert found["alpha of places"].value < 0


def test_verdicts_of_groups_with_a_given_answer() -> None:
    groups = [task(i, human=1) for i in range(4)]
    given = [(1, 1), (1, 1), (0, 0), (1, 0)]  # the table of the first test
    rows = [(g, who, pair[i]) for g, pair in zip(groups, given, strict=True) for i, who in enumerate("ab")]
    found = figures(*(ranked(*row) for row in rows))
    assert found["alpha of verdicts"].value == pytest.approx(1 - 14 / 30)
    assert list(found) == ["alpha of verdicts"]  # one best story is no order


def test_undecided_gives_no_order_and_one_verdict_alone_no_figure() -> None:
    assert figures(ranked(task(), "a", 0, 1, 2, 3), unsure(task(), "b")) == {}
    assert figures(ranked(task(), "a", 0, 1, 2, 3)) == {}
    assert figures(ranked(task(), "a", 0, 1, 2, 3), ranked(task(), "a", 0, 1, 2, 3, kind="check")) == {}


def test_consistency_compares_each_with_themselves() -> None:
    first, second = task(0), task(1)
    found = consistency_figures(
        [
            ranked(first, "a", 0, 1, 2, 3), ranked(first, "a", 0, 1, 3, 2, kind="check"),  # same best, tau 4/6
            ranked(second, "b", 0, 1, 2, 3), ranked(second, "b", 1, 0, 2, 3, kind="check"),  # another best, tau 4/6
            ranked(first, "b", 3, 2, 1, 0),
        ]
    )  # fmt: skip
    assert [(f.name, f.n) for f in found] == [("same best story", 2), ("Kendall's tau with oneself", 2)]
    assert found[0].value == 0.5
    assert found[1].value == pytest.approx(4 / 6)
