"""Counting in columns against ``count_words``, which its own tests hold to values derived by hand."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.hub.table_words import words_of_column
from storyalign.text import count_words

AWKWARD = st.text(st.sampled_from("ab1_ -—“”.é海日ゟ\u3000\xa0\n\t\x1c\u2028Я٣½𠀀😀,'"), max_size=40)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(AWKWARD, st.text(max_size=40)), max_size=6), st.integers(0, 3))
def test_every_text_has_the_words_that_count_words_finds(texts: list[str], first: int) -> None:
    column = pa.array(texts, pa.string()).slice(first)
    assert words_of_column(column).tolist() == [count_words(text) for text in texts[first:]]


def test_long_runs_of_punctuation_are_words_only_with_a_letter() -> None:
    texts = ["-" * 500, "-" * 500 + "a", "-" * 500 + " a", "a" + "-" * 500, "— " * 200 + "the end"]
    assert words_of_column(pa.array(texts)).tolist() == [0, 1, 1, 1, 2]
