"""The scoring rule against values worked out by hand, a brute force, and statsmodels."""

from __future__ import annotations

import ast
import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from storyalign import accuracy
from storyalign.accuracy import DIMENSIONS, SOURCES, macro_average, top1_report, wilson_interval

NAN = float("nan")
rewards = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, -3.5, 7, None, NAN, math.inf, -math.inf])


@st.composite
def labelled_sets(draw):
    """Groups of 2 to 5 candidates with ties, holes, and names, integers or nothing for dimension and source."""
    groups = draw(st.lists(st.lists(rewards, min_size=2, max_size=5), max_size=12))
    references = [draw(st.integers(0, len(group) - 1)) for group in groups]
    dimension = st.sampled_from([None, NAN, -1, *range(5), *DIMENSIONS, " Fluency "])
    source = st.sampled_from([None, 0, 1, *SOURCES])
    return groups, references, [draw(dimension) for _ in groups], [draw(source) for _ in groups]


def brute_credit(group, reference):
    """Give the share of all orders of the candidates in which "the first maximum wins" elects the chosen one."""
    if any(reward is None or not math.isfinite(reward) for reward in group):
        return None
    orders = list(itertools.permutations(range(len(group))))
    wins = sum(max(order, key=lambda i: group[i]) == reference for order in orders)
    return Fraction(wins, len(orders))


def brute_mean(credits):
    known = [c for c in credits if c is not None]
    return float(sum(known) / Fraction(len(known))) if known else None


def brute_name(value, names):
    if value is None or value != value or value == -1:
        return None
    return names[value] if isinstance(value, int) else value.strip().lower()


@settings(max_examples=300, deadline=None)
@given(labelled_sets())
def test_agrees_with_brute_force(labelled):
    groups, references, dimensions, sources = labelled
    report = top1_report(groups, references, dimensions, sources)
    credits = [brute_credit(g, r) for g, r in zip(groups, references, strict=True)]
    assert report["accuracy"] == brute_mean(credits)
    assert report["n"] == len(groups)
    assert report["n_unscored"] == credits.count(None)
    assert report["n_ties"] == sum(c is not None and 0 < c < 1 for c in credits)
    assert report["accuracy_unscored_wrong"] == brute_mean([c or Fraction(0) for c in credits])
    assert report["chance"] == brute_mean([Fraction(1, len(g)) for g in groups])
    for values, names, key in ((dimensions, DIMENSIONS, "by_dimension"), (sources, SOURCES, "by_source")):
        found = [brute_name(value, names) for value in values]
        assert list(report[key]) == [name for name in names if name in found]
        for name, part in report[key].items():
            own = [c for c, f in zip(credits, found, strict=True) if f == name]
            assert part["accuracy"] == brute_mean(own)
            assert (part["n"], part["n_unscored"]) == (len(own), own.count(None))
            assert part["n_ties"] == sum(c is not None and 0 < c < 1 for c in own)
    present = [part["accuracy"] for part in report["by_dimension"].values() if part["accuracy"] is not None]
    assert report["macro_accuracy"] == (pytest.approx(np.mean(present)) if present else None)
    for estimate, interval in (("accuracy", "ci"), ("macro_accuracy", "macro_ci")):
        if report[estimate] is None:
            assert report[interval] is None
        else:
            low, high = report[interval]
            assert 0 <= low <= report[estimate] <= high <= 1


@settings(max_examples=100, deadline=None)
@given(labelled_sets(), st.randoms(use_true_random=False))
def test_order_of_groups_and_of_candidates_does_not_matter(labelled, random):
    rows = list(zip(*labelled, strict=True))
    before = top1_report(*labelled)
    random.shuffle(rows)
    turned = []
    for group, reference, dimension, source in rows:
        order = random.sample(range(len(group)), len(group))
        turned.append(([group[i] for i in order], order.index(reference), dimension, source))
    groups, references, dimensions, sources = map(list, zip(*turned, strict=True)) if turned else ([], [], [], [])
    assert top1_report(groups, references, dimensions, sources) == before


@settings(max_examples=100, deadline=None)
@given(labelled_sets())
def test_strict_never_exceeds_split(labelled):
    split, strict = top1_report(*labelled), top1_report(*labelled, tie_policy="strict")
    if split["accuracy"] is not None:
        assert strict["accuracy"] <= split["accuracy"]
        assert (strict["accuracy"] == split["accuracy"]) == (split["n_ties"] == 0)


def test_worked_example():
    # right; tie of two (1/2); wrong; unscored. Micro: 1.5 / 3. Coherence: (1 + 1/2) / 2, fluency: 0 / 1.
    report = top1_report(
        [[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0], [1, None, 0, 0]],
        [0, 0, 0, 0],
        ["coherence", "coherence", "fluency", "relevance"],
        ["human_llm", "llm_llm", "llm_llm", None],
    )
    assert report["accuracy"] == 0.5
    assert report["macro_accuracy"] == 0.375
    assert report["accuracy_unscored_wrong"] == 0.375
    assert (report["n"], report["n_ties"], report["n_unscored"]) == (4, 1, 1)
    assert report["by_dimension"]["relevance"] == {
        "accuracy": None,
        "ci": None,
        "n": 1,
        "n_ties": 0,
        "n_unscored": 1,
    }
    assert {name: part["accuracy"] for name, part in report["by_source"].items()} == {"human_llm": 1.0, "llm_llm": 0.25}


def test_nothing_scored_is_none_and_never_zero():
    report = top1_report([[None, None], [NAN, 1.0], None], [0, 1, 1], ["fluency"] * 3)
    assert report["accuracy"] is None and report["ci"] is None
    assert report["macro_accuracy"] is None and report["macro_ci"] is None
    assert (report["n"], report["n_ties"], report["n_unscored"]) == (3, 0, 3)
    assert report["accuracy_unscored_wrong"] == 0
    empty = top1_report([], [])
    assert empty["accuracy"] is None and empty["chance"] is None and empty["n"] == 0


def test_a_reward_missing_anywhere_leaves_the_group_unscored():
    assert top1_report([[9.0, 1.0, None]], [0])["n_unscored"] == 1
    assert top1_report([[0.0, 1.0, None]], [0])["n_unscored"] == 1


def test_numpy_and_torch_scalars_count_as_numbers():
    torch = pytest.importorskip("torch")
    assert top1_report(np.float32([[1, 2], [2, 1]]), np.array([1, 0]), np.array([0, 3]))["accuracy"] == 1
    assert top1_report(torch.tensor([[1.0, 2.0]]), torch.tensor([1]))["accuracy"] == 1


def test_other_data_sets_bring_their_own_names():
    report = top1_report([[1, 0], [0, 1]], [0, 0], ["Precise IF", 1], dimension_names=["Precise IF", "Math"])
    assert {name: part["accuracy"] for name, part in report["by_dimension"].items()} == {"Precise IF": 1, "Math": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 2], [1, 2]], [0, 2]), r"references\[1\] is 2 among 2"),
        (([[1, 2]], [-1]), r"references\[0\] is -1"),
        (([[1, 2]], [0.0]), r"references\[0\] is 0\.0"),
        (([[1, 2]], [True]), r"references\[0\] is True"),
        (([[1, 2]], [None]), r"references\[0\] is None"),
        (([[1, 2], [1]], [0, 0]), r"predictions\[1\] has 1 candidate"),
        (([[]], [0]), r"predictions\[0\] has 0 candidate"),
        (([[1, 2]], [0, 1]), "2 references for 1 predictions"),
        (([[1, 2]], [0], ["fluency", "fluency"]), "2 dimensions for 1 predictions"),
        (([[1, 2]], [0], None, []), "0 sources for 1 predictions"),
        (([[1, "2"]], [0]), r"predictions\[0\]\[1\] is '2'"),
        (([[1, True]], [0]), r"predictions\[0\]\[1\] is True"),
        (([[1, np.True_]], [0]), r"predictions\[0\]\[1\]"),
        (([[1, [2]]], [0]), r"predictions\[0\]\[1\] is \[2\]"),
        (([[1, np.zeros(10)]], [0]), r"predictions\[0\]\[1\]"),
        (([[1, 10**400]], [0]), r"predictions\[0\]\[1\]"),
        (([0.5, 0.7], [0, 0]), r"predictions\[0\] is 0\.5"),
        ((["abc"], [0]), r"predictions\[0\] is 'abc'"),
        (([[1, 2]], [0], ["fluency "[:3]]), r"dimensions\[0\] is 'flu'; expected one of coherence"),
        (([[1, 2]], [0], [""]), r"dimensions\[0\] is ''"),
        (([[1, 2]], [0], [5]), r"dimensions\[0\] is 5"),
        (([[1, 2]], [0], [True]), r"dimensions\[0\] is True"),
        (([[1, 2]], [0], None, ["reddit"]), r"sources\[0\] is 'reddit'; expected one of human_llm, llm_llm"),
    ],
)
def test_bad_input_is_named_with_its_position(arguments, message):
    with pytest.raises(ValueError, match=message):
        top1_report(*arguments)


def test_unknown_tie_policy_is_refused():
    with pytest.raises(ValueError, match="tie_policy is 'half'; expected one of split, strict"):
        top1_report([[1, 2]], [0], tie_policy="half")


@given(st.integers(1, 3000), st.floats(0, 1))
def test_wilson_agrees_with_statsmodels(n, share):
    wins = round(share * n)
    low, high = wilson_interval(wins / n, n)
    expected = proportion_confint(wins, n, method="wilson")
    assert (low, high) == (pytest.approx(expected[0], abs=1e-12), pytest.approx(expected[1], abs=1e-12))
    assert low <= wins / n <= high


@pytest.mark.parametrize(("proportion", "n"), [(0.5, 0), (1.1, 3), (-0.1, 3), (NAN, 3)])
def test_wilson_refuses_what_is_no_proportion(proportion, n):
    with pytest.raises(ValueError, match="no interval"):
        wilson_interval(proportion, n)


def test_macro_of_one_dimension_has_the_interval_of_the_dimension():
    low, high = wilson_interval(0.7, 30)
    macro, interval = macro_average([{"accuracy": 0.7, "ci": [low, high]}])
    assert macro == 0.7 and interval == pytest.approx([low, high])


def test_macro_interval_covers_the_true_mean_as_often_as_it_says():
    random = np.random.default_rng(3)
    truth, sizes, trials = np.array([0.95, 0.8, 0.5, 0.3, 0.6]), np.array([265, 60, 20, 12, 136]), 2000
    wins = random.binomial(sizes, truth, size=(trials, 5)) / sizes
    hits = 0
    for shares in wins:
        parts = [{"accuracy": p, "ci": wilson_interval(p, int(n))} for p, n in zip(shares, sizes, strict=True)]
        _, (low, high) = macro_average(parts)
        hits += low <= truth.mean() <= high
    # 95% of 2,000 trials, give or take three standard errors, and a little conservative.
    assert 0.935 <= hits / trials <= 0.985


def test_needs_the_standard_library_alone():
    tree = ast.parse(Path(accuracy.__file__).read_text())
    modules = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    modules += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names
