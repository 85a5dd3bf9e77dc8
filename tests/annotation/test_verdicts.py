from __future__ import annotations

import pytest

from storyalign.annotation.verdicts import Answer, Verdict, contradictions, make_verdict, problems
from storyalign.records import BadRow
from tests.support.annotated_groups import ranked, task, unsure

RANK, CONFIRM = task(), task(ranking=[2, 0, 1, 3])
HUMAN, BEST_OF_N = task(human=1), task(n=16, mode="best-of-n")
EVERY = range(16)


def test_contradictions_are_pairs_out_of_order() -> None:
    assert contradictions([0, 1, 2], [9, 7, 5]) == []
    assert contradictions([0, 1, 2], [7, 7, 7]) == []  # equal scores allow any order
    assert contradictions([0, 1, 2], [5, 7, 9]) == [(0, 1), (0, 2), (1, 2)]


def test_a_whole_ranking_with_scores() -> None:
    verdict = make_verdict(RANK, Answer((3, 1, 0, 2), (6, 7, 2, 9)), "k", "independent", 61.5, opened=EVERY)
    assert (verdict.verdict, verdict.ranking, verdict.scores) == ("reordered", (3, 1, 0, 2), (6, 7, 2, 9))
    assert (verdict.best, verdict.contradictions, verdict.seconds) == (3, 0, 61.5)


@pytest.mark.parametrize(
    ("about", "answer", "said"),
    [
        (RANK, Answer((3, 1, 0), (6, 7, 2, 9)), "the order does not hold every story once"),
        (RANK, Answer((3, 1, 0, 0), (6, 7, 2, 9)), "the order does not hold every story once"),
        (RANK, Answer((3, 1, 0, 2), (6, 7, None, 9)), "not every story has a score from 1 to 10"),
        (RANK, Answer((3, 1, 0, 2), (6, 7, 11, 9)), "not every story has a score from 1 to 10"),
        (RANK, Answer((2, 1, 0, 3), (6, 7, 2, 9)), "the order contradicts the scores"),
        (CONFIRM, Answer(), "the order does not hold every story once"),
        (HUMAN, Answer(), "no story is picked"),
        (BEST_OF_N, Answer(tuple(range(15))), "the order does not hold every story once"),
    ],
)
def test_what_is_missing_is_said(about, answer: Answer, said: str) -> None:
    assert problems(about, answer, EVERY) == [said]
    with pytest.raises(BadRow, match=said):
        make_verdict(about, answer, "k", "independent", 1.0)


def test_all_stories_must_be_opened_even_to_be_unsure() -> None:
    assert problems(RANK, Answer(unsure=True), opened=[0, 2]) == ["2 stories were not opened yet"]
    assert problems(RANK, Answer(unsure=True), opened=[0, 1, 2]) == ["1 story was not opened yet"]
    assert problems(RANK, Answer(unsure=True), opened=[3, 1, 2, 0]) == []


def test_a_contradiction_that_was_seen_is_kept_and_counted() -> None:
    answer = Answer((2, 1, 0, 3), (6, 7, 2, 9), accepted=True)
    # 2 (score 2) stands above 1 (7), 0 (6) and 3 (9); 1 (7) above 3 (9); 0 (6) above 3 (9)
    assert make_verdict(RANK, answer, "k", "independent", 1.0).contradictions == 5


def test_confirm() -> None:
    assert ranked(CONFIRM, "k", 2, 0, 1, 3).verdict == "confirmed"
    changed = ranked(CONFIRM, "k", 0, 2, 1, 3)
    assert (changed.verdict, changed.ranking, changed.scores) == ("reordered", (0, 2, 1, 3), None)
    undecided = unsure(CONFIRM, "k")
    assert (undecided.verdict, undecided.ranking, undecided.best) == ("unsure", (2, 0, 1, 3), None)  # the order stays


def test_human_best_is_blind_so_another_story_may_win() -> None:
    assert ranked(HUMAN, "k", 1).verdict == "confirmed"
    other = ranked(HUMAN, "k", 3)
    assert (other.verdict, other.ranking) == ("reordered", (3,))
    assert (unsure(HUMAN, "k").verdict, unsure(HUMAN, "k").ranking) == ("unsure", None)


def test_sixteen_stories_without_scores() -> None:
    verdict = ranked(BEST_OF_N, "k", *reversed(range(16)))
    assert (verdict.best, verdict.scores) == (15, None)


@pytest.mark.parametrize(
    "verdict", [ranked(RANK, "k", 3, 1, 0, 2), unsure(CONFIRM, "k"), ranked(HUMAN, "k", 3), unsure(RANK, "k", "check")]
)
def test_rows_go_round(verdict: Verdict) -> None:
    about = {"rank": RANK, "confirm": CONFIRM, "human-best": HUMAN}[verdict.mode]
    assert Verdict.from_row(verdict.to_row(), about) == verdict


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"annotator": ""}, "annotator is missing"),
        ({"kind": "guess"}, "unknown kind"),
        ({"verdict": "ok"}, "unknown verdict"),
        ({"verdict": "confirmed"}, "verdict is confirmed, but the ranking says reordered"),
        ({"ranking": "3102"}, "expected a list of whole numbers"),
        ({"ranking": [3, 1, 0, 4]}, "every story once"),
        ({"scores": None}, "score from 1 to 10"),
        ({"seconds": -1}, "seconds is -1"),
        ({"seconds": "ten"}, "seconds is 'ten'"),
    ],
)
def test_broken_rows_are_refused(change: dict, said: str) -> None:
    with pytest.raises(BadRow, match=said):
        Verdict.from_row({**ranked(RANK, "k", 3, 1, 0, 2).to_row(), **change}, RANK)
