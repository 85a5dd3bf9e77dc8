from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.corpus.column_mapping import ColumnMapping, load_mapping, read_mapped
from storyalign.corpus.filters import Filters, keep
from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.imported_rows import Origin, clean_stories
from storyalign.corpus.language import detect_language
from storyalign.corpus.tally import Tally
from storyalign.corpus.writing_prompts import BOT, read_posts, read_source_target
from storyalign.errors import DataError, RecipeError, RowError
from storyalign.files import Line
from storyalign.hub.release.people import PersonKeys
from storyalign.not_stories import API_ERROR, DELETED, NO_STORY, REFUSAL, not_a_story

WP = Origin("writingprompts", "mit", "en", "upvotes")


def rows(*raw: dict[str, Any], origin: Origin = WP) -> tuple[list[HumanStory], Tally]:
    tally, keys = Tally(), PersonKeys(b"0" * 32)
    lines = [Line(Path("f.jsonl"), number, row) for number, row in enumerate(raw, start=1)]
    return list(clean_stories(lines, origin, tally, keys.key)), tally


def test_the_original_files_of_writingprompts(tmp_path: Path) -> None:
    (tmp_path / "t.wp_source").write_text("[ WP ] The last keeper gets a letter .\n[ EU ] A droid retires .\n")
    (tmp_path / "t.wp_target").write_text(
        "The envelope was n't damp . <newline> <newline> `` That , '' said Edda , `` is odd . ''\nBeep .\n"
    )
    tally = Tally()
    first, second = clean_stories(read_source_target(tmp_path / "t.wp_source", tmp_path / "t.wp_target"), WP, tally)
    assert first.prompt == "The last keeper gets a letter."
    assert first.story == "The envelope wasn’t damp.\n\n“That,” said Edda, “is odd.”"
    assert (first.category, second.category) == ("wp", "eu")
    assert (first.writer, first.corpus, first.license, first.language) == ("human", "writingprompts", "mit", "en")
    assert first.author_key is first.engagement is first.engagement_kind is None
    assert tally.rules["newline tokens"] == 1
    assert tally.rules["Penn Treebank spacing"] == 4  # two prompts, two stories


@pytest.mark.parametrize(("source", "target", "shorter"), [("a\n", "a\nb\n", "source"), ("a\nb\n", "a\n", "target")])
def test_files_of_different_lengths_are_refused(tmp_path: Path, source: str, target: str, shorter: str) -> None:
    (tmp_path / "source").write_text(source)
    (tmp_path / "target").write_text(target)
    with pytest.raises(DataError, match=f"{shorter}: ends before line 2"):
        list(read_source_target(tmp_path / "source", tmp_path / "target"))


def test_posts_with_comment_scores(tmp_path: Path) -> None:
    post = {
        "post_text": "",
        "post_title": "[WP] The last keeper gets a letter.",
        "post_scores": 412,
        "comment_texts": ["The envelope wasn&#39;t damp.", "[deleted]", "**Off-Topic Discussion**: All top-level ..."],
        "comment_scores": [211, 3, 1],
        "comment_times": ["1", "2", "3"],
    }
    pq.write_table(pa.Table.from_pylist([post]), tmp_path / "p.parquet")
    tally = Tally()
    [story] = clean_stories(read_posts(tmp_path / "p.parquet"), WP, tally)
    assert (story.prompt, story.story) == ("The last keeper gets a letter.", "The envelope wasn't damp.")
    assert (story.engagement, story.engagement_kind, story.category) == (211.0, "upvotes", "wp")
    assert (tally.read, tally.kept, tally.dropped) == (3, 1, {DELETED: 1, BOT: 1})
    assert tally.examples[DELETED] == [f"{tmp_path / 'p.parquet'}:1"]


def test_a_post_without_a_score_for_each_comment_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"post_title": "t", "comment_texts": ["a"], "comment_scores": []}\n')
    with pytest.raises(RowError, match=r"p\.jsonl:1: comment_texts and comment_scores"):
        list(read_posts(path))


MAPPING = """
columns: {story: content, title: title, abstract: abstract, category: category, author: author, engagement: reads}
constants: {corpus: short-shelf, license: cc-by-4.0, engagement_kind: reads}
values:
  category: {悬疑: mystery}
"""
EXPORT = """title,abstract,content,category,author,reads,upvotes
守灯人,一封写给第一任守灯人的信。,信封没有受潮。她把信放在灯下读了一遍。,悬疑,听潮,12904,318
雾,海上的雾。,雾来的时候没有人说话。船停在港里。,爱情,听潮,2.1万,9
The Keeper,A letter.,"The envelope was dry. She read the letter by the lamp, twice.",mystery,Ann Example,77,1
"""


def test_an_export_in_the_manner_of_douban_through_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAPPING)
    (tmp_path / "e.csv").write_text(EXPORT)
    tally, keys = Tally(), PersonKeys(b"0" * 32)
    lines = read_mapped(tmp_path / "e.csv", load_mapping(tmp_path / "m.yaml", "stories"))
    first, second, third = clean_stories(lines, Origin("e"), tally, keys.key)
    assert (first.title, first.abstract, first.category) == ("守灯人", "一封写给第一任守灯人的信。", "mystery")
    assert [s.engagement for s in (first, second, third)] == [12_904.0, 21_000.0, 77.0]
    assert [s.language for s in (first, second, third)] == ["zh", "zh", "en"]
    assert first.author_key == second.author_key != third.author_key
    assert (first.engagement_kind, first.corpus, first.license) == ("reads", "short-shelf", "cc-by-4.0")
    assert first.prompt == ""
    for story in (first, second, third):
        assert HumanStory.from_row(story.to_row()) == story
        assert "听潮" not in str(story.to_row())
        assert "Ann Example" not in str(story.to_row())


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("columns: {storey: a}", "unknown field 'storey'"),
        ("columns: {title: a}", "no column for story"),
        ("columns: {story: [a, b]}", "column of story must be a name"),
        ("columns: {story: a}\nconstants: {license: 4}", "constant license must be a text"),
        ("columns: {story: a}\nvalues: {category: {a: b}}", "category must have a column"),
        ("columns: {story: a}\nextra: 1", "unknown extra"),
        ("story: a", "expected 'columns:'"),
        ("columns: {story: a", "not valid YAML"),
    ],
)
def test_a_mapping_says_what_is_wrong_with_it(tmp_path: Path, yaml: str, message: str) -> None:
    (tmp_path / "m.yaml").write_text(yaml)
    with pytest.raises(RecipeError, match=message):
        load_mapping(tmp_path / "m.yaml", "stories")


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("title,text\na,b\n")
    with pytest.raises(RowError, match=r"e\.csv:2: no column 'content'; found title, text"):
        list(read_mapped(tmp_path / "e.csv", ColumnMapping({"story": "content"})))


def test_columns_inside_objects_and_lists() -> None:
    mapping = ColumnMapping({"story": "messages.-1.content", "title": "meta.title", "category": "a.b"})
    raw = {"messages": [{"content": "x"}, {"content": "y"}], "meta": {"title": "t"}, "a.b": "dotted"}
    assert mapping.row(raw) == {"story": "y", "title": "t", "category": "dotted"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", NO_STORY),
        ("nan", NO_STORY),
        ("[removed]", DELETED),
        ('{"error": {"message": "overloaded"}}', API_ERROR),
        ("Error code: 429 - rate limited", API_ERROR),
        ("openai.RateLimitError: too many requests", API_ERROR),
        ("<html><head><title>502 Bad Gateway</title>", API_ERROR),
        ("Traceback (most recent call last):\n  File", API_ERROR),
        ("I'm sorry, but I can't write that.", REFUSAL),
        ("抱歉，我无法完成这个请求。", REFUSAL),
        ("Error, he thought, was the mother of all lighthouses.", None),
        ("I'm sorry, Ann said, and shut the door.", None),
        ("The sea.", None),
    ],
)
def test_what_is_no_story(text: str, reason: str | None) -> None:
    assert not_a_story(text) == reason


@pytest.mark.parametrize("value", [True, "many", float("nan"), [1]])
def test_an_engagement_that_is_no_number_stops_with_its_line(value: Any) -> None:
    with pytest.raises(RowError, match=r"f\.jsonl:2: engagement must be"):
        rows({"story": "The sea."}, {"story": "The sky.", "engagement": value})


def test_a_story_that_is_no_text_stops_with_its_line_and_id() -> None:
    with pytest.raises(RowError, match=r"f.jsonl:1 \(id 7\): story must be a string, got int"):
        rows({"id": "7", "story": 5})


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lighthouse stood alone on the rock, and nobody had been there for years.", "en"),
        ("她在海边等了一夜，灯塔没有亮。", "zh"),
        ("灯台は岩の上にひとりで立っていた。", "ja"),
        ("Der Leuchtturm stand allein auf dem Felsen, und niemand war je dort gewesen.", "de"),
        ("Le phare se dressait seul sur le rocher et personne n'y était allé depuis des années.", "fr"),
        ("1234 ... !!", "und"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_filters_count_each_reason_once() -> None:
    base = {"prompt": "p", "language": "en"}
    stories, tally = rows(
        {**base, "id": "a", "story": "One two three four five.", "engagement": 9},
        {**base, "id": "b", "story": "One two.", "engagement": 9},
        {**base, "id": "c", "story": "One two three four five, six seven eight.", "engagement": 9},
        {**base, "id": "d", "story": "one TWO three; four five", "engagement": 9},
        {**base, "id": "e", "story": "Eins zwei drei vier fünf.", "engagement": 9, "language": "de"},
        {**base, "id": "f", "story": "Five four three two one.", "engagement": 1},
        {**base, "id": "g", "story": "Five four three one two."},
        {**base, "id": "h", "story": "Five four three one and", "engagement": 9},
        {**base, "id": "i", "story": "Six four three one two.", "engagement": 9, "license": "all-rights-reserved"},
    )
    filters = Filters(
        min_words=3, max_words=7, languages=frozenset({"en"}), min_engagement=5, licenses=frozenset({"mit"}), whole=True
    )
    assert [s.id for s in keep(stories, filters, tally)] == ["writingprompts-a"]
    assert tally.dropped == {
        "a story shorter than the minimum": 1,
        "a story longer than the maximum": 1,
        "a story that ends in mid-sentence": 2,  # d has no full stop, h ends with "and"
        "another language: de": 1,
        "engagement below the minimum": 1,
        "engagement unknown": 1,
        "another licence: all-rights-reserved": 1,
    }
    assert (tally.read, tally.kept) == (9, 1)


def test_exact_and_near_duplicates_go_and_the_first_stays() -> None:
    words = [f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]  # 100 different words: 98 runs of three
    texts = {"a": words, "b": words, "c": [*words[:90], *("xyz",) * 10], "d": words[::-1]}
    stories, tally = rows(*({"id": key, "story": " ".join(text)} for key, text in texts.items()))
    assert [s.id for s in keep(stories, Filters(near_duplicates=0.5), tally)] == [
        "writingprompts-a",
        "writingprompts-d",
    ]
    assert tally.dropped == {"an exact duplicate": 1, "a near duplicate": 1}
    assert tally.examples["a near duplicate"] == ["writingprompts-c = writingprompts-a"]


def test_bounds_that_exclude_everything() -> None:
    with pytest.raises(RecipeError, match="no story has at least 9 and at most 3 words"):
        Filters(min_words=9, max_words=3)
