"""Orders that people gave: ties, several annotators, and raters inside judged groups."""

from __future__ import annotations

import os

import pytest

from storyalign.annotation.tasks import Task
from storyalign.annotation.verdicts import Answer, make_verdict
from storyalign.corpus.human_rankings import ListedGroup, judged_rankings, read_rankings, stored_order
from storyalign.corpus.premise_lists import Premise
from storyalign.errors import DataError, RecipeError, RowError
from storyalign.evaluation.drafts import DraftStore, plan, write_candidates
from storyalign.files import read_jsonl
from storyalign.records import Instance
from storyalign.text import judged_texts
from tests.support.rows import group_row, storyrmb_row, write_rows

ITEM = Instance("g1", "p", "best", ("middle", "worst"))
LISTED = {"g1": ListedGroup("p", ("worst", "best", None, "middle"))}
TEXTS = judged_texts("p", ("worst", "best", "", "middle"))


def test_ranks_follow_the_order_of_the_data_and_annotators_are_averaged(tmp_path):
    path = write_rows(
        tmp_path / "ann.jsonl",
        [
            {"id": "g1", "annotator": "ann", "ranks": [4, 1, 2, 3]},  # without the story that has no text: 3 1 2
            {"id": "g1", "annotator": "bob", "ranks": [2, 1, 9, 2]},  # a tie: both have place 2.5
        ],
    )
    rankings = read_rankings([path], LISTED)
    assert rankings.groups["g1"]["ann"] == {"worst": 3.0, "best": 1.0, "middle": 2.0}
    assert rankings.groups["g1"]["bob"] == {"worst": 2.5, "best": 1.0, "middle": 2.5}
    assert rankings.order(ITEM) == [1.0, 2.25, 2.75]
    assert rankings.annotators == ["ann", "bob"]
    assert rankings.order(Instance("g2", "p", "x", ("y",))) is None


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"id": "g1", "annotator": "a", "ranks": [1, 2]}, "2 ranks for 4 stories"),
        ({"id": "g9", "annotator": "a", "ranks": [1]}, "no group of this id"),
        ({"id": "g1", "ranks": [1, 2, 3, 4]}, "annotator missing"),
        ({"id": "g1", "annotator": "a", "ranks": [1, 2, True, 4]}, "rank must be a number, got True"),
        ({"id": "g1", "annotator": "a", "ranks": "1,2,3,4"}, "no list of ranks"),
    ],
)
def test_broken_rankings_are_named(tmp_path, row, complaint):
    with pytest.raises(RowError, match=r"r\.jsonl:1") as caught:
        read_rankings([write_rows(tmp_path / "r.jsonl", [row])], LISTED)
    assert complaint in str(caught.value)


def test_nobody_ranks_a_group_twice(tmp_path):
    row = {"id": "g1", "annotator": "a", "ranks": [1, 2, 3, 4]}
    with pytest.raises(RowError, match="ranked this group already"):
        read_rankings([write_rows(tmp_path / "r.jsonl", [row, row])], LISTED)
    senior = {**row, "annotator": "s", "kind": "senior"}
    assert read_rankings([write_rows(tmp_path / "s.jsonl", [senior, senior])], LISTED).settled
    other = {**senior, "annotator": "t", "ranks": [4, 3, 2, 1]}
    with pytest.raises(RowError, match="settled this group already, in another way"):
        read_rankings([write_rows(tmp_path / "s.jsonl", [senior, other])], LISTED)
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match="holds no rankings"):
        read_rankings([tmp_path / "empty.jsonl"], LISTED)


def test_verdicts_of_the_annotation_page(tmp_path):
    verdicts = [
        {"id": "g1", "annotator": "k1", "kind": "independent", "verdict": "reordered", "ranking": [1, 3, 0, 2]},
        {"id": "g1", "annotator": "k2", "kind": "independent", "verdict": "confirmed", "ranking": [0]},
        {"id": "g1", "annotator": "k1", "kind": "check", "verdict": "reordered", "ranking": [0, 1, 2, 3]},
        {"id": "g1", "annotator": "k3", "kind": "independent", "verdict": "unsure", "ranking": None},
    ]
    for row in verdicts:
        row["texts"] = TEXTS
    rankings = read_rankings([write_rows(tmp_path / "v.jsonl", verdicts)], LISTED)
    # Story 1 (best), 3 (middle), 0 (worst); the one without a text falls out. k2 names the best alone.
    assert rankings.groups["g1"]["k1"] == {"worst": 3.0, "best": 1.0, "middle": 2.0}
    assert rankings.groups["g1"]["k2"] == {"worst": 1.0, "best": 2.5, "middle": 2.5}
    assert rankings.passed_over.total() == 2
    senior = {
        "id": "g1",
        "annotator": "s",
        "kind": "senior",
        "verdict": "reordered",
        "ranking": [3, 1, 0, 2],
        "texts": TEXTS,
    }
    rankings = read_rankings([write_rows(tmp_path / "v.jsonl", [*verdicts, senior])], LISTED)
    assert rankings.order(ITEM) == [2.0, 1.0, 3.0] and rankings.annotators == ["k1", "k2"]
    for ranking in ([1, 1], [9], [True], "1"):
        broken = write_rows(tmp_path / "b.jsonl", [{"id": "g1", "annotator": "a", "ranking": ranking, "texts": TEXTS}])
        with pytest.raises(RowError, match=r"b\.jsonl:1 \(id g1\): ranking is"):
            read_rankings([broken], LISTED)


def test_verdicts_on_other_texts_rank_nothing(tmp_path):
    verdict = {"id": "g1", "annotator": "k1", "kind": "independent", "verdict": "reordered", "ranking": [1, 3, 0, 2]}
    changed = {"g1": ListedGroup("p", ("worst", "best", "another story", "middle"))}
    for row, complaint in (({**verdict, "texts": TEXTS}, "other stories"), (verdict, "texts is missing")):
        with pytest.raises(RowError, match=complaint):
            read_rankings([write_rows(tmp_path / "v.jsonl", [row])], changed)


def test_candidates_go_to_annotators_and_their_verdicts_come_back(tmp_path):
    premise = Premise("p1", "A dog.")
    drafts = plan([premise], 3, "settings")
    store = DraftStore(tmp_path / "drafts.jsonl")
    store.stories = {d.id: {"id": d.id, "story": f"Story {d.number}.", "writer": "w"} for d in drafts}
    write_candidates(tmp_path / "candidates.jsonl", drafts, store, "mine")
    (line,) = read_jsonl(tmp_path / "candidates.jsonl")
    task = Task.from_row(line.row)
    assert task.mode == "best-of-n"
    verdict = make_verdict(task, Answer(ranking=(2, 0, 1)), "k1", "independent", None)
    path = write_rows(tmp_path / "verdicts.jsonl", [verdict.to_row()])
    listed = {task.id: ListedGroup(task.prompt, task.stories)}
    assert read_rankings([path], listed).groups["p1"]["k1"] == {"Story 1.": 2.0, "Story 2.": 3.0, "Story 3.": 1.0}


def test_equal_means_stay_equal():
    # 0.1 + 0.2 + 0.3 in another order must not break a tie
    rankings = stored_order([ITEM])
    rankings.groups["g1"] = {
        "a": {"best": 0.1, "middle": 0.3, "worst": 0.2},
        "b": {"best": 0.2, "middle": 0.2, "worst": 0.1},
        "c": {"best": 0.3, "middle": 0.1, "worst": 0.3},
    }
    order = rankings.order(ITEM)
    assert order[0] == order[1] == order[2]


def test_the_stored_order_is_chosen_then_rejected():
    item = Instance.from_row(storyrmb_row(1))
    assert stored_order([item]).order(item) == [1, 2, 3, 4]


def test_raters_of_judged_groups(tmp_path):
    row = group_row(1, {"q": 2.0, "r": 3.0, "total": 5.0}, {"q": 4.0, "r": 2.0, "total": 6.0})
    row["candidates"][0] |= {"ranks": [2, 2], "by_rater": [[1, 2], [3, 4]]}  # totals 3 and 7, mean 5
    row["candidates"][1] |= {"ranks": [1, 1], "by_rater": [[5, 3], [3, 1]]}  # totals 8 and 4, mean 6
    path = write_rows(tmp_path / "g.jsonl", [row])
    first, second = (c["story"] for c in row["candidates"])
    assert judged_rankings(path, "ranks", True).groups["g1"] == {
        "rater 1": {first: 2.0, second: 1.0},
        "rater 2": {first: 2.0, second: 1.0},
    }
    totals = {"rater 1": {first: -3.0, second: -8.0}, "rater 2": {first: -7.0, second: -4.0}}
    assert judged_rankings(path, "total", False).groups["g1"] == totals
    assert judged_rankings(path, "r", False).groups["g1"]["rater 2"] == {first: -4.0, second: -1.0}
    row["candidates"][1]["by_rater"] = [[9, 9], [9, 9]]  # mean 18, not 6: no parts of the stored mean
    path = write_rows(tmp_path / "g.jsonl", [row])
    assert judged_rankings(path, "total", False).groups["g1"] == {"rater 1": {first: -5.0, second: -6.0}}
    with pytest.raises(RecipeError, match="is for judged groups"):
        judged_rankings(write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(1)]), "ranks", True)


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_real_raters_one_by_one():
    folder = os.environ["STORYALIGN_REAL_DATA"]
    lamp = judged_rankings(f"{folder}/lamp_rank.jsonl", "ranks", True)
    assert len(lamp.groups) == 50 and lamp.annotators == ["rater 1", "rater 2", "rater 3"]
    confederacy = judged_rankings(f"{folder}/confederacy.jsonl", "total_of_100", False)
    assert {len(values) for group in confederacy.groups.values() for values in group.values()} == {13}
    assert confederacy.annotators == ["rater 1", "rater 2"]


def test_a_rounded_mean_ties_with_the_ratings_it_stands_for(tmp_path):
    # 3, 3 and 4 have the mean 10/3, written as 3.33
    path = write_rows(tmp_path / "g.jsonl", [group_row(1, {"q": 3.33}, {"q": [3, 3, 4]})])
    [values] = judged_rankings(path, "q", False).groups["g1"].values()
    assert len(set(values.values())) == 1
