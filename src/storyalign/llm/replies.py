"""What all replies go through before a value is read: reasoning off, then JSON or lines that are an answer as a whole.

Free sentences are never searched for a value. Text that declines or hedges makes the whole reply unread, whatever else
it states: unsure is unread.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any


class UnparsedReply(ValueError):
    """The reply states no value, or more than one, or one that cannot be meant."""


_TAG = r"(?:think|thinking|thought|reasoning|reflection)"
_OPEN, _SHUT = r"[<\[◁]", r"[>\]▷]"
_THOUGHT = re.compile(rf"{_OPEN}({_TAG}){_SHUT}.*?{_OPEN}/\1{_SHUT}", re.S | re.I)
_THOUGHT_END = re.compile(rf"^.*{_OPEN}/{_TAG}{_SHUT}", re.S | re.I)
_THOUGHT_OPEN = re.compile(rf"{_OPEN}{_TAG}{_SHUT}", re.I)

_OBJECT_START = re.compile(r"^[ \t`\u200b\ufeff]*(?:json)?[ \t]*(?=\{)", re.M)
_OBJECT_END = re.compile(r"[ \t`.,]*(?:\n|\Z)")

_FENCE = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)\n?```", re.S)
_PLAIN_FENCES = ("", "text", "txt", "markdown", "md")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x2212: "-", 0x2019: "'"}
_EMPHASIS = re.compile(r"[*_`]+")
_LINE_MARK = re.compile(r"^(?:#{1,6}|>|[-•])\s+(?!\d)")
_DECLINES = re.compile(
    r"\b(?:I|we)\b[^.!?\n]{0,60}?(?:n't\b|\b(?:not|never|cannot|unable|unsure|refuse|decline|hesitate|hardly)\b)"
    r"|\b(?:sorry|unsure|uncertain|as an AI)\b"
    r"|\b(?:hard|difficult|impossible) to (?:say|score|rate|judge|tell|decide|choose)"
    r"|抱歉|对不起|不确定|无法(?:给|评|打|选|判|提供)|我[^。！？!?\n]{0,12}(?:不|无法|没法)",
    re.I,
)


def without_reasoning(reply: str) -> str:
    """Return the reply without its reasoning; the opening tag may be missing, as some chat templates swallow it.

    Raises:
        UnparsedReply: the reply ends inside its reasoning.
    """
    text = _THOUGHT_END.sub("", _THOUGHT.sub("", reply)) if "/" in reply else reply
    if _THOUGHT_OPEN.search(text):
        raise UnparsedReply("the reply ends inside its reasoning")
    return text


def final_answer(reply: str) -> str:
    """Return what stands after the reasoning, otherwise unchanged.

    Raises:
        UnparsedReply: nothing is left, or the reply ends inside its reasoning.
    """
    text = without_reasoning(reply).strip()
    if not text.strip("\u200b\ufeff"):
        raise UnparsedReply("the reply is empty")
    return text


def json_objects(answer: str) -> list[dict[str, Any]]:
    """Return the answer's JSON objects, each on lines of its own; keys are in lower case, equal objects stand once.

    Raises:
        UnparsedReply: the text beside them declines or hedges, or an object states a key twice.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_lowered, parse_constant=lambda name: name)
    found: list[dict[str, Any]] = []
    beside, position = [], 0
    while start := _OBJECT_START.search(answer, position):
        try:
            value, end = decoder.raw_decode(answer, start.end())
        except RecursionError:
            raise UnparsedReply("the reply holds JSON that is nested too deep") from None
        except UnparsedReply:
            raise
        except ValueError:
            end = start.end() + 1
            beside.append(answer[position:end])
        else:
            beside.append(answer[position : start.start()])
            if _OBJECT_END.match(answer, end) and value not in found:
                found.append(value)
        position = end
    beside.append(answer[position:])
    if found and _DECLINES.search(" ".join(beside).translate(_WIDE)):
        raise UnparsedReply("the reply declines or hedges")
    return found


def json_field(answer: str, keys: Iterable[str]) -> object | None:
    """Return the value of the first of the keys in the answer's JSON object; None where there is no such object.

    Raises:
        UnparsedReply: the answer starts as an object and never becomes one, holds values that differ, or hedges.
    """
    wanted = tuple(keys)
    stated: list[object] = []
    for value in json_objects(answer):
        key = next((key for key in wanted if key in value), None)
        if key is not None and value[key] not in stated:
            stated.append(value[key])
    if len(stated) > 1:
        raise UnparsedReply("the reply holds JSON objects that contradict each other")
    if stated:
        return stated[0]
    if answer.startswith("{"):
        raise UnparsedReply("the reply is no whole JSON object with the field asked for")
    return None


def stated_in_lines(answer: str, alone: re.Pattern[str], labelled: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the lines that are an answer as a whole; a line that runs on from or into a neighbour is none.

    Args:
        answer: the text after the reasoning.
        alone: what a first or last line must be.
        labelled: what any line may be.

    Raises:
        UnparsedReply: the text declines or hedges, or holds nothing but program code.
    """
    text = _FENCE.sub(lambda m: m[2] if m[1].lower() in _PLAIN_FENCES else "", answer).translate(_WIDE)
    text = "".join(c for c in text if unicodedata.category(c) != "Cf").strip()
    if "```" in text or not text:
        raise UnparsedReply("the reply holds nothing but program code")
    if _DECLINES.search(text):
        raise UnparsedReply("the reply declines or hedges")
    text = re.sub(r":[*_ \t]*\n\s*", ": ", text)  # a line that ends in a colon and the next are one
    lines = [_LINE_MARK.sub("", _EMPHASIS.sub(" ", line).strip()).strip() for line in text.splitlines()]
    found = []
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        after = lines[number + 1] if number + 1 < len(lines) else ""
        runs_on = after[:1].isalpha() and not after[:1].isupper() and line[-1:] not in (".", "!", "。")
        if before[-1:].isalpha() or before[-1:] in (",", ";", "-") or runs_on:
            continue
        match = labelled.fullmatch(line) or (alone.fullmatch(line) if number in (0, len(lines) - 1) else None)
        if match:
            found.append(match)
    return found


def _lowered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        name = key.strip().lower()
        if name in found and found[name] != value:
            raise UnparsedReply(f"the reply states {key[:20]!r} twice")
        found[name] = value
    return found
