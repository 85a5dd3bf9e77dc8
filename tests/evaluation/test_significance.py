"""McNemar and Holm against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from storyalign.evaluation.significance import EXACT_BELOW, holm, mcnemar


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 100), st.integers(0, 100))
def test_mcnemar(both, neither, only_a, only_b):
    right_a = [True] * both + [False] * neither + [True] * only_a + [False] * only_b
    right_b = [True] * both + [False] * neither + [False] * only_a + [True] * only_b
    found = mcnemar(right_a, right_b)
    assert (found.only_a, found.only_b) == (only_a, only_b)
    exact = only_a + only_b < EXACT_BELOW
    assert found.method == ("exact" if exact else "chi-squared")
    if only_a == only_b:  # a continuity correction must not turn no difference into one
        assert found.p_value == pytest.approx(1.0)
    else:
        expected = statsmodels_mcnemar([[both, only_a], [only_b, neither]], exact=exact, correction=True)
        assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("n", range(1, 13))
def test_holm(n):
    p_values = (np.random.default_rng(n).random(n) ** 3).round(3).tolist()
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_nothing_to_correct():
    assert holm([]) == []
