"""Reading replies by structure: JSON objects on lines of their own, and lines that are nothing but an answer.

No value is read from a free sentence, since it may be negated, hedged or a range; unsure is ``UnparsedReply``.
Nothing in a reply is ever run.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable


class UnparsedReply(ValueError):
    """The reply states no value, or more than one, or one that cannot be meant."""


_THOUGHT_TAGS = r"(?:think|thinking|thought|reasoning|reflection)"
_THOUGHT = re.compile(rf"<({_THOUGHT_TAGS})>.*?</\1>", re.S | re.I)
_THOUGHT_END = re.compile(rf"^.*</{_THOUGHT_TAGS}>", re.S | re.I)
_THOUGHT_OPEN = re.compile(rf"<{_THOUGHT_TAGS}>", re.I)
_UNSURE = (
    r"(?:\b(?:no|not|never|nor|neither|or|unless|cannot|without|perhaps|maybe|might|could|would|if|example|e\.g|probably"
    r"|guess|hardly|sorry|unable|unsure|refuse|decline|between)\b"
    r"|n't\b|[不没未或若]|并非|绝非|无法|可能|也许|如果|例如)"
)
_JSON_START = re.compile(r"^([^\n{\[]*)(?=[{\[])", re.M)
_BEFORE_JSON = re.compile(rf"[ \t>*`]*(?:json)?[ \t`]*|(?!.*{_UNSURE}).*:[ \t*`]*", re.I)
_AFTER_JSON = re.compile(r"[ \t*`.;]*(?=\n|$)")
_FENCE = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)(?:\n)?```", re.S)
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1")
_TICKS = re.compile(r"`([^`\n]+)`")
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}|>|[-*•](?![ \t]+\d))[ \t]+", re.M)
_LONGEST_LINE = 120
"""A line with more characters is no bare answer."""

_TEN = r"(?:满分|out of|of|/|max\.?|maximum)\s*10(?:\.0)?\s*(?:分|points?)?"
_REMARK = rf"(?:\s*\((?:{_TEN}|(?![^()]*{_UNSURE})[^()\d]{{1,40}})\))?"
"""A short remark in brackets, without digits or doubts: ``(very good)``, ``（满分10分）``."""


def final_answer(reply: str) -> str:
    """Drop reasoning, invisible characters and width variants; what is left is the answer.

    Raises:
        UnparsedReply: nothing is left, or the reply ends inside its reasoning.
    """
    text = unicodedata.normalize("NFKC", reply)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf").replace("\u2212", "-")
    if "</" in text:
        text = _THOUGHT_END.sub("", _THOUGHT.sub("", text))  # some chat templates swallow the opening tag
    if _THOUGHT_OPEN.search(text):
        raise UnparsedReply("the reply ends inside its reasoning")
    text = text.strip()
    if not text:
        raise UnparsedReply("the reply is empty")
    return text


def json_values(answer: str) -> list[object]:
    """Find the objects and lists that stand on lines of their own, or close a line after a colon; keys in lower case.

    Raises:
        UnparsedReply: an object states one key twice.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    found: list[object] = []
    at = 0
    while start := _JSON_START.search(answer, at):
        at = start.end()
        try:
            value, end = decoder.raw_decode(answer, at)
        except UnparsedReply:
            raise
        except (ValueError, RecursionError):
            at = _next_line(answer, at)
            continue
        if _BEFORE_JSON.fullmatch(start[1]) and _AFTER_JSON.match(answer, end) and value not in found:
            found.append(value)
        at = _next_line(answer, end)
    return found


def _next_line(text: str, at: int) -> int:
    return len(text) if (end := text.find("\n", at)) < 0 else end + 1


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = {key.strip().lower(): value for key, value in pairs}
    if len(made) < len(pairs):
        raise UnparsedReply("a JSON object of the reply states one key twice")
    return made


def json_field(answer: str, keys: Iterable[str]) -> object | None:
    """Find the value of the first of the keys in the answer's JSON object; None where there is no such object.

    Raises:
        UnparsedReply: the answer starts as an object and never becomes one, or holds values that differ.
    """
    stated: list[object] = []
    for value in json_values(answer):
        if isinstance(value, dict) and (key := next((k for k in keys if k in value), None)) is not None:
            stated += [value[key]] if value[key] not in stated else []
    if len(stated) > 1:
        raise UnparsedReply("the reply holds JSON objects that contradict each other")
    if stated:
        return stated[0]
    if answer.startswith("{"):
        raise UnparsedReply("the reply is no whole JSON object with the field asked for")
    return None


class AnswerLine:
    """Finds lines that are nothing but an answer.

    Args:
        value: pattern of a value, its parts in groups.
        label: pattern of the words that may stand before it: ``Score: 8``.
        final: the same for labels that overrule all others: ``Final score: 8``.
    """

    def __init__(self, value: str, label: str, final: str):
        alone = rf"[\"'(\[<]*{value}[\"')\]>]*{_REMARK}[.!。]*"
        scale = r"\((?:out of\s*|/\s*|[01]\s*(?:-|–|to)\s*)?10\)"
        link = rf"\s*(?:{scale}\s*)?(?:(?:\bis\b|是|为)\s*:?|:)\s*"
        self._alone = re.compile(alone, re.I)
        self._labelled = re.compile(rf"(?:(?:my|the)\s+)?(?:{label}){link}{alone}", re.I)
        self._final = re.compile(rf"(?:(?:my|the)\s+)?(?:{final}){link}{alone}", re.I)

    def find(self, answer: str) -> list[re.Match[str]]:
        """Find the answers: under final labels, else under any label and in the first and the last line.

        Raises:
            UnparsedReply: the answer is nothing but program code.
        """
        if (whole := _FENCE.fullmatch(answer)) and whole[1].lower() in ("", "json", "text", "txt", "markdown", "md"):
            answer = whole[2]
        words = _LINE_MARK.sub("", _EMPHASIS.sub(r"\2", _TICKS.sub(r"\1", _FENCE.sub("", answer))))
        lines = [line.rstrip() for line in words.splitlines() if line.strip()]
        if not lines:
            raise UnparsedReply("the reply holds nothing but program code")
        # Markdown reads a line that is indented by four blanks as code.
        lines = [
            "" if len(line) > _LONGEST_LINE or line.startswith(("    ", "\t")) else line.lstrip() for line in lines
        ]
        if finals := [m for line in lines if (m := self._final.fullmatch(line))]:
            return finals
        labelled = [m for line in lines if (m := self._labelled.fullmatch(line))]
        return labelled + [m for line in (lines[0], lines[-1]) if (m := self._alone.fullmatch(line))]
