"""Texts that stand in the place of a story and are none: nothing, deleted comments, API errors, refusals."""

from __future__ import annotations

import re

NO_STORY = "no story"
DELETED = "deleted by its author or a moderator"
API_ERROR = "an API error stored as a story"
REFUSAL = "a model's refusal stored as a story"

LOOKED_AT = 200
LONGEST_ERROR = 2_000
"""Characters; a longer text is a story, even if it begins with the word error."""
LONGEST_REFUSAL = 800

_NOTHING = frozenset({"none", "null", "nan", "n/a", "-", "...", "[]", "{}", "undefined"})
_DELETED = frozenset(
    {"[deleted]", "[removed]", "[deleted by user]", "[ removed by reddit ]", "该内容已被删除", "内容已删除"}
)
_ERROR = re.compile(
    r"\{\s*['\"]?(?:error|detail|message)['\"]?\s*:"
    r"|error\s*(?:code)?\s*[:：]?\s*\d{3}\b|\[?error\]?\s*[:：]\s"
    r"|(?:openai|litellm|anthropic|httpx|requests|aiohttp)[.\w]*error"
    r"|(?:api|apiconnection|apistatus|ratelimit|timeout|badrequest|internalserver|connection|authentication|jsondecode)"
    r"\s?error\b"
    r"|traceback \(most recent call last\)"
    r"|http(?:/\d(?:\.\d)?)?\s*(?:error\s*)?[45]\d\d\b"
    r"|[45]\d\d (?:bad|too many|internal|service|gateway|forbidden|unauthorized|not found)"
    r"|<!doctype html|<html[\s>]|rate limit (?:reached|exceeded)|request timed out|(?:请求|调用)(?:失败|超时|错误)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"i['’]?m (?:very |really )?sorry,? but (?:i|as)\b"
    r"|i (?:can['’]?t|cannot|can not|am unable to|am not able to|won['’]?t)"
    r" (?:help|assist|write|create|continue|fulfil|comply|generate|provide)"
    r"|sorry,? (?:but )?i (?:can['’]?t|cannot)|as an ai(?: language)? model"
    r"|(?:很?抱歉|对不起)[，,]?(?:但)?我(?:无法|不能)|作为(?:一个|一名)?(?:ai|人工智能)",
    re.IGNORECASE,
)


def not_a_story(text: str) -> str | None:
    """Say why a text is no story; None where it is one.

    >>> not_a_story("Error code: 429 - rate limit exceeded")
    'an API error stored as a story'
    """
    bare = text.strip().lower() if len(text) <= LOOKED_AT else "long"
    if not bare or bare in _NOTHING:
        return NO_STORY
    if bare in _DELETED:
        return DELETED
    head = text[:LOOKED_AT].lstrip()
    if len(text) <= LONGEST_ERROR and _ERROR.match(head):
        return API_ERROR
    return REFUSAL if len(text) <= LONGEST_REFUSAL and _REFUSAL.match(head) else None
