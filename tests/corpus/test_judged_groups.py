from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storyalign.corpus.judged_groups import (
    BEST_TWICE,
    NO_HUMAN,
    NO_TEXT,
    REPEATED,
    TIED,
    TOO_FEW,
    TOO_FEW_TEXTS,
    UNRATED,
    WITHHELD,
    Best,
    JudgedGroup,
    in_file_order,
    order,
    overall_key,
    read_judged_groups,
    score_keys,
)
from storyalign.errors import RowError
from tests.support.rows import group_row, write_rows


def read(tmp_path: Path, *rows: dict[str, Any]) -> list[JudgedGroup]:
    return list(read_judged_groups(write_rows(tmp_path / "groups.jsonl", list(rows))))


def writers(group: JudgedGroup, best: Best) -> list[str]:
    return [c.writer for c in order(group, best).candidates]


def test_best_to_worst_by_the_mean_of_a_score(tmp_path: Path) -> None:
    [group] = read(tmp_path, group_row(1, {"quality": 2.0}, {"quality": 3.0}, {"quality": 1.0}))
    assert writers(group, Best("quality")) == ["model-1", "model-0", "model-2"]
    assert writers(group, Best("quality", lower_is_better=True)) == ["model-2", "model-0", "model-1"]


def test_ranks_are_means_over_raters(tmp_path: Path) -> None:
    row = group_row(1, {"preference": 0}, {"preference": 0}, {"preference": 0})
    for candidate, ranks in zip(row["candidates"], ([2, 1, 1], [1, 2, 2], [3, 3, 3]), strict=True):
        candidate["ranks"] = ranks
    [group] = read(tmp_path, row)
    assert [c.scores["ranks"] for c in group.candidates] == pytest.approx([4 / 3, 5 / 3, 3])
    assert writers(group, Best("ranks", lower_is_better=True)) == ["model-0", "model-1", "model-2"]
    assert group.criteria == ("preference",)


def test_a_tie_for_the_best_place_drops_the_group_and_one_below_does_not(tmp_path: Path) -> None:
    tied, below = read(
        tmp_path,
        group_row(1, {"q": 0.1 + 0.2}, {"q": 0.3}, {"q": 0.1}),  # equal but for rounding
        group_row(2, {"q": 1}, {"q": 1}, {"q": 2}),
    )
    assert order(tied, Best("q")).dropped == TIED
    assert writers(below, Best("q")) == ["model-2", "model-0", "model-1"]


def test_unrated_and_withheld_stories_are_left_out_and_counted(tmp_path: Path) -> None:
    row = group_row(1, {"q": 3}, None, {"q": 2}, {"q": 1})
    row["candidates"][2]["story"] = None
    [group] = read(tmp_path, row)
    ordered = order(group, Best("q"))
    assert [c.writer for c in ordered.candidates] == ["model-0", "model-3"]
    assert ordered.left_out == {UNRATED: 1, NO_TEXT: 1}


def test_the_best_of_the_rest_is_not_the_best(tmp_path: Path) -> None:
    row = group_row(1, {"q": 3}, {"q": 2}, {"q": 1})
    row["candidates"][0]["story"] = None
    [group] = read(tmp_path, row)
    assert order(group, Best("q")).dropped == WITHHELD


def test_no_raters_means_no_scores(tmp_path: Path) -> None:
    row = group_row(1, {"q": 3}, {"q": 2})
    row["candidates"][0]["n_raters"] = 0
    [group] = read(tmp_path, row)
    assert order(group, Best("q")).dropped == TOO_FEW


def test_a_group_with_one_text_is_dropped(tmp_path: Path) -> None:
    row = group_row(1, {"q": 3}, {"q": 2})
    row["candidates"][1]["story"] = None
    [group] = read(tmp_path, row)
    assert order(group, Best("q")).dropped == TOO_FEW_TEXTS
    assert in_file_order(group).dropped == TOO_FEW_TEXTS


def test_the_same_story_twice(tmp_path: Path) -> None:
    best_twice, other_twice = (group_row(n, {"q": 3}, {"q": 2}, {"q": 1}) for n in (1, 2))
    best_twice["candidates"][2]["story"] = best_twice["candidates"][0]["story"]
    other_twice["candidates"][2]["story"] = other_twice["candidates"][1]["story"]
    first, second = read(tmp_path, best_twice, other_twice)
    assert order(first, Best("q")).dropped == BEST_TWICE
    assert writers(second, Best("q")) == ["model-0", "model-1"]
    assert order(second, Best("q")).left_out == {REPEATED: 1}


def test_the_human_story_is_best_only_when_asked_for(tmp_path: Path) -> None:
    row, none, two = (group_row(n, {"q": 1}, {"q": 3}, {"q": 2}) for n in (1, 2, 3))
    row["candidates"][0]["writer"] = "Human"
    two["candidates"][0]["writer"] = two["candidates"][1]["writer"] = "human"
    group, without, with_two = read(tmp_path, row, none, two)
    assert writers(group, Best("q")) == ["model-1", "model-2", "Human"]
    assert writers(group, Best("q", human=True)) == ["Human", "model-1", "model-2"]
    assert writers(group, Best("q", lower_is_better=True, human=True)) == ["Human", "model-2", "model-1"]
    assert writers(group, Best(human=True)) == ["Human", "model-1", "model-2"]
    assert order(without, Best(human=True)).dropped == order(with_two, Best(human=True)).dropped == NO_HUMAN


def test_the_score_for_the_whole_story(tmp_path: Path) -> None:
    single = read(tmp_path, group_row(1, {"q": 1}, {"q": 2}))
    total = read(tmp_path, group_row(1, {"a": 1, "b": 2.5, "sum": 3.5}, {"a": 0, "b": 1, "sum": 1}, None))
    neither = read(tmp_path, group_row(1, {"a": 1, "b": 2.5, "sum": 3}, {"a": 0, "b": 1, "sum": 1}))
    assert overall_key(single) == "q"
    assert overall_key(total) == "sum"
    assert overall_key(neither) is None
    assert overall_key(read(tmp_path, group_row(1, None, None))) is None


def test_score_keys_say_how_many_groups_they_decide(tmp_path: Path) -> None:
    groups = read(
        tmp_path,
        group_row(1, {"a": 1, "b": 1}, {"a": 2, "b": 1}),
        group_row(2, {"a": 1, "b": 2}, {"a": 2, "b": 1}),
    )
    assert score_keys(groups) == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"premise": " "}, "premise is missing, empty or no text"),
        ({"candidates": []}, "candidates is missing, empty or no list"),
        ({"candidates": ["text"]}, "candidates[0] is no object"),
        ({"candidates": [{"writer": "x"}]}, "candidates[0].story is missing"),
        ({"candidates": [{"story": ""}]}, "candidates[0].story is empty"),
        ({"candidates": [{"story": "s", "scores": [1]}]}, "candidates[0].scores is no object"),
        ({"candidates": [{"story": "s", "scores": {"q": "9"}}]}, "candidates[0].q is '9'"),
        ({"candidates": [{"story": "s", "scores": {"q": True}}]}, "candidates[0].q is True"),
        ({"candidates": [{"story": "s", "scores": {"q": []}}]}, "candidates[0].q is an empty list"),
        ({"candidates": [{"story": "s", "ranks": [1, None]}]}, "candidates[0].ranks is [1, None]"),
        ({"id": "g1"}, "duplicate id g1: "),
    ],
)
def test_a_broken_group_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    rows = [group_row(1, {"q": 1}, {"q": 2}), {**group_row(2, {"q": 1}, {"q": 2}), **change}]
    with pytest.raises(RowError) as caught:
        read(tmp_path, *rows)
    assert caught.value.line == 2
    assert caught.value.problem.startswith(problem)


def test_unknown_fields_do_no_harm(tmp_path: Path) -> None:
    row = group_row(1, {"q": 1}, {"q": 2})
    row["candidates"][0] |= {"by_rater": [[1.0, 2.0], [3.0]], "tags": ["a"], "comment": "", "code": "3V7S"}
    [group] = read(tmp_path, json.loads(json.dumps(row)))
    assert score_keys([group]) == {"q": 1}


def test_a_mean_rounded_to_two_decimals_equals_the_ratings_it_stands_for(tmp_path: Path) -> None:
    # The mean of 3, 3 and 4 is 10/3, which is written as 3.33.
    tied, apart = read(
        tmp_path,
        group_row(1, {"q": 3.33}, {"q": [3, 3, 4]}, {"q": 1.0}),
        group_row(2, {"q": 3.34}, {"q": [3, 3, 4]}, {"q": 1.0}),
    )
    assert order(tied, Best("q")).dropped == TIED
    assert writers(apart, Best("q")) == ["model-0", "model-1", "model-2"]


def test_stories_that_differ_by_white_space_alone_are_one_story(tmp_path: Path) -> None:
    best_twice = group_row(1, {"q": 3}, {"q": 2}, {"q": 1}, {"q": 0})
    best_twice["candidates"][1]["story"] = best_twice["candidates"][0]["story"].replace(" ", "  ") + "\n"
    other_twice = group_row(2, {"q": 3}, {"q": 2}, {"q": 1})
    other_twice["candidates"][2]["story"] = other_twice["candidates"][1]["story"] + "\n"
    first, second = read(tmp_path, best_twice, other_twice)
    assert order(first, Best("q")).dropped == BEST_TWICE
    ordered = order(second, Best("q"))
    assert [c.writer for c in ordered.candidates] == ["model-0", "model-1"]
    assert ordered.left_out == {REPEATED: 1}


def test_a_language_under_either_name_and_none(tmp_path: Path) -> None:
    rows = [group_row(n, {"q": 1}, {"q": 2}, lang=None) for n in range(3)]
    rows[0]["lang"], rows[1]["language"] = "zh", "ja"
    assert [group.language for group in read(tmp_path, *rows)] == ["zh", "ja", "und"]
