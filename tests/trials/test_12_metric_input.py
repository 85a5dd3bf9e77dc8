"""Trial 12: odd groups, names and sizes give the right figure or a clear error, with intervals of micro and macro."""

from __future__ import annotations

from pathlib import Path

import evaluate
import pytest
from statsmodels.stats.proportion import proportion_confint

FOLDER = Path(__file__).parents[2] / "evaluate_metric" / "storyrmb_accuracy"


@pytest.fixture(scope="module")
def grouped():
    return evaluate.load(str(FOLDER), "grouped")


def test_groups_of_two_and_five_with_untidy_names(grouped):
    result = grouped.compute(
        predictions=[[1, 0], [0, 1, 2, 3, 4], [0, 1, 2, 3, 3], [5, 1]],
        references=[0, 4, 4, 1],
        dimensions=[" Creativity ", 1, "creativity", None],  # 1 is creativity
        sources=[None, None, None, None],
    )
    assert result["accuracy"] == 0.625  # 1 + 1 + 1/2 + 0 of 4
    assert result["chance"] == 0.35  # (1/2 + 1/5 + 1/5 + 1/2) / 4
    assert result["by_dimension"]["creativity"]["accuracy"] == pytest.approx(2.5 / 3)
    assert result["by_source"] == {}


def test_micro_and_macro_have_intervals_of_their_own(grouped):
    # fluency 30 of 40, coherence 2 of 10: micro 32/50 = 0.64, macro (0.75 + 0.2) / 2 = 0.475
    right, wrong = [1.0, 0.0], [0.0, 1.0]
    result = grouped.compute(
        predictions=[right] * 30 + [wrong] * 10 + [right] * 2 + [wrong] * 8,
        references=[0] * 50,
        dimensions=["fluency"] * 40 + ["coherence"] * 10,
        sources=[None] * 50,
    )
    assert result["accuracy"] == 0.64
    assert result["ci"] == pytest.approx(proportion_confint(32, 50, method="wilson"))
    assert result["macro_accuracy"] == 0.475
    (l1, u1), (l2, u2) = (proportion_confint(k, n, method="wilson") for k, n in ((30, 40), (2, 10)))
    below = ((0.75 - l1) ** 2 + (0.2 - l2) ** 2) ** 0.5 / 2
    above = ((u1 - 0.75) ** 2 + (u2 - 0.2) ** 2) ** 0.5 / 2
    assert result["macro_ci"] == pytest.approx([0.475 - below, 0.475 + above])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": ["", None]}, r"dimensions\[0\] is ''; expected one of coherence"),
        ({"sources": ["llm_llm", "unknown"]}, r"sources\[1\] is 'unknown'; expected one of human_llm"),
        ({"predictions": [[1, 0], [1]]}, r"predictions\[1\] has 1 candidate"),
    ],
)
def test_what_has_no_right_figure_is_refused(change, message):
    good = {"predictions": [[1, 0], [1, 0]], "references": [0, 0], "dimensions": [0, 0], "sources": [0, 0]}
    with pytest.raises(ValueError, match=message):
        evaluate.load(str(FOLDER), "grouped").compute(**{**good, **change})


def test_a_billionth_is_no_tie(grouped):
    result = grouped.compute(
        predictions=[[1.0, 1.0 + 1e-9, 0.0, 0.0]], references=[0], dimensions=[None], sources=[None]
    )
    assert (result["accuracy"], result["n_ties"]) == (0.0, 0)
