import pytest

from storyalign.benchmark.assemble import dimension_of, too_few_judges
from storyalign.benchmark.recipe import Recipe
from storyalign.benchmark.settling import routes_of, settle, task_of
from storyalign.llm.steps import Dropped
from storyalign.records import DIMENSIONS, BadRow

JUDGES = ("a", "b", "c", "d")
RECIPE = Recipe.from_mapping({})


def scored(*overall: float) -> list[dict[str, float]]:
    return [{**dict.fromkeys(DIMENSIONS, 5.0), "overall": score} for score in overall]


def rated(ratings: dict[str, list[dict[str, float]]], human: int | None = None) -> dict:
    unrated = {judge: "no ratings" for judge in JUDGES if judge not in ratings}
    source = "llm_llm" if human is None else "human_llm"
    return {"id": "g", "source": source, "human": human, "candidates": 4, "ratings": ratings, "unrated": unrated}


def route(ratings: dict[str, list[dict[str, float]]], human: int | None = None) -> dict:
    [row] = routes_of([rated(ratings, human)], JUDGES, RECIPE)
    return row


def test_judges_who_agree_settle_the_order_by_their_means():
    # Three judges say 9 > 7 > 5 > 3, one swaps the last two: tau 1 in 3 pairs, 4/6 in 3: mean 5/6.
    row = route({**{judge: scored(9, 7, 5, 3) for judge in "abc"}, "d": scored(9, 7, 3, 5)})
    assert row["tau_avg"] == pytest.approx(5 / 6)
    assert row["scores"] == [9, 7, 4.5, 3.5]
    assert (row["ranking"], row["route"], row["reason"]) == ([0, 1, 2, 3], "majority", "agreement")


def test_judges_who_contradict_send_the_group_to_annotators():
    row = route({"a": scored(9, 7, 5, 3), "b": scored(3, 5, 7, 9), "c": scored(9, 7, 5, 3), "d": scored(3, 5, 7, 9)})
    assert row["tau_avg"] == pytest.approx(-1 / 3)  # two pairs of 1, four of -1
    assert (row["route"], row["reason"]) == ("annotators", "weak_agreement")


def test_the_human_story_is_not_ranked_by_judges():
    # The human story (0) has the highest scores of all; the LLM stories alone are ranked.
    row = route({judge: scored(10, 2, 6, 4) for judge in JUDGES}, human=0)
    assert row["ranking"] == [2, 3, 1]
    assert row["scores"] == [None, 2, 6, 4]
    assert row["tau_avg"] == 1


def test_one_missing_judge_is_left_out_and_two_leave_stories_unrated():
    row = route({judge: scored(9, 7, 5, 3) for judge in "abc"})
    assert (row["route"], row["unrated"]) == ("majority", {"d": "no ratings"})
    row = route({judge: scored(9, 7, 5, 3) for judge in "ab"})
    assert (row["ranking"], row["reason"]) == (None, "unrated_story")
    assert route({})["tau_avg"] is None


GROUP = {"id": "g", "prompt": "p", "candidates": [{"story": s, "writer": s, "made_by": None} for s in "wxyz"]}


def test_tasks_ask_what_is_open():
    agreed = route({judge: scored(9, 7, 5, 3) for judge in JUDGES})
    assert (task_of(GROUP, agreed)["mode"], task_of(GROUP, agreed)["ranking"]) == ("confirm", [0, 1, 2, 3])
    assert task_of(GROUP, route({}))["mode"] == "rank"
    human = task_of(GROUP, route({judge: scored(10, 2, 6, 4) for judge in JUDGES}, human=0))
    assert (human["mode"], human["human"], human["ranking"]) == ("human-best", 0, None)
    assert human["candidates"][1] == {"story": "x", "writer": "x"}


def test_annotators_have_the_last_word():
    agreed = route({judge: scored(9, 7, 5, 3) for judge in JUDGES})
    assert settle(agreed, {"verdict": "confirmed", "ranking": [0, 1, 2, 3]}, RECIPE)["ranking"] == [0, 1, 2, 3]
    assert settle(agreed, {"verdict": "reordered", "ranking": [1, 0, 2, 3]}, RECIPE)["ranking"] == [1, 0, 2, 3]
    undecided = settle(agreed, {"verdict": "unsure", "ranking": None}, RECIPE)  # keeps the ranking (Appendix C)
    assert (undecided["ranking"], undecided["verified"]) == ([0, 1, 2, 3], False)
    assert settle(agreed, None, RECIPE) == Dropped("g", "waits for annotators", again=True)


def test_a_tied_first_place_is_never_settled_by_the_order_of_the_file():
    tied = route({judge: scored(9, 9, 5, 3) for judge in JUDGES})
    assert (tied["route"], tied["reason"]) == ("annotators", "first_place_tied")
    assert settle(tied, {"verdict": "unsure", "ranking": None}, RECIPE) == Dropped(
        "g", "annotators unsure, and the judges' first place is tied"
    )
    assert settle(tied, {"verdict": "reordered", "ranking": [1, 0, 2, 3]}, RECIPE)["ranking"] == [1, 0, 2, 3]


def test_a_human_story_is_kept_only_where_it_is_surely_the_best():
    human = route({judge: scored(10, 2, 6, 4) for judge in JUDGES}, human=0)
    assert settle(human, {"verdict": "confirmed", "ranking": [0]}, RECIPE)["ranking"] == [0, 2, 3, 1]
    unsure = settle(human, {"verdict": "unsure", "ranking": None}, RECIPE)
    assert unsure == Dropped("g", "annotators unsure whether the human story is best")
    other = settle(human, {"verdict": "reordered", "ranking": [2]}, RECIPE)
    assert isinstance(other, Dropped)


def test_skipped_annotators_leave_only_what_judges_settled():
    recipe = Recipe.from_mapping({"settling": {"annotators": "skip"}})
    agreed = route({judge: scored(9, 7, 5, 3) for judge in JUDGES})
    assert settle(agreed, None, recipe)["verified"] is False
    assert settle(route({}), None, recipe) == Dropped("g", "needs annotators, who were skipped: no agreement")


@pytest.mark.parametrize(("word", "ranking"), [("fine", None), ("reordered", [0, 1]), ("reordered", [0, 0, 1, 9])])
def test_a_verdict_that_contradicts_its_group_is_refused(word, ranking):
    with pytest.raises(BadRow):
        settle(route({judge: scored(9, 7, 5, 3) for judge in JUDGES}), {"verdict": word, "ranking": ranking}, RECIPE)


def test_the_dimension_is_that_of_the_final_ranking():
    def story(creativity: float, fluency: float) -> dict[str, float]:
        return {**dict.fromkeys(DIMENSIONS, 5.0), "creativity": creativity, "fluency": fluency, "overall": 5.0}

    ratings = {judge: [story(5, 9), story(9, 5), story(5, 5), story(5, 5)] for judge in JUDGES}
    first = {"id": "g", "ranking": [0, 1, 2, 3]}
    assert dimension_of(first, rated(ratings), RECIPE) == ("fluency", 1)  # gaps: fluency 4, creativity -4/3
    assert dimension_of({**first, "ranking": [1, 0, 2, 3]}, rated(ratings), RECIPE) == ("creativity", 1)
    assert too_few_judges(rated({judge: ratings[judge] for judge in "abc"}), RECIPE) is None
    few = too_few_judges(rated({judge: ratings[judge] for judge in "ab"}), RECIPE)
    assert few == Dropped("g", "rated by 2 judges; the dimension needs 3")
