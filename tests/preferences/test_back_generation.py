from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.files import write_jsonl
from storyalign.llm.replies import UnparsedReply
from storyalign.preferences import back_generation
from storyalign.preferences.back_generation import BackGeneration
from storyalign.preferences.story_shelf import StoryShelf
from tests.support.story_shelf import story_row, write_shelf


def shelf(tmp_path: Path, *rows: dict) -> StoryShelf:
    write_jsonl(tmp_path / "stories.jsonl", rows)
    return StoryShelf([tmp_path / "stories.jsonl"])


def plan(stories: StoryShelf, tally: Tally | None = None, **settings) -> list[dict]:
    return list(back_generation.plan(stories, BackGeneration(**{"target": 1000, **settings}), tally or Tally()))


def one_author(number: int, reads: float | None) -> dict:
    return story_row(4 * number, author_key="a", category=None, engagement=reads)


def test_the_story_with_clearly_more_readers_is_chosen(tmp_path: Path) -> None:
    rows = plan(shelf(tmp_path, one_author(0, 100.0), one_author(1, 201.0)))
    assert [(r["chosen"]["engagement"], r["rejected"]["engagement"]) for r in rows] == [(201.0, 100.0)]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (100.0, 100.0, back_generation.TIED),
        (100.0, 199.0, back_generation.TOO_CLOSE),
        (100.0, 19.0, back_generation.FEW_READERS),
        (100.0, None, back_generation.NO_ENGAGEMENT),
    ],
)
def test_what_readers_do_not_decide_is_left_out_and_counted(tmp_path: Path, first, second, reason) -> None:
    tally = Tally()
    assert plan(shelf(tmp_path, one_author(0, first), one_author(1, second)), tally) == []
    assert tally.dropped[reason] + tally.rules[reason] == 1


def test_stories_of_two_clusters_languages_or_counts_never_meet(tmp_path: Path) -> None:
    other = {"category": None, "author_key": "b"}
    for changes in (other, {"language": "zh"}, {"corpus": "elsewhere"}, {"engagement_kind": "upvotes"}):
        assert plan(shelf(tmp_path, one_author(0, 1000.0), {**one_author(1, 50.0), **changes})) == []


def test_no_story_is_used_too_often_and_the_order_of_the_file_does_not_count(tmp_path: Path) -> None:
    stories = [story_row(n, engagement=float(3 ** (n % 9) + 100 * n)) for n in range(60)]
    rows = plan(shelf(tmp_path, *stories), max_uses=2)
    uses = Counter(r[side]["id"] for r in rows for side in ("chosen", "rejected"))
    assert len(rows) > 20
    assert max(uses.values()) == 2
    assert rows == plan(shelf(tmp_path, *reversed(stories)), max_uses=2)
    assert rows[:5] == plan(shelf(tmp_path, *stories), max_uses=2, target=5, spare=0.0)


def test_the_place_in_the_request_says_nothing_of_the_readers(tmp_path: Path) -> None:
    rows = plan(StoryShelf([write_shelf(tmp_path / "s.jsonl", 240)]), max_uses=6, min_count=1)
    first = sum(row["shown"][0].startswith(row["chosen"]["title"]) for row in rows)
    assert len(rows) > 150
    assert 0.4 < first / len(rows) < 0.6


def test_the_reply_becomes_the_premise_of_the_pair_and_enters_the_pool(tmp_path: Path) -> None:
    (row,) = plan(shelf(tmp_path, one_author(0, 100.0), one_author(1, 500.0)))
    step = back_generation.step(BackGeneration(1))
    text = step.request(row).messages[0]["content"]
    assert all(part in text for part in ("Night 0", "Night 4", "What keeper 4 saw"))
    premise = "A keeper of lamps sees what nobody else sees, and must decide whom to tell."
    made = {**step.read(row, f"Sure! Here is the premise:\n\n{premise}"), "made_by": {"model": "m"}}
    pair = back_generation.made_pair(made)
    assert (pair.pair.prompt, pair.pair.construction) == (premise, "back_generation")
    assert (pair.pair.chosen_writer, pair.pair.rejected_writer) == ("human", "human")
    assert (pair.pair.chosen_engagement, pair.pair.rejected_engagement) == (500.0, 100.0)
    assert (pair.author_keys, pair.story_ids) == (("a",), ("shelf-4", "shelf-0"))
    assert back_generation.pool_row(made)["prompt"] == premise
    with pytest.raises(UnparsedReply):
        step.read(row, "I'm sorry, I cannot do that.")


def test_a_ratio_that_lets_ties_through_is_refused() -> None:
    with pytest.raises(RecipeError, match="min_ratio is 1"):
        BackGeneration(1, min_ratio=1.0)
