"""Selections of stories: weights, differences and splits worked out by hand; pooled kurtosis against scipy."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats

from storyalign.audit.linguistics import describe, gold_selection, scorer_selections, writer_selections
from storyalign.audit.surface import kurtosis
from storyalign.corpus.story_groups import StoryGroup, open_story_groups
from storyalign.records import Instance


def story(*lengths):
    return "\n".join(" ".join(["word"] * n) + "." for n in lengths)


A, B, C, D = story(1, 2, 3, 4), story(1, 1, 1, 9), story(2, 2, 5, 9, 1), story(3, 3)
ITEMS = [
    Instance("g1", "p1", A, (B,)),
    Instance("g2", "p2", C, (B,)),
    Instance("g3", "p3", A, (D,)),
]


def rows(rewards):
    described = describe([gold_selection(ITEMS), *scorer_selections("s", ITEMS, rewards)])
    return {row.kind: row for row in described}


def test_right_and_wrong_choices_and_the_relative_difference():
    found = rows({"g1": [1.0, 0.0], "g2": [0.0, 1.0], "g3": [0.0, 1.0]})
    gold = np.mean([kurtosis([1, 2, 3, 4]), kurtosis([2, 2, 5, 9, 1]), kurtosis([1, 2, 3, 4])])
    assert found["gold"].measures["kurtosis"].value == pytest.approx(gold)
    # chosen: A (right), B (wrong), D (wrong; two sentences have no kurtosis)
    k = found["all"].measures["kurtosis"]
    assert k.value == pytest.approx((kurtosis([1, 2, 3, 4]) + kurtosis([1, 1, 1, 9])) / 2)
    assert (k.n, k.n_undefined) == (2, 1)
    assert k.gap == pytest.approx(k.value - gold)
    assert k.difference == pytest.approx((k.value - gold) / abs(gold))
    assert k.ci is k.gap_ci is k.difference_ci is None  # three premises are too few
    assert found["right"].measures["kurtosis"].value == pytest.approx(kurtosis([1, 2, 3, 4]))
    assert found["wrong"].measures["kurtosis"].value == pytest.approx(kurtosis([1, 1, 1, 9]))
    assert found["all"].measures["words"].value == pytest.approx((10 + 12 + 6) / 3)
    assert found["gold"].measures["kurtosis"].difference == 0


def test_pooled_kurtosis_is_that_of_all_sentences():
    found = rows({"g1": [1.0, 0.0], "g2": [0.0, 1.0], "g3": [0.0, 1.0]})
    pooled = stats.kurtosis([1, 2, 3, 4, 1, 1, 1, 9, 3, 3])
    assert found["all"].measures["pooled_kurtosis"].value == pytest.approx(pooled)


def test_a_tie_counts_by_halves_and_a_missing_reward_is_no_choice():
    found = rows({"g1": [1.0, 1.0], "g2": [None, 1.0], "g3": [1.0, 0.0]})
    assert found["all"].n == 2 and found["right"].n == 1.5 and found["wrong"].n == 0.5
    assert found["all"].n_unscored == 1
    assert found["all"].measures["words"].value == pytest.approx((10 / 2 + 12 / 2 + 10) / 2)


def test_a_scorer_that_is_always_right_differs_in_nothing():
    found = rows({item.id: [1.0, 0.0] for item in ITEMS})
    for measure in found["all"].measures.values():
        assert measure.gap in (0, None) and measure.gap_ci in ((0, 0), None)
    assert found["wrong"].n == 0 and found["wrong"].measures["kurtosis"].value is None


def test_writers_stand_beside_people():
    groups = [
        StoryGroup("1", "p1", (A, B), ("human", "m1"), "en", "c"),
        StoryGroup("2", "p2", (C, B), ("m2", "human"), "en", "c"),
    ]
    selections = writer_selections(groups)
    assert [(s.name, len(s.stories)) for s in selections] == [("human", 2), ("all others", 2), ("m1", 1), ("m2", 1)]
    described = describe(selections)
    assert described[0].measures["words"].value == pytest.approx((10 + 12) / 2)
    assert all(row.measures["words"].ci is None for row in described)  # two premises at most
    assert described[1].measures["words"].gap == pytest.approx((12 + 19) / 2 - 11)


def test_eight_premises_have_an_interval_and_seven_have_none():
    for premises, has_one in ((7, False), (8, True)):
        items = [Instance(f"g{n}", f"p{n}", story(*[1] * (n + 4), 9), (D,)) for n in range(premises)]
        [gold] = describe([gold_selection(items)])
        assert (gold.measures["words"].ci is not None) is has_one


real = pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")


@real
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "people"), [("hanna", 24), ("fastdetect_wp", 45)])
def test_people_write_burstier_than_models(name, people):
    groups = list(open_story_groups(f"{os.environ['STORYALIGN_REAL_DATA']}/{name}.jsonl").groups)
    described = {row.name: row for row in describe(writer_selections(groups))}
    assert described["human"].n == people
    burstiness = described["all others"].measures["burstiness"]
    assert burstiness.gap_ci[1] < 0


@real
@pytest.mark.real_data
def test_chinese_stories_are_split_into_sentences():
    groups = list(open_story_groups(f"{os.environ['STORYALIGN_REAL_DATA']}/wpb_zh_fiction.jsonl").groups)
    for row in describe(writer_selections(groups)):
        assert 5 < row.measures["words_a_sentence"].value < 40


def test_shares_of_ties_leave_no_rounding_behind():
    # Three stories tie and all have a kurtosis: 1/3 thrice is one story, none of them without a figure.
    story = "One. One two. One two three four. One two three."
    items = [Instance(f"g{n}", f"p{n}", story, (story + " A.", story + " B c.")) for n in range(49)]
    chosen = scorer_selections("even", items, {item.id: [1.0, 1.0, 1.0] for item in items})
    everything = describe([gold_selection(items), *chosen])
    assert {row.measures["kurtosis"].n_undefined for row in everything} == {0.0}
