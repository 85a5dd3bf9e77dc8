"""Negated, hedged and refused text never gives a value; every form that the prompts ask for is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.llm.choice_replies import parse_choice
from storyalign.llm.criteria_replies import CRITERIA, parse_criteria
from storyalign.llm.prompts import load_prompt
from storyalign.llm.rating_replies import SCORES, parse_ratings
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.score_replies import parse_score

NEGATED = st.sampled_from(
    ["I cannot give this story", "I can't say", "I would never answer", "It is not", "This isn't", "Not",
     "I don't think the right answer is", "Nobody would say", "I refuse to write", "I will not answer with:",
     "Sorry, I am unable to rate it or to state", "Under no circumstances:", "我不会给", "我无法评价，不能说", "绝非"]
)  # fmt: skip
BEFORE = st.sampled_from(
    [
        "Maybe",
        "Perhaps",
        "I guess",
        "I guess:",
        "Probably:",
        "Somewhere near",
        "Either",
        "If I had to:",
        "可能是",
        "大概",
    ]
)
AFTER = st.sampled_from(
    [" or 9", " or so?", "?", " to 9", "-9", ", maybe", ", but I am not sure", " (or more)", " (not final)", " 或 9",
     " - 9", " at first, then less", "（也许）", "（不确定）", " is not my answer", " would be wrong"]
)  # fmt: skip
DECORATED = st.sampled_from(
    ["{}", "**{}**", "<think>Hm.</think>\n{}", "\u200b{}", "> {}", "{}\n\nThat is all I can say."]
)


def unsure(forms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """An answer form that is denied, or hedged on one of its sides, in a dress that models like."""
    doubted = st.one_of(
        st.tuples(NEGATED, st.just(" "), forms), st.tuples(BEFORE, st.just(" "), forms), st.tuples(forms, AFTER)
    )
    return st.tuples(DECORATED, doubted.map("".join)).map(lambda parts: parts[0].replace("{}", parts[1]))


NUMBERS = st.integers(1, 10)
SCORE_FORMS = st.tuples(
    st.sampled_from(["{}", "{}/10", "Score: {}", "a score of {}", "评分：{}分", '{{"score": {}}}', "**{}**", "8{}"]),
    NUMBERS,
).map(lambda pair: pair[0].format(pair[1]))
CHOICE_FORMS = st.tuples(
    st.sampled_from(
        ["{}", "story {}", "Story {} wins.", "Final answer: {}", "故事{}", '{{"best": {}}}', "story {} is the best"]
    ),
    st.sampled_from(["1", "2", "3", "A", "B"]),
).map(lambda pair: pair[0].format(pair[1]))


@given(unsure(SCORE_FORMS))
def test_an_unsure_text_gives_no_score(reply):
    with pytest.raises(UnparsedReply):
        parse_score(reply)


@given(unsure(CHOICE_FORMS))
def test_an_unsure_text_gives_no_choice(reply):
    with pytest.raises(UnparsedReply):
        parse_choice(reply, 4)


@given(unsure(st.just(json.dumps(dict.fromkeys(CRITERIA, 4)))))
def test_an_unsure_text_gives_no_criteria(reply):
    with pytest.raises(UnparsedReply):
        parse_criteria(reply)


@given(unsure(st.just(json.dumps({"ratings": [{"story": 1, **dict.fromkeys(SCORES, 4)}]}))))
def test_an_unsure_text_gives_no_ratings(reply):
    with pytest.raises(UnparsedReply):
        parse_ratings(reply, SCORES, 1)


WRAPPED = st.sampled_from(
    ["{}", "```json\n{}\n```", "```\n{}\n```", "Here is my answer:\n{}", "`{}`",
     "<think>Is it {{\"score\": 1}}?</think>{}", "{}\n\nI weighed all five qualities."]
)  # fmt: skip


def asked(prompt: str, value: str) -> str:
    """The form in the prompt's last line with its numbers filled in."""
    return load_prompt(prompt).template.strip().splitlines()[-1].replace("<number>", value)


def dressed(wrapping: str, form: str, indent: int | None) -> str:
    return wrapping.replace("{{", "{").replace("}}", "}").replace("{}", json.dumps(json.loads(form), indent=indent))


@given(WRAPPED, st.sampled_from([None, 1, 4]), st.integers(10, 100))
def test_what_rate_story_asks_for_is_read(wrapping, indent, tenths):
    assert parse_score(dressed(wrapping, asked("rate_story", str(tenths / 10)), indent)) == tenths / 10


@given(WRAPPED, st.sampled_from([None, 1, 4]), st.integers(1, 5))
def test_what_choose_best_story_asks_for_is_read(wrapping, indent, number):
    assert parse_choice(dressed(wrapping, asked("choose_best_story", str(number)), indent), 5) == number - 1


@given(WRAPPED, st.sampled_from([None, 1, 4]), st.integers(1, 5))
def test_what_rate_story_by_criteria_asks_for_is_read(wrapping, indent, number):
    form = asked("rate_story_by_criteria", str(number))
    assert parse_criteria(dressed(wrapping, form, indent)) == {name: float(number) for name in CRITERIA}


@given(WRAPPED, st.sampled_from([None, 1, 4]), st.integers(1, 10))
def test_what_rate_group_asks_for_is_read(wrapping, indent, number):
    form = asked("rate_group", str(number))
    assert parse_ratings(dressed(wrapping, form, indent), SCORES, 1) == [{name: float(number) for name in SCORES}]
