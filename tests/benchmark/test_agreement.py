"""Kendall's tau between judges: values counted by hand, and scipy's where it has the same figure."""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from storyalign.benchmark.agreement import kendall_tau, mean_tau, tied_pairs

REAL = os.environ.get("STORYALIGN_REAL_DATA")
needs_real_data = pytest.mark.skipif(REAL is None, reason="STORYALIGN_REAL_DATA is not set")
NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "other", "tau"),
    [
        ([4, 3, 2, 1], [9, 7, 5, 3], 1.0),  # identical orders: 6 concordant of 6
        ([4, 3, 2, 1], [1, 2, 3, 4], -1.0),  # reversed
        ([4, 3, 2, 1], [3, 4, 2, 1], 4 / 6),  # one pair swapped: 5 - 1
        ([4, 3, 2, 1], [1, 4, 3, 2], 0.0),  # the first goes last: 3 pairs turn round
        ([5, 4, 4, 4], [5, 4, 4, 4], 0.5),  # identical with 3 tied pairs: 3 concordant of 6
        ([5, 4, 4, 4], [5, 3, 2, 1], 0.5),  # 3 concordant, 3 tied in one
        ([7, 7, 7, 7], [4, 3, 2, 1], 0.0),  # nothing but ties
        ([2, 1], [1, 2], -1.0),
    ],
)
def test_tau_a_of_two_rankings(one: list[float], other: list[float], tau: float) -> None:
    assert kendall_tau(one, other) == pytest.approx(tau, abs=1e-15)
    assert kendall_tau(other, one) == pytest.approx(tau, abs=1e-15)


def test_tau_b_of_identical_rankings_with_ties_is_one() -> None:
    assert kendall_tau([5, 4, 4, 4], [5, 4, 4, 4], "b") == pytest.approx(1.0)
    # 3 concordant pairs; 3 of 6 are untied on one side, 6 of 6 on the other: 3 / sqrt(3 * 6)
    assert kendall_tau([5, 4, 4, 4], [5, 3, 2, 1], "b") == pytest.approx(3 / 18**0.5)
    assert np.isnan(kendall_tau([7, 7, 7, 7], [4, 3, 2, 1], "b"))


def test_mean_over_pairs_of_judges() -> None:
    # Taus of the three pairs: same order 1, and 4/6 twice; (1 + 4/6 + 4/6) / 3.
    assert mean_tau([[4, 3, 2, 1], [4, 3, 2, 1], [3, 4, 2, 1]]) == pytest.approx(7 / 9)
    # Two against two: 2 pairs of judges agree fully, 4 are reversed; (2 - 4) / 6.
    assert mean_tau([[1, 2, 3, 4]] * 2 + [[4, 3, 2, 1]] * 2) == pytest.approx(-1 / 3)


def test_a_mean_of_exactly_the_threshold_is_not_below_it() -> None:
    # Five candidates, two judges, 2 of 10 pairs turned round: (8 - 2) / 10.
    assert float(mean_tau([[5, 4, 3, 2, 1], [4, 5, 3, 1, 2]])) == 0.6


def test_a_judge_with_a_missing_score_is_left_out_whole() -> None:
    whole = [[4, 3, 2, 1], [4, 3, 2, 1], [3, 4, 2, 1]]
    assert mean_tau([*whole, [1, 2, NAN, 4]]) == mean_tau(whole)
    one_left = [[4, 3, 2, 1], [NAN] * 4, [1, NAN, 3, 4]]
    groups = np.array([whole, one_left])
    assert mean_tau(groups)[0] == pytest.approx(7 / 9)
    assert np.isnan(mean_tau(groups)[1])
    assert np.isnan(mean_tau(whole, min_judges=4))
    assert np.isnan(mean_tau([[4, 3], [4, float("inf")]]))


def test_too_little_to_compare() -> None:
    assert np.isnan(mean_tau([[3], [4]]))  # one candidate has no pair
    assert np.isnan(mean_tau(np.empty((0, 4))))
    with pytest.raises(ValueError, match="shape"):
        mean_tau([1, 2, 3])
    with pytest.raises(ValueError, match="min_judges"):
        mean_tau([[1, 2]], min_judges=1)


def test_tied_pairs_are_counted() -> None:
    assert tied_pairs([5, 4, 4, 4]) == 3
    assert tied_pairs([[1, 2, 3, 4], [7, 7, 7, 7], [7, 7, 5, 5]]).tolist() == [0, 6, 2]
    assert tied_pairs([5, 5, NAN]) == 1


scores = st.lists(st.lists(st.integers(1, 10), min_size=4, max_size=4), min_size=2, max_size=5)


@given(scores)
def test_means_of_scipys_taus(judges: list[list[int]]) -> None:
    pairs = list(itertools.combinations(judges, 2))
    if all(len(set(judge)) > 1 for judge in judges):
        expected = np.mean([kendalltau(one, other, variant="b").statistic for one, other in pairs])
        assert mean_tau(judges, "b") == pytest.approx(expected, abs=1e-12)
    if all(len(set(judge)) == 4 for judge in judges):  # without ties tau-a is tau-b
        expected = np.mean([kendalltau(one, other).statistic for one, other in pairs])
        assert mean_tau(judges) == pytest.approx(expected, abs=1e-12)


def test_a_hundred_thousand_groups_take_seconds() -> None:
    groups = np.random.default_rng(0).integers(1, 11, size=(100_000, 4, 4))
    begun = time.perf_counter()
    means = mean_tau(groups)
    assert time.perf_counter() - begun < 5  # about 0.1 s on one core
    for group in range(0, 100_000, 9_973):
        taus = [kendall_tau(*pair) for pair in itertools.combinations(groups[group], 2)]
        assert means[group] == pytest.approx(np.mean(taus), abs=1e-12)


def real_rows(name: str) -> list[dict]:
    with (Path(REAL or "") / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.real_data
@needs_real_data
def test_real_rankings_of_three_editors() -> None:
    groups = np.array([[c["ranks"] for c in row["candidates"]] for row in real_rows("lamp_rank.jsonl")], dtype=float)
    groups = -groups.transpose(0, 2, 1)  # a low rank is good
    taus = mean_tau(groups)
    assert groups.shape == (50, 3, 3)
    assert not tied_pairs(groups).any()  # full rankings, so scipy's tau is tau-a
    for judges, tau in zip(groups, taus, strict=True):
        pairs = itertools.combinations(judges, 2)
        assert tau == pytest.approx(np.mean([kendalltau(*pair).statistic for pair in pairs]), abs=1e-12)
    print(f"lamp_rank: mean tau {taus.mean():.3f} over 50 groups, {(taus < 0.6).sum()} below 0.6")


@pytest.mark.real_data
@needs_real_data
def test_real_scores_of_two_raters() -> None:
    for row in real_rows("confederacy.jsonl"):
        totals = np.array([[sum(rater) for rater in c["by_rater"]] for c in row["candidates"]]).T
        tau_a, tau_b, ties = mean_tau(totals), mean_tau(totals, "b"), tied_pairs(totals)
        assert tau_b == pytest.approx(kendalltau(*totals, variant="b").statistic, abs=1e-12)
        n = totals.shape[1]
        untied = n * (n - 1) / 2 - ties
        assert tau_a == pytest.approx(tau_b * np.sqrt(untied.prod()) / (n * (n - 1) / 2), abs=1e-12)
        print(f"{row['id']}: {n} stories, tau-a {tau_a:.3f}, tau-b {tau_b:.3f}, tied pairs {ties.tolist()}")
