"""Counting words fast against one pattern that says what a word is."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from storyalign.text import beyond_ascii, count_words, text_key

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


@pytest.mark.parametrize(("other", "same"), [("a b\r\nc\t", True), ("ab c", True), ("a\xa0bc", False), ("abd", False)])
def test_a_key_does_not_mind_spaces_and_line_breaks(other: str, same: bool) -> None:
    assert (text_key("a b c") == text_key(other)) is same
