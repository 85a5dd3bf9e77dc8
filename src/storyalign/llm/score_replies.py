"""Reading a score from 1 to 10: a JSON object, or a line that is nothing but the score; anything else is unread."""

from __future__ import annotations

import re

from storyalign.llm.replies import UnparsedReply, final_answer, json_field, stated_in_lines

LOWEST, HIGHEST = 1.0, 10.0
"""The scale; the paper leaves it open."""

_REMARK = (
    r"\(\s*(?:满分\s*10\s*分?|out of 10|1\s*-\s*10"
    r"|(?:very |quite )?(?:good|strong|weak|poor|fair|excellent|outstanding|average)|很好|优秀|良好|一般|较差)\s*\)"
)
"""What may follow in brackets: the scale, or the number in words."""
_VALUE = (
    r"[\"'(\[]*(?P<number>[+-]?[0-9]{1,4}(?:\.[0-9]{1,9})?)(?:\s*(?:/|out of)\s*(?P<scale>[0-9]{1,4}(?:\.0)?))?"
    rf"(?:\s*(?:points?|分))?[\"')\]]*(?:\s*{_REMARK})?\s*[.!。]?"
)
_LABEL = (
    r"(?:here is )?(?:my |the )?(?:(?:final|overall|total)(?: (?:score|rating|grade|answer|verdict))?"
    r"|score|rating|grade|answer|verdict)|(?:最终|总体|综合)?(?:评分|得分|分数|打分|总分|总评)"
)
_ALONE = re.compile(_VALUE, re.I)
_LABELLED = re.compile(rf"(?:{_LABEL})\s*(?:\(1\s*-\s*10\)\s*)?(?::|(?:is|为|是)\s*:?)\s*{_VALUE}", re.I)


def parse_score(reply: str) -> float:
    """Read one score from 1 to 10.

    Raises:
        UnparsedReply: no score, several that differ, one off the scale, or text that declines or hedges.

    >>> parse_score('{"score": 8.5}'), parse_score("**7/10**"), parse_score("10.0")
    (8.5, 7.0, 10.0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("score", "overall", "overall_score", "rating"))
    if stated is not None:
        return score_value(stated)
    scores = {_score(match) for match in stated_in_lines(answer, _ALONE, _LABELLED)}
    if len(scores) != 1:
        raise UnparsedReply("the reply states several scores that differ" if scores else "the reply states no score")
    return scores.pop()


def score_value(stated: object) -> float:
    """Read a score that JSON states as a number, or as a text that is nothing but a score.

    Raises:
        UnparsedReply: it is neither, or off the scale.
    """
    if isinstance(stated, str) and (match := _ALONE.fullmatch(stated.strip())):
        return _score(match)
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return _within(stated)
    raise UnparsedReply(f"the reply states {str(stated)[:40]!r}, which is no score")


def _score(match: re.Match[str]) -> float:
    if match["scale"] and float(match["scale"]) != HIGHEST:
        raise UnparsedReply(f"the reply uses another scale ({match[0].strip()[:40]})")
    return _within(float(match["number"]))


def _within(score: float) -> float:
    if not LOWEST <= score <= HIGHEST:
        raise UnparsedReply(f"the score {str(score)[:20]} is outside {LOWEST:g}-{HIGHEST:g}")
    return float(score)
