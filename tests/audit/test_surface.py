"""Surface cues against scipy and by hand."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from storyalign.audit.surface import burstiness, kurtosis, prompt_overlap, sentence_lengths, surface_cues
from storyalign.text import count_words, distinct_words

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=40)


@given(lengths)
def test_kurtosis_is_the_population_excess_kurtosis(values):
    if len(values) < 4 or len(set(values)) == 1:
        assert kurtosis(values) is None
    else:
        assert kurtosis(values) == pytest.approx(stats.kurtosis(values, fisher=True, bias=True), abs=1e-9)


@given(lengths)
def test_burstiness_is_the_coefficient_of_variation(values):
    assert burstiness(values) == pytest.approx(stats.variation(values), abs=1e-12)


def test_a_story_without_words_has_no_burstiness_and_no_kurtosis():
    assert surface_cues("* * *\n\n...") == (0, 10, 0, 0.0, None)


def test_sentences_are_counted_in_words():
    assert sentence_lengths("The sea was calm. Nobody spoke!\n* * *\nWhy?") == [4, 2, 1]
    assert sentence_lengths("海很平静。他没有说话！", "zh") == [4, 5]


def test_overlap_counts_different_words_whatever_their_case():
    assert prompt_overlap("The dog, the DOG's bone", "A DOG's bone.") == pytest.approx(2 / 4)  # the, dog, dog's, bone
    assert prompt_overlap("海与狗", "海边没有人") == pytest.approx(1 / 3)
    assert prompt_overlap("?!", "Anything") == 0.0


@given(st.text(alphabet=string.printable + "éßÅ海狗、。“”"))
def test_a_text_has_no_more_different_words_than_characters_and_none_without_any(text):
    assert bool(distinct_words(text)) == any(c.isalnum() for c in text)


@given(st.lists(st.sampled_from(["sea", "...", "海", "a1", "-", "“x”", "_"]), max_size=12))
def test_word_counts_look_at_every_character(tokens):
    expected = sum(token in {"sea", "海", "a1", "“x”"} for token in tokens)
    assert count_words(" ".join(tokens)) == expected
