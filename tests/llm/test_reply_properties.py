"""Every parser of judges' replies: negated, hedged or refused text gives no value; what the prompts ask for is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storyalign.llm.choice_replies import parse_choice
from storyalign.llm.criteria_replies import CRITERIA, parse_criteria
from storyalign.llm.rating_replies import SCORES, parse_ratings
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.score_replies import parse_score


def rated(value: object) -> dict[str, object]:
    return {"ratings": [{"story": n, **dict.fromkeys(SCORES, value)} for n in (1, 2)]}


PARSERS = {
    "score": (parse_score, lambda value: {"score": value}),
    "choice": (lambda reply: parse_choice(reply, 4), lambda value: {"best": value}),
    "ratings": (lambda reply: parse_ratings(reply, SCORES, 2), rated),
    "criteria": (parse_criteria, lambda value: dict.fromkeys(CRITERIA, value)),
}

NEGATED = (
    "I cannot give this story a score of {v}.",
    "I don't think story {v} is the best",
    "I would never choose story {v}.",
    "I am not able to say that it is worth {v}/10.",
    "We can't call {v} fair.",
    "Story {v} is not the best.",
    "It does not deserve a {v}.",
    "Nobody would call it a {v}",
    "Far from a score of {v}",
    "我不会给{v}分",
    "故事{v}不是最好的",
)
HEDGED = (
    "Score: {v} to {w}",
    "Score: {v}-{w}",
    "Score: {v}?",
    "Score: {v} or {w}",
    "Final answer: perhaps {v}",
    "Perhaps {v}, perhaps {w}.",
    "Somewhere between {v} and {w}",
    "It might be a {v} on a good day",
    "Story {v} or story {w}.",
    "Probably story {v}, but it is close",
    "It is hard to say whether {v} is fair.",
    "Had it ended well: {v}",
    "大约{v}到{w}分",
    "可能是故事{v}",
)
REFUSED = (
    "I'm sorry, but I can't rate this story.",
    "As an AI, I do not judge fiction.",
    "I cannot choose between them.",
    "We are unable to help with {v}.",
    "I won’t score this.",
    "抱歉，我无法评分。",
)
VALUES = st.permutations([1, 2, 3, 4])


@st.composite
def unsure_prose(draw):
    """Draw sentences without a value, wrapped into lines and marked up anywhere."""
    v, w, *_ = draw(VALUES)
    sentences = draw(st.lists(st.sampled_from(NEGATED + HEDGED + REFUSED), min_size=1, max_size=3))
    text = draw(st.sampled_from([" ", "\n", "\n\n"])).join(sentences).format(v=v, w=w)
    for at in sorted(draw(st.sets(st.integers(0, len(text)), max_size=3)), reverse=True):
        if text[at : at + 1] == " ":
            text = f"{text[:at]}\n{text[at + 1 :]}"
    return draw(st.sampled_from(["{}", "**{}**", "> {}", "```\n{}\n```", "<think>Score: 4</think>{}"])).format(text)


@pytest.mark.parametrize(("parse", "form"), PARSERS.values(), ids=PARSERS)
@given(reply=unsure_prose())
def test_negated_hedged_and_refused_text_gives_no_value(parse, form, reply):
    with pytest.raises(UnparsedReply):
        parse(reply)


@pytest.mark.parametrize(("parse", "form"), PARSERS.values(), ids=PARSERS)
@given(
    value=st.integers(1, 2), refusal=st.sampled_from(REFUSED), first=st.booleans(), gap=st.sampled_from(["\n", "\n\n"])
)
def test_a_refusal_beside_a_placeholder_gives_no_value(parse, form, value, refusal, first, gap):
    parts = [refusal.format(v=value), json.dumps(form(value))]
    with pytest.raises(UnparsedReply):
        parse(gap.join(parts if first else parts[::-1]))


@pytest.mark.parametrize(("parse", "form"), PARSERS.values(), ids=PARSERS)
@given(
    values=VALUES,
    text=st.sampled_from(["{v} or {w}", "not {v}", "{v}?", "about {v}", "~{v}", "{v}-{w}", "{v} (unsure)", "", "n/a"]),
)
def test_a_hedge_inside_the_object_gives_no_value(parse, form, values, text):
    with pytest.raises(UnparsedReply):
        parse(json.dumps(form(text.format(v=values[0], w=values[1]))))


@pytest.mark.parametrize(("parse", "form"), PARSERS.values(), ids=PARSERS)
@pytest.mark.parametrize("value", [None, True, [2], {"is": 2}, "\ud83d", "\ud83d" * 30])
def test_other_json_gives_no_value_and_a_reason_that_can_be_written(parse, form, value):
    with pytest.raises(UnparsedReply) as error:
        parse(json.dumps(form(value)))
    str(error.value).encode("utf-8")


@pytest.mark.parametrize(("parse", "form"), PARSERS.values(), ids=PARSERS)
@given(
    value=st.integers(1, 4),
    indent=st.sampled_from([None, 0, 2]),
    around=st.sampled_from(
        ["{}", "\n{}\n", "```json\n{}\n```", "```\n{}\n```", "<think>1 or 4? I can't say.</think>\n{}"]
    ),
)
def test_the_form_that_the_prompt_asks_for_is_read(parse, form, value, indent, around):
    expected = {
        "score": float(value),
        "best": value - 1,
        "ratings": [dict.fromkeys(SCORES, float(value))] * 2,
        CRITERIA[0]: dict.fromkeys(CRITERIA, float(value)),
    }
    stated = form(value)
    assert parse(around.format(json.dumps(stated, indent=indent))) == expected[next(iter(stated))]
