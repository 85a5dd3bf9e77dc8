"""Reading one judge's ratings of all stories of a group: every score of every story, or ``UnparsedReply``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from storyalign.llm.prompts import schema
from storyalign.llm.replies import UnparsedReply, final_answer, json_objects
from storyalign.llm.score_replies import score_value
from storyalign.records import DIMENSIONS

SCORES = (*DIMENSIONS, "overall")
"""What a judge gives each story of a group, from 1 to 10."""


def ratings_schema(names: Sequence[str]) -> dict[str, object]:
    """Make the response format for ratings of stories under these names.

    Bounds and lengths are left to ``parse_ratings``: some endpoints refuse a strict schema that states them.
    """
    story = {
        "type": "object",
        "properties": {"story": {"type": "integer"}, **{name: {"type": "number"} for name in names}},
        "required": ["story", *names],
        "additionalProperties": False,
    }
    return schema("ratings", {"ratings": {"type": "array", "items": story}})


def parse_ratings(reply: str, names: Sequence[str], count: int) -> list[dict[str, float]]:
    """Read the scores of all stories, in the order in which they were shown.

    Args:
        reply: the whole reply.
        names: the scores that every story must have, each from 1 to 10.
        count: how many stories were shown.

    Raises:
        UnparsedReply: no JSON object of the form asked for, a story or score is missing, doubled or off the scale.
    """
    found: dict[int, dict[str, float]] = {}
    for entry in _entries(final_answer(reply)):
        if not isinstance(entry, Mapping):
            raise UnparsedReply("an entry of the ratings is no object")
        number = entry.get("story")
        if isinstance(number, str) and (digits := re.fullmatch(r"\s*(?:story\s*)?([0-9]{1,3})\s*", number, re.I)):
            number = int(digits[1])
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
            raise UnparsedReply(f"the ratings name story {ascii(number)[:20]}; there are {count}")
        if number in found:
            raise UnparsedReply(f"the ratings name story {number} twice")
        if missing := [name for name in names if name not in entry]:
            raise UnparsedReply(f"story {number} has no {missing[0]}")
        found[number] = {name: score_value(entry[name]) for name in names}
    if len(found) != count:
        raise UnparsedReply(f"ratings of {len(found)} stories; {count} were shown")
    return [found[number] for number in range(1, count + 1)]


def _entries(answer: str) -> list[object]:
    """Return the ratings of the answer's one JSON object."""
    stated = [value["ratings"] for value in json_objects(answer) if isinstance(value.get("ratings"), list)]
    if len(stated) != 1:
        raise UnparsedReply("the reply holds no ratings" if not stated else "the reply holds ratings that contradict")
    entries: list[object] = stated[0]
    return entries
