import pytest
from story_facts import story_facts

from storyalign.text import script_language


def test_burstiness_and_kurtosis_by_hand():
    facts = story_facts("One. Two. Three. And four more words.")
    # lengths 1, 1, 1, 4: mean 7/4, variance 27/16, so the deviation over the mean is sqrt(27)/7
    assert facts.burstiness == pytest.approx(27**0.5 / 7)
    # fourth moment (3 * 81 + 6561) / 1024 = 6804/1024 over (27/16)**2 = 729/256: 7/3
    assert facts.kurtosis == pytest.approx(7 / 3 - 3)


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
