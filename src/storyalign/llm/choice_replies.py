"""Reading which story a reply calls best: a number in JSON or on a line of its own, or ``UnparsedReply``."""

from __future__ import annotations

import re

from storyalign.llm.replies import AnswerLine, UnparsedReply, final_answer, json_field

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_THING = r"(?:story|version|candidate|option|number|one|#|故事)"
_VALUE = (
    rf"(?:the\s+)?(?:(?:{_THING}\s*)?[\"'(\[:#]*(\d{{1,3}}|[A-Z])(?![A-Z\d])|({'|'.join(_ORDINALS)})(?:\s+{_THING})?)"
    r"[\"')\]]*(?:\s+(?:wins|is\s+(?:the\s+)?(?:best|better)))?"
)
_WHOLE = re.compile(_VALUE, re.I)
_LINES = AnswerLine(
    _VALUE,
    r"answer|verdict|choice|winner|best(?:\s+story)?|答案|最[好佳]的?(?:故事)?",
    r"final\s+(?:answer|verdict|choice)|最终(?:答案|选择)",
)


def parse_choice(reply: str, count: int) -> int:
    """Read which of ``count`` stories the reply calls best, counted from 0.

    The prompts ask for a number; a letter or an English ordinal that stands alone is read like one.

    Raises:
        UnparsedReply: no choice, several that differ, a tie, or a story that is not there.

    >>> parse_choice('{"best": 2}', 4), parse_choice("Story B", 4), parse_choice("The first one.", 4)
    (1, 1, 0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("best", "winner", "choice", "answer", "best_story"))
    if stated is not None:
        if isinstance(stated, float) and stated.is_integer():
            stated = int(stated)
        text = str(stated)[:99].strip() if isinstance(stated, int | str) and not isinstance(stated, bool) else ""
        if match := _WHOLE.fullmatch(text):
            return _place(match, count)
        raise UnparsedReply(f"the reply names {str(stated)[:40]!r}, which is no story")
    places = {_place(match, count) for match in _LINES.find(answer)}
    if len(places) != 1:
        raise UnparsedReply("the reply calls more than one story best" if places else "the reply names no story")
    return places.pop()


def _place(match: re.Match[str], count: int) -> int:
    name = (match[1] or match[2]).lower()
    if name in _ORDINALS:
        place = _ORDINALS.index(name) + 1
    else:
        place = int(name) if name.isdecimal() else ord(name) - ord("a") + 1
    if not 1 <= place <= count:
        raise UnparsedReply(f"the reply names story {name}; there are {count}")
    return place - 1
