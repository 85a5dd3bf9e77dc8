"""Published tables: what an average is, and which percentages cannot be."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.audit.accuracy_table import STORYRMB_SIZES, audit_table, paper_table, possible, read_table
from storyalign.errors import DataError, RecipeError


def test_table_1_of_the_paper():
    audit = audit_table("paper:1", paper_table("paper:1"), STORYRMB_SIZES)
    # ERRATA of the paper, worked out by hand: 12 fit micro, 2 of these macro too, 3 neither.
    assert (audit.count("micro", "both"), audit.count("both"), audit.count("neither")) == (12, 2, 3)
    assert {row.name for row in audit.rows if row.fit == "neither"} == {
        "InternLM2-20B-Reward",
        "Llama3.1-8B-Instruct",
        "GPT-4o",
    }
    cells = {(cell.column, cell.printed) for cell in audit.impossible}
    assert cells == {
        *(("Creativity", printed) for printed in ("25.1", "18.9", "32.3", "17.9", "48.8", "60.8")),
        *(("Coherence", printed) for printed in ("52.4", "77.5")),
        *(("Relevance", printed) for printed in ("24.9", "67.7")),
    }
    assert len(audit.impossible) == 10 and audit.n_cells == 75
    assert {c.printed: c.cut_from for c in audit.impossible if c.cut_from} == {"52.4": "139/265 = 52.45"}
    best = next(row for row in audit.rows if row.name == "StoryReward-Qwen")
    assert (round(best.micro, 2), round(best.macro, 2)) == (75.05, 74.24)


def test_table_2_of_the_paper():
    audit = audit_table("paper:2", paper_table("paper:2"), STORYRMB_SIZES)
    assert [row.fit for row in audit.rows] == ["neither"] * 3
    assert len(audit.impossible) == 8
    assert sorted(c.printed for c in audit.impossible if c.cut_from) == ["68.1", "76.2"]
    assert sum(c.row == "(-) Prompt-Guided Rewriting" for c in audit.impossible) == 5


def test_both_means_by_hand():
    # 2 of 4 and 6 of 8: over groups 8/12 = 66.67, over columns 62.5.
    rows = read_table("model,a,b,average\nx,50.0,75.0,66.7\ny,50.0,75.0,62.5\nz,50.0,75.0,60.0\n", "t.csv")
    audit = audit_table("t.csv", rows, {"A": 4, "B": 8})
    assert [row.fit for row in audit.rows] == ["micro", "macro", "neither"]
    assert audit.impossible == []


@given(st.integers(1, 400), st.data(), st.integers(0, 3))
def test_every_real_share_is_possible(n, data, decimals):
    k = data.draw(st.integers(0, n))
    printed = Decimal(100 * k) / Decimal(n)
    assert possible(round(printed, decimals) if decimals else Decimal(round(printed)), n) is not None


@given(st.integers(1, 60), st.integers(0, 1000))
def test_possible_agrees_with_trying_every_k(n, tenths):
    near = any(abs(100 * k / n - tenths / 10) <= 0.05 + 1e-12 for k in range(n + 1))
    assert (possible(Decimal(tenths).scaleb(-1), n) is not None) == near


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("model,a\n", "at least one row"),
        ("model,a\nx,1,2\n", "t.csv:2: 3 cells under 2 column names"),
        ("model,a\nx,many\n", "t.csv:2 (x), a: 'many' is no percentage"),
        ("model,a\nx,101\n", "no percentage from 0 to 100"),
        ("model,a\nx,NaN\n", "no percentage"),
        ("model;a;mean\nx;10;10\n", "cells apart by commas"),
        ("model,a,A,mean\nx,10,20,15\n", "two columns are called a;"),
        ("model,mean\nx,10\n", "no column of accuracies beside 'mean'"),
        ("model,a,b,mean\nx,0.25,0.50,0.375\ny,0.75,0,0.375\n", "multiply fractions by 100"),
    ],
)
def test_broken_tables_are_named(text, complaint):
    with pytest.raises(DataError) as caught:
        read_table(text, "t.csv")
    assert complaint in str(caught.value)


def test_a_column_without_a_size_is_named():
    with pytest.raises(RecipeError, match="no group size for b"):
        audit_table("t.csv", read_table("model,a,b\nx,1.0,2.0\n", "t.csv"), {"a": 100})


def test_an_average_over_blank_cells_is_not_checked():
    # Row x could be the mean of its one cell, or of two of which one is not printed: nobody can say.
    rows = read_table("model,a,b,average\nx,25.0,,25.0\ny,,,30.0\nz,50.0,75.0,62.5\nw,0,0,0\n", "t.csv")
    audit = audit_table("t.csv", rows, {"a": 4, "b": 8})
    assert [(row.name, row.fit, row.blank) for row in audit.rows] == [
        ("x", None, ("b",)),
        ("y", None, ("a", "b")),
        ("z", "macro", ()),
        ("w", "both", ()),
    ]
    assert audit.rows[0].micro is None and audit.n_cells == 5
    assert audit.summary.startswith("2 averages: ") and "2 more not checked" in audit.summary
