import krippendorff
import numpy as np
import pytest

from storyalign.krippendorff_alpha import krippendorff_alpha

NAN = np.nan


def test_by_hand() -> None:
    # Two raters, four units: 1-1, 1-2, 2-2, and a unit with one rating, which does not count.
    # Each unit gives each ordered pair of ratings once: coincidences 11: 2, 12: 1, 21: 1, 22: 2; n = 6, n1 = n2 = 3.
    # Observed disagreement 2/6; expected 2 * 3 * 3 / (6 * 5) = 0.6; alpha = 1 - (1/3) / 0.6 = 4/9.
    assert krippendorff_alpha([[1, 1, 2, 5], [1, 2, 2, NAN]], "nominal") == pytest.approx(4 / 9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_against_the_reference_implementation(level: str) -> None:
    generator = np.random.default_rng(7)
    for _ in range(50):
        truth = generator.integers(1, 6, size=12)
        data = truth + generator.integers(-1, 2, size=(4, 12)).astype(float)
        data[generator.random((4, 12)) < 0.2] = NAN
        paired = data[:, (~np.isnan(data)).sum(axis=0) > 1]
        expected = krippendorff.alpha(reliability_data=paired, level_of_measurement=level)
        assert krippendorff_alpha(data, level) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("data", [[[1, 2, NAN], [NAN, NAN, 3]], [[2, 2], [2, 2]], [[NAN], [NAN]]])
def test_nothing_to_compare_is_no_number(data: list[list[float]]) -> None:
    assert krippendorff_alpha(data, "interval") is None
