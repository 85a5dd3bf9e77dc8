"""What all replies go through before a value is read: reasoning off, JSON first, then words. Nothing is ever run."""

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
_FENCE = re.compile(r"```([\w+-]*)[ \t]*\n(.*?)(?:\n)?```", re.S)
_OBJECT = re.compile(r"\{[^{}]*\}")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1")
_TICKS = re.compile(r"`([^`\n]+)`")
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}|>|[-*•](?![ \t]+\d))[ \t]+", re.M)
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import|return\b|print\s*\(|lambda\b|(?:for|while|if) .+:\s*$|#!)"
    r"|__\w+__|\w\([^()\n]*\)\s*(?:;|$)|\beval\b|\bexec\b|\w\s*=\s*\w+[.(]|\d\s+if\b.*\belse\b",
    re.M,
)


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


def json_field(answer: str, keys: Iterable[str]) -> object | None:
    """Find the value of the first of the keys in the answer's JSON object; None where there is no such object.

    Raises:
        UnparsedReply: the answer starts as an object and never becomes one, or holds values that differ.
    """
    fences = [body for language, body in _FENCE.findall(answer) if language.lower() in ("", "json")]
    sources = [answer, *fences] + [m[0] for source in (answer, *fences) for m in _OBJECT.finditer(source)]
    stated: list[object] = []
    for source in sources:
        try:
            value = json.loads(source, parse_constant=lambda name: name)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            lowered = {str(k).strip().lower(): v for k, v in value.items()}
            key = next((k for k in keys if k in lowered), None)
            if key is not None and lowered[key] not in stated:
                stated.append(lowered[key])
    if len(stated) > 1:
        raise UnparsedReply("the reply holds JSON objects that contradict each other")
    if stated:
        return stated[0]
    if answer.startswith("{"):
        raise UnparsedReply("the reply is no whole JSON object with the field asked for")
    return None


def plain_words(answer: str) -> str:
    """Give the plain words: a lone fence is opened, other fences, emphasis and list marks go.

    Raises:
        UnparsedReply: nothing is left, or the words are program code.
    """
    if (whole := _FENCE.fullmatch(answer)) and whole[1].lower() in ("", "text", "txt", "markdown", "md"):
        answer = whole[2].strip()
    words = _LINE_MARK.sub("", _EMPHASIS.sub(r"\2", _TICKS.sub(r"\1", _FENCE.sub("", answer)))).strip()
    if not words:
        raise UnparsedReply("the reply holds nothing but program code" if "```" in answer else "the reply is empty")
    if _CODE.search(words):
        raise UnparsedReply("the reply is program code")
    return words
