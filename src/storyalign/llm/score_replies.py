"""Reading a score from 1 to 10: the one that a reply states in JSON or on a line of its own, or ``UnparsedReply``."""

from __future__ import annotations

import re

from storyalign.llm.replies import AnswerLine, UnparsedReply, final_answer, json_field

LOWEST, HIGHEST = 1.0, 10.0
"""The scale; the paper leaves it open."""

_VALUE = r"([+-]?\d{1,9}(?:\.\d{1,9})?)(?:\s*(?:/|out of)\s*(\d{1,9}(?:\.\d{1,9})?))?\s*(?:points?|分)?"
_WHOLE = re.compile(_VALUE, re.I)
_LABEL = r"score|rating|grade|answer|评分|得分|分数|打分"
_FINAL = rf"(?:final|overall|total)\s+(?:{_LABEL}|verdict)|overall|total|总分|总评|(?:总体|最终|综合)(?:{_LABEL})"
_LINES = AnswerLine(_VALUE, _LABEL, _FINAL)


def parse_score(reply: str) -> float:
    """Read one score from 1 to 10.

    Raises:
        UnparsedReply: no score, several that differ, or one off the scale.

    >>> parse_score('{"score": 8.5}'), parse_score("**7/10**"), parse_score("10.0")
    (8.5, 7.0, 10.0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("score", "overall", "overall_score", "rating"))
    if stated is not None:
        return score_value(stated)
    scores = {_score(match) for match in _LINES.find(answer)}
    if len(scores) != 1:
        raise UnparsedReply("the reply states several scores that differ" if scores else "the reply states no score")
    return scores.pop()


def score_value(stated: object) -> float:
    """Read a score that JSON states as a number, or as a text that is nothing but a score.

    Raises:
        UnparsedReply: it is neither, or off the scale.
    """
    if isinstance(stated, str) and (match := _WHOLE.fullmatch(stated.strip())):
        return _score(match)
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return _within(stated)
    raise UnparsedReply(f"the reply states {str(stated)[:40]!r}, which is no score")


def _score(match: re.Match[str]) -> float:
    number, scale = match[1], match[2]
    if scale and float(scale) != HIGHEST:
        raise UnparsedReply(f"the reply uses another scale ({match[0].strip()[:40]})")
    return _within(float(number))


def _within(score: float) -> float:
    if not LOWEST <= score <= HIGHEST:  # true for NaN as well
        raise UnparsedReply(f"the score {str(score)[:20]} is outside {LOWEST:g}-{HIGHEST:g}")
    return float(score)
