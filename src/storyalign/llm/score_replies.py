"""Reading a score from 1 to 10: the one that a reply clearly states, or ``UnparsedReply``; never a guess.

The order of trust: a JSON object; a reply, or a first or last line, that is nothing but the score; a score that the
text calls final; one score that all statements in the text agree on.
"""

from __future__ import annotations

import re

from storyalign.llm.replies import UnparsedReply, final_answer, json_field, plain_words

LOWEST, HIGHEST = 1.0, 10.0
"""The scale; the paper leaves it open."""

_NUMBER = r"(?<![A-Za-z\d.,/])[+-]?\d+(?:\.\d+)?"
_OUT_OF = r"\s*(?:/|out of)\s*\d+(?:\.\d+)?"
_UNIT = r"\s*(?:points?|分)"
_STATED = rf"({_NUMBER})({_OUT_OF})?(?:{_UNIT})?"
_END = r"(?!\.?\d|[A-Za-z_]|\(|\s*[+*^%=]|\s*-\s*\d|\s*[/:,]\s*\d)"
"""What may not follow: more digits, a sum, a range, a share, a call."""
_WORD = r"(?:score|rating|grade|mark|评分|得分|分数|打分|评价)"
_FINAL_WORD = r"(?:overall|final|total|总体|最终|总评|综合|总)"
_LINK = r"[\"']?\s*(?:\([^)\n]{0,20}\)\s*)?(?:is|of|would be|为|是)?\s*(?:[:=]|->)?\s*"

_ONLY = re.compile(rf"^[\"'(\[]*{_STATED}[\"')\]]*[.!。]*$", re.I)
_LABELLED = re.compile(rf"(?<![A-Za-z]){_WORD}{_LINK}{_STATED}{_END}", re.I)
_FINAL = re.compile(
    rf"(?:{_FINAL_WORD}\s*(?:{_WORD}|answer|verdict|分)?|(?:answer|verdict)){_LINK}{_STATED}{_END}", re.I
)
_SHARE = re.compile(rf"({_NUMBER})({_OUT_OF}){_END}", re.I)
_GIVEN = re.compile(
    r"(?:\b(?:give|rate|grade|assign|award)(?:s|d)?\b"
    r"(?:\s+(?:it|this|the|story|him|her|an?|overall|score|rating|of|as|at|with|solid|strong))*\s+|[给打][^\d\n]{0,10})"
    rf"{_STATED}{_END}",
    re.I,
)


def parse_score(reply: str) -> float:
    """Read one score from 1 to 10.

    Raises:
        UnparsedReply: no score, several that differ, one off the scale, or program code.

    >>> parse_score('{"score": 8.5}'), parse_score("**7/10**"), parse_score("10.0")
    (8.5, 7.0, 10.0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("score", "overall", "overall_score", "rating"))
    if stated is not None:
        return score_value(stated)
    words = plain_words(answer)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    if alone := [m for line in dict.fromkeys((lines[0], lines[-1])) if (m := _ONLY.match(line))]:
        return _agreed(alone)
    for pattern in (_FINAL, _LABELLED):
        if match := pattern.fullmatch(lines[-1].rstrip(".!。")):
            return _score(match)
    if found := list(_FINAL.finditer(words)):
        return _agreed(found)
    if found := [m for pattern in (_LABELLED, _SHARE, _GIVEN) for m in pattern.finditer(words)]:
        return _agreed(found)
    raise UnparsedReply("the reply states no score")


def score_value(stated: object) -> float:
    """Read a score that JSON states as a number, or as a text that is nothing but a score.

    Raises:
        UnparsedReply: it is neither, or off the scale.
    """
    if isinstance(stated, str) and (match := _ONLY.match(stated.strip())):
        return _score(match)
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        return _within(stated)
    raise UnparsedReply(f"the reply states {str(stated)[:40]!r}, which is no score")


def _score(match: re.Match[str]) -> float:
    number, share = match[1], match[2]
    if share and float(re.sub(r"[^\d.]", "", share)) != HIGHEST:
        raise UnparsedReply(f"the reply uses another scale ({match[0].strip()[:40]})")
    return _within(float(number))


def _within(score: float) -> float:
    if not LOWEST <= score <= HIGHEST:  # true for NaN as well
        raise UnparsedReply(f"the score {str(score)[:20]} is outside {LOWEST:g}-{HIGHEST:g}")
    return float(score)


def _agreed(found: list[re.Match[str]]) -> float:
    scores = {_score(match) for match in found}
    if len(scores) > 1:
        raise UnparsedReply("the reply states several scores that differ")
    return scores.pop()
