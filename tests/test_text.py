"""Counting words fast against one pattern that says what a word is."""

from __future__ import annotations

import re
import unicodedata

import pytest
import xxhash
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storyalign.corpus.duplicates import comparable_words
from storyalign.text import beyond_ascii, count_words, letters_key, same_text, text_key, words_key

EAST = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
AWKWARD = st.text(st.sampled_from("ab1_ -—“”.é海日ゟ\u3000\xa0\n\t\x1c\x85\u2028Я٣½𠀀😀,'\x00"), max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.one_of(AWKWARD, st.text(max_size=40)))
@example("".join(map(chr, range(0x250))))
@example(" ".join(map(chr, range(0x250))))
@example(" ".join(f"a{chr(code)}b {chr(code)}" for code in range(0x250)))
def test_a_word_is_an_east_asian_character_or_a_run_without_spaces_that_holds_a_letter_or_digit(text: str) -> None:
    rest = re.sub(EAST, " ", text)
    runs = [run for run in rest.split() if any(character.isalnum() for character in run)]
    assert count_words(text) == len(re.findall(EAST, text)) + len(runs)


@settings(deadline=None)
@given(st.one_of(AWKWARD, st.text(max_size=40)))
def test_characters_beyond_ascii_keep_their_order(text: str) -> None:
    assert beyond_ascii(text) == "".join(character for character in text if ord(character) > 127)


@settings(deadline=None)
@given(st.one_of(AWKWARD, st.text(max_size=40)), st.text(st.sampled_from(" \n\r\t\x85\u3000\u200b\ufeff"), max_size=5))
def test_the_form_that_scorers_read_is_one_form_and_keeps_the_words(text: str, around: str) -> None:
    form = same_text(text)
    assert same_text(form) == form and "\r" not in form
    assert not form or not any(end.isspace() for end in (form[0], form[-1]))
    assert same_text(around + unicodedata.normalize("NFD", text) + around) == form
    kept = "".join(text.split()).strip("\u200b\u2060\ufeff")
    assert unicodedata.normalize("NFD", "".join(form.split())) == unicodedata.normalize("NFD", kept)


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("a b c", "a b\r\nc\t", True),
        ("a b c", "a\xa0bc", True),
        ("a b c", "abd", False),
        ("It was n't `` late '' .", "It wasn’t “LATE”…", True),
        ("Café, naïve?", "cafe\u0301 NAI\u0308VE", True),  # composed and decomposed
        ("Café", "Cafe", False),
        ("ＡＢ１", "ab1", True),  # full width
        ("她在海边，等。", "她在海边等", True),
        ("她在海边", "她在海", False),
        ("Straße", "STRASSE", True),
        ("!!!", "???", False),  # no letter: the characters themselves
        ("! !!", "!!!", True),
    ],
)
def test_the_same_text_has_the_same_letters_and_digits(first: str, other: str, same: bool) -> None:
    assert (letters_key(first) == letters_key(other)) is same


@pytest.mark.parametrize(("other", "same"), [("a b\r\nc\t", True), ("ab c", True), ("A bc", False), ("a, bc", False)])
def test_within_a_row_case_and_punctuation_count(other: str, same: bool) -> None:
    assert (text_key("a b c") == text_key(other)) is same


@settings(max_examples=300, deadline=None)
@given(st.one_of(AWKWARD, st.text(st.characters(exclude_categories=["Cn", "Cs"]), max_size=40)))
@example("".join(map(chr, range(0x20, 0x370))))
@example("e\u0301\u3099か\u30fb゛“ﬁ½")
def test_one_key_whichever_way_it_is_made(text: str) -> None:
    letters = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
    if letters:
        key = xxhash.xxh3_64_intdigest(letters.encode())
        assert letters_key(text) == key
        assert words_key(comparable_words(text)) == key
