import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.llm.choice_replies import parse_choice
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.score_replies import parse_score

STATED = {
    # JSON, alone, fenced, in prose, with a numeral as text
    '{"score": 8.5}': 8.5,
    '{"Score": 9}': 9.0,
    '{"score": "8/10"}': 8.0,
    '```json\n{"score": 6.5}\n```': 6.5,
    'Here you are:\n{"score": 4}\nAsk me anything.': 4.0,
    '{"reason": "It earns a 9 for {style}.", "score": 7}': 7.0,
    # nothing but the number
    "8": 8.0,
    "8.": 8.0,
    "10/10!": 10.0,
    "7 out of 10": 7.0,
    "7.5 / 10.0": 7.5,
    "(8)": 8.0,
    "__8__": 8.0,
    "`8`": 8.0,
    "8分": 8.0,
    "```\n8\n```": 8.0,
    # the number first or last, words around it
    "9\n\nThe story is good.": 9.0,
    "The voice is fresh.\n\n**7**": 7.0,
    # labelled
    "Score: 8": 8.0,
    "Score:8": 8.0,
    "**Score:** 8.5/10": 8.5,
    "Score (1-10): 8": 8.0,
    "Score:\n8": 8.0,
    "Score: 8(very good)": 8.0,
    "评分：8分（满分10分）": 8.0,
    "The score is 8.": 8.0,
    "My rating: 6": 6.0,
    "总分：9分": 9.0,
    # several numbers, one of them the answer
    "Coherence: 7\nFluency: 9\nOverall: 8": 8.0,
    "Score for the plot: 5\nFinal score: 9/10": 9.0,
    "At first I thought 4/10.\nScore: 8": 8.0,
}

NOT_STATED = [
    *("", " \n", "\u200b", "eight", "I cannot judge this."),
    *("0", "11", "-1", "Score: -3", "Score: 2024", '{"score": 0}', '{"score": 1e400}', '{"score": NaN}'),
    *('{"score": true}', '{"score": null}', '{"score": [8]}', '{"score": 8', '{"rating_of": 8}'),
    *("85/100", "4.5/5", '{"score": "17/20"}'),
    *("7-8", "7 - 8", "Score: 7-8", "Score: 5 + 3", "8**2", "1e1", "Score: 1e1", "8,5", "1,000", "7/10/2024"),
    *("Coherence: 7\nFluency: 9", "Score: 7/10 or 8/10?", '{"score": 4} {"score": 5}', "8\n7"),
    *("I cannot give a score out of 10.", "On a scale of 1 to 10 I cannot say.", "After reading 3 times, I pass."),
    *("<think>9", "<think>9</think>", "def f():\n    return 8", "print(8)", "score = len(story) / 10"),
    *("I would give this story an 8.", "8/10 - a fine tale", "8 would be\ntoo much", "I'd say\n8", "8½", "1**0"),
    *(
        "I cannot give this story a score of 10",
        "Score: 6 to 8",
        "Score: 8?",
        "Score: ~8",
        "I can't rate this.\nScore: 1",
    ),
    *('{"score": 3, "Score": 8}', 'I will not answer {"score": 8}', 'I cannot rate this story.\n{"score": 1}'),
    *("```python\nscore = 8\n```", "score = 10 if good else 2", "x = eval('8')", "return 8"),
]


@pytest.mark.parametrize(("reply", "score"), STATED.items())
def test_a_stated_score_is_read(reply, score):
    assert parse_score(reply) == score


@pytest.mark.parametrize("reply", NOT_STATED)
def test_anything_else_is_unparsed(reply):
    with pytest.raises(UnparsedReply):
        parse_score(reply)


def test_reasons_say_what_is_wrong():
    for reply, reason in {
        "": "empty",
        "11": "outside 1-10",
        "85/100": "another scale",
        "```python\nprint(8)\n```": "program code",
        "I cannot rate this story.\nScore: 1": "declines or hedges",
        "8\n7": "differ",
        "<think>hmm": "inside its reasoning",
        '{"score": 8': "no whole JSON",
    }.items():
        with pytest.raises(UnparsedReply, match=reason):
            parse_score(reply)


CHOSEN = {
    '{"best": 2}': 1,
    '{"best": 2.0}': 1,
    '{"best": "B"}': 1,
    '{"best": "Story 3"}': 2,
    '{"winner": "a"}': 0,
    "2": 1,
    "2.": 1,
    "B": 1,
    "[[C]]": 2,
    "**D**": 3,
    "(B)": 1,
    "first": 0,
    "The first one.": 0,
    "Story 2": 1,
    "Option D": 3,
    "故事2": 1,
    "故事2（最佳）": 1,
    "Story A wins.": 0,
    "Story B wins.": 1,
    "最好的故事是 2": 1,
    "The best story is Story 2.": 1,
    "**Best story:** 3": 2,
    "Best: 4": 3,
    "Answer: B": 1,
    "Final answer: A": 0,
    "Story 3 is the best.": 2,
    "The voice is its own.\n\nStory 4 is the strongest.": 3,
    "<think>Story 1 is the best</think>Story 2": 1,
    "3\n\nIts voice is its own.": 2,
}

NOT_CHOSEN = [
    *("", "Tie", "A tie", "both", "none of them", "1 and 2", "Winner: 2 or 3", "Story 1 is best. Story 2 is best."),
    *("5", "0", "-1", "E", "Story 10", '{"best": 5}', '{"best": 1.5}', '{"best": true}', '{"best": [1]}', '{"best": 2'),
    *("I cannot choose.", "I cannot choose story 2", "Story 2 is not the best.", "At first I could not decide."),
    *("I don't think story 1 is the best", "I would never choose story 2", "Story 2 (the worst)", "故事2（最差）"),
    *("I would choose Story 2.", "Story 1 is good, but Story 4 is the strongest.", "Story 2\nis not the best."),
    *("I like A lot, but a story needs more", "Best story: A tie between them", "best of the stories", 'print("A")'),
]


@pytest.mark.parametrize(("reply", "place"), CHOSEN.items())
def test_a_clear_choice_is_read(reply, place):
    assert parse_choice(reply, 4) == place


@pytest.mark.parametrize("reply", NOT_CHOSEN)
def test_an_unclear_choice_is_unparsed(reply):
    with pytest.raises(UnparsedReply):
        parse_choice(reply, 4)


@given(st.text(max_size=300) | st.text('0123456789./-+: scoreA\n{}"', max_size=80))
def test_no_reply_leads_to_anything_but_a_value_on_the_scale_or_unparsed(reply):
    with contextlib.suppress(UnparsedReply):
        assert 1.0 <= parse_score(reply) <= 10.0
    with contextlib.suppress(UnparsedReply):
        assert parse_choice(reply, 3) in (0, 1, 2)


@pytest.mark.parametrize(
    "reply", ["*" * 20000, "a(" * 20000, "<think>" * 5000, "{" * 20000, "1" * 20000, "score: " * 5000]
)
def test_long_odd_replies_are_read_in_good_time(reply):
    for parse in (parse_score, lambda text: parse_choice(text, 4)):
        with pytest.raises(UnparsedReply):
            parse(reply)
