"""Lengths of stories: every figure worked out by hand."""

from __future__ import annotations

import os

import pytest

from storyalign.audit.story_lengths import LengthCounter, Spread, in_batches, spread
from storyalign.corpus.story_groups import StoryGroup, open_story_groups
from storyalign.errors import RecipeError, RowError
from tests.support.rows import group_row, pair_row, storyrmb_row, write_rows


def group(*stories, premise="p", writers=("human", "a"), language="en", withheld=0):
    return StoryGroup("g", premise, stories, writers, language, "corpus", withheld)


def test_words_of_single_stories():
    counter = LengthCounter()
    counter.add(group("one two three", "one", withheld=1))
    counter.add(group("海很平静。", "one two", language="zh"))  # 4 characters are 4 words
    found = counter.result("toy")
    assert found is not None
    assert found.words == Spread(mean=2.5, median=2.5, p95=4, shortest=1, longest=4, total=10)
    assert (found.n_groups, found.n_stories, found.n_withheld) == (2, 4, 1)
    assert found.sources == "corpus, human, 1 other writer"
    assert found.languages == {"en": 1, "zh": 1}
    assert found.tokens is None and found.contexts == []


def test_tokens_and_contexts():
    counter = LengthCounter("tok", [10, 20])
    counter.add(group("a", "b"), [10, 11])
    counter.add(group("a", "b"), [5, 30])
    found = counter.result("toy")
    # Over 10: 11 and 30, one in each group; over 20: 30 alone.
    assert [(c.limit, c.n_over, c.share, c.n_groups) for c in found.contexts] == [(10, 2, 0.5, 2), (20, 1, 0.25, 1)]
    assert found.to_json()["tokens"]["mean"] == 14.0


@pytest.mark.parametrize(("n", "p95"), [(1, 1), (19, 19), (20, 19), (40, 38), (100, 95)])
def test_p95_is_the_length_that_95_percent_do_not_exceed(n, p95):
    assert spread(range(1, n + 1)).p95 == p95


def test_nothing_counted():
    assert LengthCounter().result("empty") is None


def test_batches_keep_groups_whole():
    groups = [group("a", "b") for _ in range(5)]
    assert [len(batch) for batch in in_batches(groups, most_stories=4)] == [2, 2, 1]


def test_every_kind_of_file(tmp_path):
    rows = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(n) for n in range(3)])
    pairs = write_rows(tmp_path / "pairs.jsonl", [pair_row(n) for n in range(3)])
    judged = group_row(1, {"q": 1}, {"q": 2}, None)
    judged["candidates"][0]["story"] = None
    groups = write_rows(tmp_path / "groups.jsonl", [judged])
    assert [len(g.stories) for g in open_story_groups(rows).groups] == [4, 4, 4]
    assert [g.writers for g in open_story_groups(pairs).groups] == [("human", "model-a")] * 3
    (only,) = open_story_groups(groups).groups
    assert len(only.stories) == 2 and only.n_withheld == 1
    with pytest.raises(RecipeError, match="leave out --config"):
        open_story_groups(rows, split="train")
    broken = write_rows(tmp_path / "broken.jsonl", [storyrmb_row(1, chosen="")])
    with pytest.raises(RowError, match="chosen is empty"):
        list(open_story_groups(broken).groups)


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_real_chinese_stories():
    counter = LengthCounter()
    for one in open_story_groups(f"{os.environ['STORYALIGN_REAL_DATA']}/wpb_zh_fiction.jsonl").groups:
        counter.add(one)
    found = counter.result("zh")
    assert (found.n_groups, found.n_stories) == (12, 48)
    assert found.languages == {"zh": 12} and 1000 < found.words.median < 2000
