from __future__ import annotations

import json
import os
import random
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from storyalign.corpus.duplicates import TextIndex, comparable_words, similarity
from storyalign.errors import RecipeError

WORDS = [
    a + b
    for a in ("sea", "lamp", "salt", "rope", "gull", "tide", "stone", "glass", "wind", "door")
    for b in "abcdefghij"
]


def story(seed: int, paragraphs: int = 5, words: int = 100) -> list[str]:
    """Paragraphs of random words: two seeds share next to no run of three (1 in 100 ** 3)."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=words)) for _ in range(paragraphs)]


def text(paragraphs: list[str]) -> str:
    return ".\n\n".join(paragraphs) + "."


def test_similarity_is_the_share_of_common_runs_of_three_words() -> None:
    # "a b c d" has the runs abc, bcd; "a b c e" has abc, bce: 1 of 3 in common
    assert similarity("a b c d", "A b; c e!") == pytest.approx(1 / 3)
    assert similarity("one", "two") == 0.0
    assert similarity("", "") == 1.0


@pytest.mark.parametrize(
    "other",
    [
        "it wasn't late he said i've seen   the sea",
        "It was n't late , '' he said . `` I 've seen the sea",
        "It wasn’t late,” he said.\n\n“I’ve seen the sea",
    ],
)
def test_case_punctuation_spaces_and_treebank_blanks_do_not_count(other: str) -> None:
    index = TextIndex(threshold=None)
    index.add("first", "“It wasn't late,” he said. “I've seen the sea.”")
    match = index.find(other)
    assert match is not None
    assert (match.key, match.similarity, match.exact) == ("first", 1.0, True)


EAST = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)


@settings(deadline=None, max_examples=60)
@given(
    st.text(alphabet=st.one_of(st.characters(exclude_characters="'’"), st.sampled_from("她海é“”…_ a1")), max_size=60)
)
def test_the_fast_ways_to_the_words_give_what_one_pattern_gives(raw: str) -> None:
    form = unicodedata.normalize("NFKC", raw).casefold()
    # NFKC makes an apostrophe of a full-width one; those join the letters around them.
    assume("'" not in form)
    assert comparable_words(raw) == re.findall(rf"[{EAST}]|[^\W_{EAST}]+", form)


def test_a_chinese_character_is_a_word() -> None:
    assert comparable_words("她在海边，等Edda。") == ["她", "在", "海", "边", "等", "edda"]


def test_planted_copies_are_found_and_the_clean_rest_is_not() -> None:
    index = TextIndex()
    originals = {f"s{n}": story(n) for n in range(300)}
    for key, paragraphs in originals.items():
        assert index.find_or_add(key, text(paragraphs)) is None  # no false alarm among 300 stories
    for n in range(0, 300, 10):
        key, paragraphs = f"s{n}", originals[f"s{n}"]
        copied = index.find(text(paragraphs).upper())
        assert copied is not None
        assert (copied.key, copied.exact) == (key, True)
        # one of five paragraphs written anew: 80 of 120 hundredths in common, J = 2/3
        changed = index.find(text([*paragraphs[:2], *story(9_000 + n, 1), *paragraphs[3:]]))
        assert changed is not None
        assert changed.key == key
        assert changed.similarity == pytest.approx(2 / 3, abs=0.16)  # four standard errors of MinHash with 128 values
        assert not changed.exact
        # three of five anew: J = 40/160, a story of its own
        assert index.find(text([*paragraphs[:2], *story(9_500 + n, 3)])) is None
    assert len(index) == 300


def test_the_first_of_equals_is_named() -> None:
    index = TextIndex()
    for key in ("a", "b"):
        index.add(key, text(story(1)))
    match = index.find(text(story(1)))
    assert match is not None
    assert match.key == "a"


def test_short_texts_are_compared_as_one_run() -> None:
    index = TextIndex()
    index.add("a", "The sea.")
    assert index.find("the sea") is not None
    assert index.find("the sky") is None


def test_without_a_threshold_only_exact_duplicates_count() -> None:
    index, paragraphs = TextIndex(threshold=None), story(1)
    index.add("a", text(paragraphs))
    assert index.find(text([*paragraphs[:4], *story(2, 1)])) is None


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.1])
def test_a_threshold_is_a_share(threshold: float) -> None:
    with pytest.raises(RecipeError, match="threshold for near duplicates"):
        TextIndex(threshold)


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_real_stories_for_one_premise_are_no_duplicates_but_edited_ones_are() -> None:
    folder = Path(os.environ["STORYALIGN_REAL_DATA"])
    index = TextIndex()
    for line in (folder / "hanna.jsonl").read_text(encoding="utf-8").splitlines():
        for candidate in json.loads(line)["candidates"]:
            match = index.find_or_add(f"{candidate['writer']}", candidate["story"])
            assert match is None, (match, candidate["story"][:80])
    assert len(index) == 168
    # An edit by an LLM leaves most sentences: measured without MinHash, then asked of the index.
    near = missed = 0
    for line in (folder / "lamp_rank.jsonl").read_text(encoding="utf-8").splitlines():
        texts = {c["kind"]: c["story"] for c in json.loads(line)["candidates"]}
        exact = similarity(texts["AI-generated"], texts["AI-edited"])
        if exact >= 0.65:  # clear of the threshold by more than three standard errors
            pair = TextIndex()
            pair.add("original", texts["AI-generated"])
            near += 1
            missed += pair.find(texts["AI-edited"]) is None
    assert near > 0
    assert missed == 0
