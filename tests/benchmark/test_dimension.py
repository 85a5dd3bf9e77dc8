"""The four stages, each reached by scores whose gaps, margins and variances are worked out beside them."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.benchmark.dimension import ORDER, categorize, margin, mean_gap, variance
from storyalign.records import DIMENSIONS, BadRow

REAL = os.environ.get("STORYALIGN_REAL_DATA")


def same(value: float, **others: float) -> dict[str, float]:
    return {**dict.fromkeys(ORDER, value), **others}


def group(**columns: list[float]) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Make a chosen story of 8 everywhere, and three rejected ones of 8 but for the columns given."""
    rejected = [same(8.0, **{name: scores[i] for name, scores in columns.items()}) for i in range(3)]
    return same(8.0), rejected


def test_the_order_holds_every_dimension_once() -> None:
    assert sorted(ORDER) == sorted(DIMENSIONS)


def test_figures_of_one_dimension() -> None:
    chosen, rejected = group(fluency=[7.0, 5.0, 3.0])
    assert mean_gap(chosen, rejected, "fluency") == 3.0  # 8 - 15/3
    assert margin(chosen, rejected, "fluency") == 1.0  # 8 - 7
    assert variance(rejected, "fluency") == pytest.approx(8 / 3)  # (4 + 0 + 4) / 3


def test_stage_1_one_gap_is_clearly_the_largest() -> None:
    # Gaps: relevance 3, fluency 2; 3 - 2 > 0.5. Its margin 0 is smaller than fluency's 2, which no longer matters.
    assert categorize(*group(relevance=[8.0, 4.0, 3.0], fluency=[6.0, 6.0, 6.0])) == ("relevance", 1)


def test_stage_2_among_similar_gaps_the_largest_margin() -> None:
    # Gaps: coherence 3, characterization 3 - 1/3 (within 0.5); margins 1 and 2.
    scores = group(coherence=[7.0, 4.0, 4.0], characterization=[6.0, 5.0, 5.0])
    assert categorize(*scores) == ("characterization", 2)


def test_stage_3_among_equal_margins_the_smallest_variance() -> None:
    # Gaps 3 and 3, margins 2 and 2; variances (1+0+1)/3 and 2.375/3: (6, 5.25, 3.75) has mean 5.
    scores = group(creativity=[6.0, 5.25, 3.75], fluency=[6.0, 5.0, 4.0])
    assert categorize(*scores) == ("fluency", 3)


def test_stage_4_the_fixed_order() -> None:
    assert categorize(*group(relevance=[5.0, 5.0, 5.0], fluency=[5.0, 5.0, 5.0])) == ("fluency", 4)
    assert categorize(*group()) == ("creativity", 4)


def test_a_gap_exactly_at_the_tolerance_is_similar() -> None:
    # Gaps 3 and 2.5; margins 2 and 2.5.
    scores = group(coherence=[6.0, 5.0, 4.0], relevance=[5.5, 5.5, 5.5])
    assert categorize(*scores) == ("relevance", 2)
    assert categorize(*scores, tie_tolerance=0.4) == ("coherence", 1)


def test_a_rounding_error_decides_nothing() -> None:
    # Both margins are 1.9 and both variances 0, but in floats fluency leads by an ulp.
    assert 8.0 - 6.1 > 9.1 - 7.2
    chosen = same(5.0, creativity=9.1, fluency=8.0)
    rejected = [same(5.0, creativity=7.2, fluency=6.1)] * 3
    assert categorize(chosen, rejected) == ("creativity", 4)


def test_a_chosen_story_that_is_worse_everywhere_still_has_a_dimension() -> None:
    # Gaps -1 everywhere but relevance 0.
    chosen = same(4.0, relevance=5.0)
    assert categorize(chosen, [same(5.0)] * 3) == ("relevance", 1)


def test_groups_of_other_sizes_and_other_criteria() -> None:
    assert categorize({"plot": 7, "style": 7}, [{"plot": 3, "style": 6}], order=("plot", "style")) == ("plot", 1)


@pytest.mark.parametrize(
    ("chosen", "rejected", "said"),
    [
        (same(8.0), [], "no rejected story"),
        ({"creativity": 8.0}, [same(5.0)], "the chosen story has no score on coherence"),
        (same(8.0), [same(5.0), same(5.0, fluency=float("nan"))], "rejected story 2 has no score on fluency"),
    ],
)
def test_missing_scores_are_an_error(chosen: dict, rejected: list, said: str) -> None:
    with pytest.raises(BadRow, match=said):
        categorize(chosen, rejected)


stories = st.fixed_dictionaries({name: st.integers(1, 10).map(float) for name in ORDER})


@given(stories, st.lists(stories, min_size=3, max_size=3), st.permutations(range(3)))
def test_the_order_of_rejected_stories_does_not_matter(chosen: dict, rejected: list, places: list[int]) -> None:
    assert categorize(chosen, rejected) == categorize(chosen, [rejected[i] for i in places])


MAPPING = {
    "creativity": ["creativity"],
    "coherence": ["plot_logic"],
    "fluency": ["readability"],
    "characterization": ["accurate_characters"],
    "relevance": ["jkt_style", "epic_genre", "combat"],  # what the premise asks for: style, genre and subject
}
"""Criteria of the real set for each dimension, averaged; narrative and structural elements and humor have none."""


@pytest.mark.real_data
@pytest.mark.skipif(REAL is None, reason="STORYALIGN_REAL_DATA is not set")
def test_real_groups_in_fours() -> None:
    with (Path(REAL or "") / "confederacy.jsonl").open(encoding="utf-8") as file:
        groups = [json.loads(line)["candidates"] for line in file]
    found: Counter[tuple[str, int]] = Counter()
    for candidates in groups:
        ranked = sorted(candidates, key=lambda c: -c["scores"]["total_of_100"])
        own = [{d: sum(c["scores"][k] for k in ks) / len(ks) for d, ks in MAPPING.items()} for c in ranked]
        found[categorize(own[0], own[1:])] += 1  # the whole group of 13
        for start in range(len(own) - 3):  # and each run of four neighbours
            dimension, stage = categorize(own[start], own[start + 1 : start + 4])
            found[dimension, stage] += 1
            gaps = {d: own[start][d] - sum(o[d] for o in own[start + 1 : start + 4]) / 3 for d in ORDER}
            assert max(gaps.values()) - gaps[dimension] <= 0.5 + 1e-9
    assert sum(found.values()) == 22
    print(dict(found))
