from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.llm.replies import UnparsedReply
from storyalign.preferences import rewriting
from storyalign.preferences.cuts import cut, part
from storyalign.preferences.offline_rewriting import offline_pairs
from storyalign.preferences.pair_files import MadePair
from storyalign.preferences.rewriting import KINDS, Rewriting
from storyalign.preferences.story_shelf import StoryShelf
from storyalign.records import DIMENSIONS
from tests.support.story_shelf import english, write_shelf

pytest.importorskip("rapidfuzz")


@given(st.text("ab.!。 \n”", max_size=80), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_parts_put_together_are_the_story(story: str, first: float, second: float) -> None:
    if halves := cut(story, first):
        assert "".join(halves) == story
    if piece := part(story, min(first, second), max(first, second)):
        assert piece.before + piece.text + piece.after == story
        assert piece.text == piece.text.rstrip()


def test_a_paragraph_that_ends_nearby_is_taken_before_a_sentence() -> None:
    story = "A a. B b.\n\nC c. D d.\n\nE e. F f."
    assert cut(story, 0.36) == ("A a. B b.\n\n", "C c. D d.\n\nE e. F f.")
    assert cut("One. Two. Three.", 0.3) == ("One. ", "Two. Three.")
    assert cut("No place to cut", 0.5) is None


def test_edit_distance_is_that_of_words() -> None:
    # one of four words replaced; one of four left out; nothing shared
    assert rewriting.edit_distance(["a", "b", "c", "d"], ["a", "x", "c", "d"]) == 0.25
    assert rewriting.edit_distance(["a", "b", "c", "d"], ["a", "b", "d"]) == 0.25
    assert rewriting.edit_distance(["a"], ["b"]) == 1.0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (1, rewriting.COPY),  # 1 of 100 words, bound 0.02
        (2, None),
        (60, None),
        (61, rewriting.NEW_STORY),
    ],
)
def test_neither_a_copy_nor_a_new_story_passes(changed: int, reason: str | None) -> None:
    words = [f"w{n}" for n in range(100)]
    new = [f"v{n}" for n in range(changed)] + words[changed:]
    assert rewriting.refused(" ".join(words), " ".join(new), Rewriting(1)) == reason


def test_length_may_change_by_a_quarter() -> None:
    words = [f"w{n}" for n in range(100)]
    assert rewriting.refused(" ".join(words), " ".join(words[:75]), Rewriting(1)) is None
    assert rewriting.refused(" ".join(words), " ".join(words[:74]), Rewriting(1)) == rewriting.LENGTH_CHANGED
    chinese = "海" * 50 + "山" * 50
    assert rewriting.refused(chinese, "海" * 50 + "水" * 50, Rewriting(1)) is None
    assert rewriting.refused(chinese, chinese[:-1] + "水", Rewriting(1)) == rewriting.COPY


def test_every_kind_lowers_a_dimension_and_all_are_used(tmp_path: Path) -> None:
    assert {kind.dimension for kind in KINDS.values()} <= set(DIMENSIONS)
    settings = Rewriting(500, per_story=3, kinds={**dict.fromkeys(KINDS, 1.0), "tone": 0.0})
    shelf = StoryShelf([write_shelf(tmp_path / "s.jsonl", 100)])
    rows = list(rewriting.plan(shelf, settings, Tally()))
    assert {row["kind"] for row in rows} == set(KINDS) - {"tone"}
    assert set(Counter(row["story"]["id"] for row in rows).values()) == {3}
    for row in rows:
        whole = next(r for r in map(shelf.read, range(100)) if r.id == row["story"]["id"]).story
        assert row["before"] + row["text"] + row["after"] == whole


def test_weights_decide_how_often_a_kind_comes() -> None:
    settings = Rewriting(1, kinds={"tone": 3.0, "style": 1.0})
    drawn = Counter(rewriting.kinds_for(f"story-{n}", settings)[0] for n in range(2000))
    assert 0.71 < drawn["tone"] / 2000 < 0.79  # 3 of 4; four standard errors are 0.04


def test_only_the_part_is_replaced_and_the_rest_stays_letter_for_letter(tmp_path: Path) -> None:
    shelf = StoryShelf([write_shelf(tmp_path / "s.jsonl", 4)])
    row = next(iter(rewriting.plan(shelf, Rewriting(1, kinds={"middle": 1.0}), Tally())))
    step = rewriting.step(Rewriting(1))
    asked = step.request(row).messages[0]["content"]
    assert row["text"] in asked
    assert KINDS["middle"].task in asked
    new = english("another middle", 3)[: len(row["text"])].strip()
    made = {**step.read(row, new), "made_by": {"model": "m"}}
    pair = rewriting.made_pair(made).pair
    assert pair.chosen == row["before"] + row["text"] + row["after"]
    assert pair.rejected == row["before"] + new + row["after"]
    assert (pair.edit, pair.chosen_writer, pair.rejected_writer) == ("middle", "human", "m")
    for reply in (row["text"], english("long", 30), "I'm sorry, I can't help with that."):
        with pytest.raises(UnparsedReply):
            step.read(row, reply)


def test_offline_edits_do_without_an_endpoint(tmp_path: Path) -> None:
    shelf = StoryShelf([write_shelf(tmp_path / "s.jsonl", 30)])
    tally = Tally()
    made = list(offline_pairs(shelf, Rewriting(12), tally))
    pairs = [item.pair for item in made if isinstance(item, MadePair)]
    assert len(pairs) == 12
    assert all(pair.rejected_writer == f"kit-edit:{pair.edit}" for pair in pairs)
    assert all(rewriting.refused(p.chosen, p.rejected, Rewriting(1)) is None for p in pairs)


def test_unknown_kinds_and_crossed_bounds_are_refused() -> None:
    with pytest.raises(RecipeError, match="unknown kind 'plot'"):
        Rewriting(1, kinds={"plot": 1.0})
    with pytest.raises(RecipeError, match="min_distance < max_distance"):
        Rewriting(1, min_distance=0.5, max_distance=0.4)
