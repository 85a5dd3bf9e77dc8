"""What a judge is asked in each mode, and how its reply becomes a vote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from storyalign.llm.choice_replies import parse_choice
from storyalign.llm.criteria_replies import CRITERIA_SCHEMA, parse_criteria
from storyalign.llm.prompts import (
    Prompt,
    choice_request,
    criteria_request,
    load_prompt,
    rating_request,
    schema,
)
from storyalign.llm.score_replies import parse_score
from storyalign.scoring.voting import Mode, Order
from storyalign.text import same_text

_PROMPTS: Mapping[Mode, str] = {
    "rate": "rate_story",
    "criteria": "rate_story_by_criteria",
    "choose": "choose_best_story",
    "pairwise": "choose_best_story",
}
_SCORE = schema("score", {"score": {"type": "number"}})
_CHOICE = schema("choice", {"best": {"type": "integer"}})


def prompt_of(mode: Mode) -> Prompt:
    """Return the prompt of a mode."""
    return load_prompt(_PROMPTS[mode])


def question(mode: Mode, premise: str, stories: Sequence[str]) -> str:
    """Write the request for stories in the order in which they are shown; rating modes show one."""
    premise, stories = same_text(premise), [same_text(story) for story in stories]
    if mode == "rate":
        return rating_request(premise, stories[0])
    if mode == "criteria":
        return criteria_request(premise, stories[0])
    return choice_request(premise, stories)


def reply_form(mode: Mode) -> Mapping[str, object]:
    """Return the JSON schema of the reply."""
    return {"rate": _SCORE, "criteria": CRITERIA_SCHEMA}.get(mode, _CHOICE)


def read_vote(mode: Mode, reply: str, order: Order) -> float:
    """Read a reply: the score of the story, or the candidate that it names as best.

    Args:
        mode: how the judge was asked.
        reply: what it said.
        order: the candidates shown.

    Raises:
        UnparsedReply: the reply states no vote.
    """
    if mode == "rate":
        return parse_score(reply)
    if mode == "criteria":
        scores = parse_criteria(reply)
        return math.fsum(scores.values()) / len(scores)
    return order[parse_choice(reply, len(order))]
