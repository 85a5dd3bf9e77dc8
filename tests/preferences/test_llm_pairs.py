from __future__ import annotations

from collections import Counter

import pytest

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.preferences import llm_pairs
from storyalign.preferences.llm_pairs import LlmPairs, Pairing, made_pair
from storyalign.preferences.pair_files import MadePair

SETTINGS = LlmPairs(3000, (Pairing("s8", "l70"), Pairing("s14", "l32")), spare=0.0)


def planned(count: int) -> list[dict]:
    premises = ({"id": f"p{n}", "prompt": f"Premise {n}."} for n in range(count))
    return list(llm_pairs.plan(premises, SETTINGS, Tally()))


def story(text: str, model: str, place: str) -> dict:
    return {"id": f"llm-1-{place}", "prompt": "P.", "judge": "l70", "story": text, "made_by": {"model": model}}


def verdict(winner: str) -> dict:
    return {"winner": winner, "made_by": {"model": "judge"}}


def test_pairings_and_ways_are_shared_out_evenly() -> None:
    rows = planned(2000)
    assert len(rows) == 4000
    by_pair = list(zip(rows[::2], rows[1::2], strict=True))
    ways = Counter((a["writer"], b["writer"], a["judge"]) for a, b in by_pair)
    assert set(ways) == {("s8", "s8", "l70"), ("l70", "s8", None), ("s14", "s14", "l32"), ("l32", "s14", None)}
    assert all(420 < n < 580 for n in ways.values())  # 500 each; four standard errors are 77
    assert all(a["seed"] != b["seed"] for a, b in by_pair)


def test_a_premise_that_comes_twice_is_used_once() -> None:
    tally = Tally()
    rows = list(llm_pairs.plan([{"id": "a", "prompt": "P  q."}, {"id": "b", "prompt": "P q."}], SETTINGS, tally))
    assert len(rows) == 2
    assert tally.dropped == {llm_pairs.TWICE: 1}


@pytest.mark.parametrize(
    ("replies", "winner"),
    [
        (('{"best": 1}', '{"best": 2}'), "a"),
        (("Story 2", "Story 1"), "b"),
        (("1", "1"), None),  # always the first: no preference
        (("B", "B"), None),
    ],
)
def test_both_orders_must_name_the_same_story(replies: tuple[str, str], winner: str | None) -> None:
    first, second = story("One.", "s8", "a"), story("Two.", "s8", "b")
    shown = llm_pairs.judging_rows(first, second)
    assert [row["stories"] for row in shown] == [["One.", "Two."], ["Two.", "One."]]
    step = llm_pairs.judging_step(SETTINGS)
    verdicts = [{**step.read(row, reply), "made_by": {}} for row, reply in zip(shown, replies, strict=True)]
    made = made_pair(first, second, (verdicts[0], verdicts[1]))
    if winner is None:
        assert made == llm_pairs.DISAGREES
    else:
        assert isinstance(made, MadePair)
        assert made.pair.chosen == {"a": "One.", "b": "Two."}[winner]


def test_the_larger_writer_is_chosen_where_nobody_judges() -> None:
    made = made_pair(story("One.", "l70", "a"), story("Two.", "s8", "b"), None)
    assert isinstance(made, MadePair)
    assert (made.pair.chosen_writer, made.pair.rejected_writer, made.pair.edit) == ("l70", "s8", "by_size")


def test_what_is_missing_makes_no_pair() -> None:
    one, two = story("One.", "s8", "a"), story("Two.", "s8", "b")
    assert made_pair(one, None, None) == llm_pairs.ONE_STORY
    assert made_pair(one, two, (verdict("a"), None)) == llm_pairs.UNJUDGED
    assert made_pair(one, {**two, "story": "One. "}, None) == llm_pairs.SAME


def test_no_pairing_is_refused() -> None:
    with pytest.raises(RecipeError, match="pairings is empty"):
        LlmPairs(1, ())
