"""Reading six scores from 1 to 5, one a criterion (Chhun et al. 2022, 2024), or ``UnparsedReply``; never a guess."""

from __future__ import annotations

import re

from storyalign.llm.prompts import schema
from storyalign.llm.replies import UnparsedReply, final_answer, json_objects

CRITERIA = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")
LOWEST, HIGHEST = 1.0, 5.0

CRITERIA_SCHEMA = schema("criteria", {name: {"type": "number"} for name in CRITERIA})

_NUMBER = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,9})?(?:\s*/\s*5(?:\.0)?)?")


def parse_criteria(reply: str) -> dict[str, float]:
    """Read all six scores.

    Raises:
        UnparsedReply: there is no JSON object with all criteria, one of them is no score from 1 to 5, or two objects
            contradict each other.

    >>> list(parse_criteria(str({name: 4 for name in CRITERIA}).replace("'", '"')).values())
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0]
    """
    found: list[dict[str, float]] = []
    for value in json_objects(final_answer(reply)):
        if not any(name in value for name in CRITERIA):
            continue
        if missing := [name for name in CRITERIA if name not in value]:
            raise UnparsedReply(f"the reply has no score for {missing[0]}")
        scores = {name: _score(value[name], name) for name in CRITERIA}
        if scores not in found:
            found.append(scores)
    if len(found) != 1:
        raise UnparsedReply("the reply holds scores that contradict each other" if found else "the reply has no scores")
    return found[0]


def _score(value: object, name: str) -> float:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value.split("/")[0])
    if isinstance(value, bool) or not isinstance(value, int | float) or not LOWEST <= value <= HIGHEST:
        raise UnparsedReply(f"{name} is {str(value)[:20]!r}; expected {LOWEST:g} to {HIGHEST:g}")
    return float(value)
