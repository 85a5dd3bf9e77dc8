"""The bootstrap against scipy's, and against what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from benchmarks.interval_coverage import simulate
from storyalign.accuracy import wilson_interval
from storyalign.bootstrap import bootstrap_interval, percentile_interval, premise_totals, summarize_over_premises


def share(totals):
    return totals[:, 0] / totals[:, 1]


def wilson_with(quantile, won, trials):
    return proportion_confint(won, trials, 2 * stats.norm.sf(quantile), method="wilson")


def columns_of(credits):
    return np.array([(credit, 1.0) for credit in credits])


@pytest.fixture
def credits():
    return np.random.default_rng(1).choice([0, 0.5, 1], size=120, p=[0.4, 0.1, 0.5])


def test_agrees_with_scipy_where_each_group_has_its_premise(credits):
    own = bootstrap_interval(columns_of(credits), [str(i) for i in range(len(credits))], share, draws=20_000)
    other = stats.bootstrap((credits,), np.mean, n_resamples=20_000, method="percentile", rng=2).confidence_interval
    # both are draws: the 2.5% quantile of 20,000 has a standard error near 0.001
    assert own == pytest.approx((other.low, other.high), abs=0.006)


def test_copies_of_a_group_under_one_premise_add_no_certainty(credits):
    premises = [str(i) for i in range(len(credits))]
    once = bootstrap_interval(columns_of(credits), premises, share)
    thrice = bootstrap_interval(columns_of(np.tile(credits, 3)), premises * 3, share)
    assert thrice == pytest.approx(once)
    unaware = bootstrap_interval(columns_of(np.tile(credits, 3)), [str(i) for i in range(360)], share)
    assert unaware[1] - unaware[0] < 0.7 * (once[1] - once[0])


def test_order_of_groups_does_not_matter_and_the_seed_does(credits):
    premises = [str(i // 3) for i in range(len(credits))]
    order = np.random.default_rng(5).permutation(len(credits))
    before = bootstrap_interval(columns_of(credits), premises, share)
    after = bootstrap_interval(columns_of(credits[order]), [premises[i] for i in order], share)
    assert after == pytest.approx(before)
    assert bootstrap_interval(columns_of(credits), premises, share, seed=1) != before


def test_every_draw_has_as_many_premises_as_there_are():
    totals = premise_totals(np.ones((10, 1)), list("aabbccddee"), draws=50)
    assert totals.shape == (50, 1)
    assert (totals == 10).all()  # five premises of two groups each


def test_draws_in_chunks_are_as_many_as_asked(monkeypatch):
    monkeypatch.setattr("storyalign.bootstrap._CELLS", 33)
    assert premise_totals(np.ones((10, 1)), list("abcdefghij"), draws=50).shape == (50, 1)


def test_one_premise_has_no_bootstrap():
    assert bootstrap_interval(columns_of([0, 1]), ["a", "a"], share) is None


def test_draws_without_a_figure_are_left_out():
    # only premise b has a group of the kind asked for
    columns = np.array([(0.0, 0.0)] * 7 + [(1.0, 1.0)])
    assert bootstrap_interval(columns, list("abcdefgh"), share) == (1.0, 1.0)
    assert bootstrap_interval(np.zeros((8, 2)), list("abcdefgh"), share) is None


def test_too_few_premises_have_no_bootstrap_interval():
    columns = columns_of([0.0, 1.0] * 7)
    assert bootstrap_interval(columns, list("abcdefg") * 2, share) is None
    assert bootstrap_interval(columns_of([0.0, 1.0] * 8), list("abcdefgh") * 2, share) is not None


def test_percentiles_are_expanded_as_student_exceeds_the_normal():
    drawn = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)  # draws of a figure with standard error 1
    # A mean's bootstrap is too narrow by sqrt((n - 1) / n), and should have t: 2.3646 * sqrt(8 / 7) = 2.528.
    assert percentile_interval(drawn, 8) == pytest.approx((-2.528, 2.528), abs=2e-3)


def test_summary_says_which_interval_it_has():
    alone = summarize_over_premises([1, 0, 2, None], ["a", "b", "c", "d"])
    assert alone["ci_method"] == "wilson"
    assert alone["ci"] == list(wilson_interval(0.5, 3))
    shared = summarize_over_premises([1, 0, 1, 0, 1, 1], ["a", "a", "b", "b", "c", "c"])
    assert shared["ci_method"] == "wilson over premises"
    assert shared["accuracy"] == 4 / 6
    # Sums less their share of the mean: a -1/3, b -1/3, c 2/3. Variance 3/2 * 6/9 / 36 = 1/36; 2/9 : 1/36 is 8 groups,
    # but there are 6. Student's t with 2 degrees of freedom is 4.3027.
    assert shared["ci"] == pytest.approx(wilson_with(4.302653, 4, 6), abs=1e-6)
    # Premises that are right or wrong as one: sums less mean 1, -1, 1, -1; variance 4/3 * 4 / 64 = 1/12, so 3 groups.
    alike = summarize_over_premises([1, 1, 0, 0, 1, 1, 0, 0], list("aabbccdd"))
    assert alike["ci"] == pytest.approx(wilson_with(3.182446, 1.5, 3), abs=1e-6)


def test_all_right_is_not_certain():
    summary = summarize_over_premises([1, 1, 1, 1, None], ["a", "a", "b", "b", "b"])
    assert summary["ci_method"] == "wilson over premises"
    assert summary["ci"] == [pytest.approx(1 / (1 + 12.7062**2 / 2), abs=1e-5), 1.0]  # 2 premises, t with 1 degree


def test_nothing_scored():
    summary = summarize_over_premises([None], ["a"])
    assert summary["accuracy"] is None and summary["ci"] is None and summary["ci_method"] is None


def test_an_accuracy_on_three_premises_is_covered():
    covered = simulate(3, rounds=40)
    assert min(covered["accuracy"]) >= 0.9  # the plain bootstrap covers about 7 in 10
    assert np.mean(covered["accuracy, percentiles"]) < 0.8
