"""Reading which story a reply calls best: a JSON object, or a line that is nothing but the choice; else unread."""

from __future__ import annotations

import re

from storyalign.llm.replies import UnparsedReply, final_answer, json_field, stated_in_lines

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_BEST = r"(?:the )?(?:best|strongest|better|winner)(?: story| one)?|最佳|最好"
_STORY = (
    rf"[\"'(\[<#]*(?:the )?(?:(?:story|version|candidate|option|number|故事)\s*)?[\"'(\[#]*"
    rf"(?P<name>[0-9]{{1,3}}|[A-Z]|{'|'.join(_ORDINALS)})[\"')\]>]*(?: (?:story|one))?(?:\s*\((?:{_BEST})\))?"
)
_LABEL = (
    r"(?:my |the )?(?:final |best |better )?(?:answer|verdict|choice|winner|best|story)"
    r"|答案|最[好佳](?:的)?(?:故事)?"
)
_ALONE = re.compile(rf"{_STORY}\s*[.!。]?", re.I)
_LABELLED = re.compile(
    rf"(?:(?:{_LABEL})\s*(?::|(?:is|为|是)\s*:?)\s*{_STORY}"
    rf"|{_STORY.replace('name', 'winner')}\s*(?:wins|(?:is|为|是)\s*(?:{_BEST})))\s*[.!。]?",
    re.I,
)


def parse_choice(reply: str, count: int) -> int:
    """Read which of ``count`` stories the reply calls best, counted from 0.

    The prompt asks for a number; a letter or an ordinal in its place is read, too.

    Raises:
        UnparsedReply: no choice, several that differ, a story that is not there, or text that declines or hedges.

    >>> parse_choice('{"best": 2}', 4), parse_choice("Story B", 4), parse_choice("The first one.", 4)
    (1, 1, 0)
    """
    answer = final_answer(reply)
    stated = json_field(answer, ("best", "winner", "choice", "answer", "best_story"))
    if stated is not None:
        return _from_value(stated, count)
    places = {_place(match, count) for match in stated_in_lines(answer, _ALONE, _LABELLED)}
    if len(places) != 1:
        raise UnparsedReply("the reply calls more than one story best" if places else "the reply names no story")
    return places.pop()


def _from_value(stated: object, count: int) -> int:
    if isinstance(stated, float) and stated.is_integer():
        stated = int(stated)
    is_name = isinstance(stated, int | str) and not isinstance(stated, bool)
    if is_name and (match := _ALONE.fullmatch(str(stated)[:99].strip())):
        return _place(match, count)
    raise UnparsedReply(f"the reply names {str(stated)[:40]!r}, which is no story")


def _place(match: re.Match[str], count: int) -> int:
    groups = match.groupdict()
    name = str(groups["name"] or groups.get("winner")).lower()
    if name in _ORDINALS:
        place = _ORDINALS.index(name) + 1
    else:
        place = int(name) if name.isdecimal() else ord(name) - ord("a") + 1
    if not 1 <= place <= count:
        raise UnparsedReply(f"the reply names story {name}; there are {count}")
    return place - 1
