"""Reading which story a reply calls best: by number, letter or ordinal; one clear choice, or ``UnparsedReply``."""

from __future__ import annotations

import re

from storyalign.llm.replies import UnparsedReply, final_answer, json_field, plain_words

_ORDINALS = {
    word: place
    for place, words in enumerate(
        ("first 1st 第一", "second 2nd 第二", "third 3rd 第三", "fourth 4th 第四", "fifth 5th 第五"), start=1
    )
    for word in words.split()
}
_ORDINAL = rf"(?:{'|'.join(_ORDINALS)})"
_THING = r"(?:story|version|candidate|option|text|one|number|no\.|#|故事)"
_NAME = r"(?:\d{1,3}(?![\d.]*\d)|A(?!\s+[a-z])|[B-Z])(?![A-Za-z'])"
"""A number or a letter; ``A`` before a word is an article."""
_NOT_ALONE = r"(?!\s*(?:or|and|nor|,|/|&|或|和)\s*(?:story\s*)?(?:\d|[A-Z]\b))"
_PLACE = rf"(?:the\s+)?(?:{_THING}\s*)?[\"'(\[]*({_NAME}|{_ORDINAL}){_NOT_ALONE}"
_IS = r"[\"')\]]*\s*(?:is|为|是|[:=]|->)\s*[:=]?\s*[\"'(\[]*"
_BEST = r"(?:best|strongest|better|superior|preferred|favou?rite|最好|最佳|更好)"

_ONLY = re.compile(
    rf"^[\"'(\[<#\s]*(?:the\s+)?(?:{_THING}\s*)?[\"'(\[:#\s]*({_NAME}|{_ORDINAL})[\"')\]>]*(?:\s*个?\s*{_THING}|个)?[.!。]*$",
    re.I,
)
_PATTERNS = (
    re.compile(rf"\bfinal\s+(?:answer|verdict|choice){_IS}{_PLACE}", re.I),
    re.compile(
        rf"(?:\b(?:answer|verdict|choice|winner|best(?:\s+{_THING})?)|最好的(?:故事)?|最佳(?:故事)?|答案){_IS}{_PLACE}",
        re.I,
    ),
    re.compile(
        rf"(?:{_THING}\s*[\"'(\[]*({_NAME})|({_ORDINAL})\s*个?\s*{_THING})[\"')\]]*\s*"
        rf"(?:wins\b|(?:is|为|是)\s*(?:clearly\s+|by far\s+)?(?:the\s+)?{_BEST})",
        re.I,
    ),
    re.compile(
        rf"(?<!not )(?<!n't )(?<!cannot )\b(?:choose|pick|prefer|select)\s+(?:the\s+)?"
        rf"(?:{_THING}\s*({_NAME}){_NOT_ALONE}|({_ORDINAL})\s+{_THING})",
        re.I,
    ),
)


def parse_choice(reply: str, count: int) -> int:
    """Read which of ``count`` stories the reply calls best, counted from 0.

    Raises:
        UnparsedReply: no choice, several that differ, a tie, a story that is not there, or program code.

    >>> parse_choice('{"best": 2}', 4), parse_choice("Story B", 4), parse_choice("The first one.", 4)
    (1, 1, 0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("best", "winner", "choice", "answer", "best_story"))
    if stated is not None:
        return _from_value(stated, count)
    words = plain_words(answer)
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    if alone := {_place(m[1], count) for line in (lines[0], lines[-1]) if (m := _ONLY.match(line))}:
        return _one(alone)
    for pattern in _PATTERNS:
        if found := {_place(next(g for g in m.groups() if g), count) for m in pattern.finditer(words)}:
            return _one(found)
    raise UnparsedReply("the reply names no story")


def _from_value(stated: object, count: int) -> int:
    if isinstance(stated, float) and stated.is_integer():
        stated = int(stated)
    if (
        isinstance(stated, int | str)
        and not isinstance(stated, bool)
        and (match := _ONLY.match(str(stated)[:99].strip()))
    ):
        return _place(match[1], count)
    raise UnparsedReply(f"the reply names {str(stated)[:40]!r}, which is no story")


def _one(places: set[int]) -> int:
    if len(places) > 1:
        raise UnparsedReply("the reply calls more than one story best")
    return places.pop()


def _place(name: str, count: int) -> int:
    lowered = name.lower()
    if lowered in _ORDINALS:
        place = _ORDINALS[lowered]
    else:
        place = int(name) if name.isdecimal() else ord(lowered) - ord("a") + 1
    if not 1 <= place <= count:
        raise UnparsedReply(f"the reply names story {name}; there are {count}")
    return place - 1
