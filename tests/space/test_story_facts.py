import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kurtosis
from story_facts import burstiness, script_language, story_facts


def test_burstiness_by_hand():
    # mean 2, variance (1+1+1+9)/4 = 3, fourth moment (1+1+1+81)/4 = 21: 21/9 - 3
    assert burstiness([1, 1, 1, 5]) == pytest.approx(-2 / 3)


@pytest.mark.parametrize("lengths", [[], [3, 9, 1], [4, 4, 4, 4, 4]])
def test_burstiness_is_undefined_for_few_or_equal_sentences(lengths):
    assert burstiness(lengths) is None


@given(st.lists(st.integers(1, 80), min_size=4).filter(lambda values: len(set(values)) > 1))
def test_burstiness_agrees_with_scipy(lengths):
    assert burstiness(lengths) == pytest.approx(kurtosis(lengths, fisher=True, bias=True), rel=1e-9, abs=1e-9)


def test_counts_chinese_by_character():
    facts = story_facts("海很平静。船来了！他笑了。")
    assert (facts.words, facts.sentences, facts.language) == (10, 3, "zh")
    assert facts.length == "10 characters"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("A story.", "en"),
        ("海很平静。", "zh"),
        ("うみはしずか。", "ja"),
        ("She said 你好 to the whole long table.", "en"),
        ("", "en"),
    ],
)
def test_language_by_script(text, language):
    assert script_language(text) == language


def test_an_empty_story_has_no_words():
    assert story_facts("\u200b").invisible == 1
    assert story_facts("").sentences == 0
