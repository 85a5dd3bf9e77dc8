from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.preferences import guided_continuation as guided
from storyalign.preferences.guided_continuation import GuidedContinuation, copied_share, made_pair, writers_of
from storyalign.preferences.pair_files import MadePair
from storyalign.preferences.story_shelf import StoryShelf
from tests.support.story_shelf import english, write_shelf

SETTINGS = GuidedContinuation(100, min_words=100)


def rows(tmp_path: Path, settings: GuidedContinuation = SETTINGS) -> list[dict]:
    return list(guided.plan(StoryShelf([write_shelf(tmp_path / "s.jsonl", 40)]), settings, Tally()))


def continued(row: dict, text: str, model: str) -> dict:
    return {**row, "text": text, "made_by": {"model": model}}


def test_the_first_part_is_the_premise_and_the_rest_the_guide(tmp_path: Path) -> None:
    shelf = StoryShelf([write_shelf(tmp_path / "s.jsonl", 40)])
    row = rows(tmp_path)[0]
    story = next(s for s in map(shelf.read, range(40)) if s.id == row["story"]["id"]).story
    assert story.startswith(row["premise"])
    assert story.endswith(row["continuation"])
    assert 0.25 < len(row["premise"]) / len(story) < 0.45
    with_guide, without = (guided.step(SETTINGS, guided=g).request(row).messages[0]["content"] for g in (True, False))
    assert row["continuation"] in with_guide
    assert row["continuation"] not in without
    assert row["premise"] in with_guide
    assert row["premise"] in without


def test_every_writer_is_guided_and_unguided_equally_often(tmp_path: Path) -> None:
    writers = ["a", "b"]
    drawn = Counter(writers_of({"id": f"row-{n}"}, writers, 0) for n in range(4000))
    assert set(drawn) == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}
    assert all(900 < n < 1100 for n in drawn.values())  # 1,000 each; four standard errors are 110


def test_copied_share_counts_runs_of_eight_words() -> None:
    source = " ".join(f"w{n}" for n in range(40))
    # 16 words have 9 runs of eight; of the first eight source words and eight others only the first run is copied
    assert copied_share(" ".join([f"w{n}" for n in range(8)] + [f"x{n}" for n in range(8)]), source) == 1 / 9
    assert copied_share(source.upper().replace(" ", ", "), source) == 1.0
    assert copied_share("nothing of it", source) == 0.0


def test_a_guided_continuation_that_copies_is_dropped(tmp_path: Path) -> None:
    row = rows(tmp_path)[0]
    own, other = english("own", 5), english("other", 5)
    good = made_pair(continued(row, own, "a"), continued(row, other, "b"), SETTINGS)
    assert isinstance(good, MadePair)
    assert (good.pair.chosen, good.pair.rejected, good.pair.prompt) == (own, other, row["premise"])
    assert (good.pair.chosen_writer, good.pair.rejected_writer, good.pair.edit) == ("a", "b", "guided")
    copy = continued(row, row["continuation"], "a")
    assert made_pair(copy, continued(row, other, "b"), SETTINGS) == guided.COPIED
    assert isinstance(made_pair(copy, continued(row, other, "b"), replace(SETTINGS, copy_cap=1.0)), MadePair)


def test_pairs_that_length_or_sameness_would_decide_are_dropped(tmp_path: Path) -> None:
    row = rows(tmp_path)[0]
    a, b = continued(row, english("own", 4), "a"), continued(row, english("other", 7), "b")
    assert made_pair(a, b, SETTINGS) == guided.LENGTHS_APART  # 7 paragraphs against 4, at most 1.6 to 1
    assert made_pair(a, continued(row, a["text"] + " ", "b"), SETTINGS) == guided.SAME
    assert made_pair(None, b, SETTINGS) == guided.ONE_SIDED


def test_the_human_text_itself_can_be_chosen(tmp_path: Path) -> None:
    row = rows(tmp_path)[0]
    made = made_pair(None, continued(row, english("other", 7), "b"), replace(SETTINGS, chosen="human"))
    assert isinstance(made, MadePair)
    assert (made.pair.chosen, made.pair.chosen_writer) == (row["continuation"], "human")


def test_a_title_can_stand_in_for_the_first_part(tmp_path: Path) -> None:
    row = rows(tmp_path, replace(SETTINGS, premise="title"))[0]
    assert row["premise"] == row["story"]["title"]


def test_a_first_part_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(RecipeError, match="first_part is 1; expected a share between 0 and 1"):
        GuidedContinuation(1, first_part=1)
