from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.corpus.numbers import read_number, read_optional_number
from storyalign.records import BadRow


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("12", 12.0),
        (" 3.5 ", 3.5),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("3.5k", 3500.0),
        ("2.1万", 21_000.0),
        ("1,204,567", 1_204_567.0),
        ("1,204,567.5", 1_204_567.5),
        (7, 7.0),
    ],
)
def test_a_number_with_one_reading(value: object, number: float) -> None:
    assert read_number(value, "reads") == number


@pytest.mark.parametrize("value", ["2,1", "1,204", "1.204,5", "12,90", "1,2k", "1.204.567,5", "-2,1", "1 204,5"])
def test_a_number_with_two_readings_is_refused(value: str) -> None:
    with pytest.raises(BadRow, match=f"column reads is '{value}', which can be read in two ways"):
        read_number(value, "column reads")


@pytest.mark.parametrize(
    "value", ["many", "nan", "inf", "1e999", "1_000", "1.204.567", "6 to 8", "not 10", "８", "١٢", "", True, [1], None]
)
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(BadRow, match="column reads must be a finite number, got"):
        read_number(value, "column reads")


@pytest.mark.parametrize(
    ("value", "decimal", "number"),
    [("1,204", ".", 1204.0), ("1.204", ",", 1204.0), ("2,1", ",", 2.1), ("1.204,5", ",", 1204.5), ("2.1", ".", 2.1)],
)
def test_a_named_decimal_mark_leaves_one_reading(value: str, decimal: str, number: float) -> None:
    assert read_number(value, "reads", decimal) == number


@pytest.mark.parametrize(("value", "decimal"), [("2,1", "."), ("12,04", "."), ("2.1", ","), ("1,204.5", ",")])
def test_a_number_against_the_named_decimal_mark_is_refused(value: str, decimal: str) -> None:
    with pytest.raises(BadRow, match="must be a finite number"):
        read_number(value, "reads", decimal)


def test_an_empty_cell_is_no_number() -> None:
    assert read_optional_number(" ", "reads") is read_optional_number(None, "reads") is None


HEDGES = ("not {}", "about {}", "{} or so", "{} to 9", "{}?", "~{}", "less than {}", "{}/10", "{}%", "un{}", "({})")


@given(st.sampled_from(HEDGES), st.integers(-(10**6), 10**6))
def test_a_hedged_or_negated_number_never_becomes_a_value(hedge: str, number: int) -> None:
    with pytest.raises(BadRow):
        read_number(hedge.format(number), "reads")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_is_read_back(number: float) -> None:
    assert read_number(repr(number), "reads") == number


@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from("., "))
def test_a_comma_before_or_after_a_separator_is_never_a_value(high: int, low: int, mark: str) -> None:
    for text in (f"{high},{low}", f"{high}{mark}{low:03d},{low}"):
        if text.count(",") > 1 and "." not in text and " " not in text:
            continue  # two groups of three digits leave one reading
        with pytest.raises(BadRow):
            read_number(text, "reads")
