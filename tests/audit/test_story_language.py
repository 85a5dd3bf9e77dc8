"""The language of one story: by hand, against scipy, in two scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from storyalign.audit.story_language import dialogue_words, moving_type_token_ratio, story_language
from storyalign.text import distinct_words, words_of


def test_a_small_story_by_hand():
    story = 'The sea was calm.\n"Row," she said.\nHe rowed. The sea, the sea!'
    figures, moments = story_language(story)
    # sentences of 4, 3, 2, 4 words; mean 13/4, squared distances .5625 .0625 1.5625 .5625 -> variance 2.75/4
    assert figures.words == 13 and figures.sentences == 4 and figures.words_a_sentence == 3.25
    assert figures.burstiness == pytest.approx((2.75 / 4) ** 0.5 / 3.25)
    assert figures.kurtosis == pytest.approx(stats.kurtosis([4, 3, 2, 4]))
    assert figures.dialogue_share == pytest.approx(1 / 13)
    # the sea was calm row she said he rowed: 9 different ones of 13
    assert figures.type_token_ratio == pytest.approx(9 / 13)
    assert figures.moving_type_token_ratio is None
    # 3+3+3+4 + 3+3+4 + 2+5 + 3+3+3+3 letters
    assert figures.letters_a_word == pytest.approx(42 / 13)
    assert moments == (4, 13, 16 + 9 + 4 + 16, 64 + 27 + 8 + 64, 256 + 81 + 16 + 256)


def test_a_chinese_story_by_hand():
    figures, _ = story_language("海很平静。他说：「走吧。」我们走了！没有人说话？", "zh")
    # 4, then 他说走吧 4, 我们走了 4, 没有人说话 5 characters
    assert figures.words == 17 and figures.dialogue_share == pytest.approx(2 / 17)
    assert figures.letters_a_word is None
    # 海很平静他说走吧我们走了没有人说话: 走 and 说 come twice
    assert figures.type_token_ratio == pytest.approx(15 / 17)


@pytest.mark.parametrize(
    ("story", "words"),
    [
        ('"Come in," she said. "Now!"', 3),
        ("“Come in,” she said.", 2),
        ("``Come in,'' she said.", 2),
        ("«Viens ici», dit-elle.", 2),
        ("“It goes on\n“and on,” he said.", 5),  # speech over two paragraphs: the first has no closing mark
        ("It's the dogs' dinner, isn't it", 0),
        ("『走吧』他说", 2),
        ("", 0),
    ],
)
def test_dialogue_in_every_make_of_quotation_marks(story, words):
    assert dialogue_words(story) == words


@given(st.lists(st.sampled_from("abcde"), min_size=3, max_size=30))
def test_the_moving_ratio_is_the_mean_over_all_windows(words):
    windows = [words[i : i + 3] for i in range(len(words) - 2)]
    expected = sum(len(set(window)) / 3 for window in windows) / len(windows)
    assert moving_type_token_ratio(words, 3) == pytest.approx(expected)


def test_nothing_to_measure():
    figures, moments = story_language("* * *")
    assert figures == (None, None, 0, 0, None, None, None, None, None) and moments == (0, 0, 0, 0, 0)


@given(st.text(alphabet="ab é海狗' -.,“”"))
def test_words_in_order_are_those_that_differ(text):
    assert set(words_of(text)) == distinct_words(text)
