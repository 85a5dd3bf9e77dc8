"""The words of a chat model around its story: "Sure! Here is a story:" before it, "Let me know ..." behind it."""

from __future__ import annotations

import re

LONGEST = 300
"""A first or last paragraph with more characters is never taken for chat."""

_GREETING = re.compile(
    r"(?:(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|great|gladly|no problem)\b"
    r"|好的|当然(?:可以)?|没问题)[!！,，.。:： ]*",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"here(?: is|['’]s| are) |below is |i(?:['’]d| would) be (?:happy|glad|delighted) to|i['’]?(?: ha)?ve written"
    r"|this is (?:a|the|your) story|以下是|下面是|这是(?:一|我|为|根据|您|你)",
    re.IGNORECASE,
)
_OFFER_LATER = re.compile(rf"[.!?！。] ?(?:{_OFFER.pattern})", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:story|tale|narrative|version|draft|piece|fiction|prompt|request|continuation|chapter|you)\b"
    r"|故事|小说|版本|要求|构思",
    re.IGNORECASE,
)
_GOODBYE = re.compile(
    r"let me know (?:if|what|how)|i hope (?:you|this)|feel free to|would you like me to|do you want me to"
    r"|希望(?:你|您)(?:喜欢|满意)|如果(?:你|您)(?:需要|想|有)",
    re.IGNORECASE,
)
_REPLY_OPENING = re.compile(
    rf"(?:{_GREETING.pattern})(?:(?:here\b|i(?:['’]ll|['’]d| will| would)\b).*)?"
    r"|here(?:['’]s| is) (?:a|an|my|the|your)(?: [\w-]+){0,3}"
    r" (?:story|version|rewrite|continuation|text|passage|premise)[.!]",
    re.IGNORECASE,
)
_LINE = re.compile(r"(?:\*{3,}|-{3,}|_{3,}|(?:\* ){2,}\*)")


def without_chat(text: str, *, is_reply: bool = False) -> str:
    """Leave out a first and a last paragraph that speak of the story instead of telling it.

    Args:
        text: a story, or a reply that holds one.
        is_reply: the text came from a model just now, so a first line "Sure!" or "Here is your story." is chat too.

    >>> without_chat("Sure! Here is a story about the sea:\\n\\nThe sea was calm.")
    'The sea was calm.'
    """
    paragraphs = text.split("\n")
    first = paragraphs[0].strip()
    opening = _is_opening(first) or (is_reply and len(first) <= LONGEST and _REPLY_OPENING.fullmatch(first) is not None)
    last = paragraphs[-1].strip()
    closing = len(paragraphs) > 1 + opening and len(last) <= LONGEST and _GOODBYE.match(last) is not None
    if not opening and not closing:
        return text
    rest = paragraphs[opening : len(paragraphs) - closing]
    while rest and _is_gap(rest[0], opening):
        del rest[0]
    while rest and _is_gap(rest[-1], closing):
        del rest[-1]
    # Where nothing but the chat is there, it stays: the row is dropped for what it is, not for being empty.
    return "\n".join(rest) or text


def _is_gap(paragraph: str, beside_chat: bool) -> bool:
    return not paragraph.strip() or (beside_chat and _LINE.fullmatch(paragraph.strip()) is not None)


def _is_opening(line: str) -> bool:
    if not line or len(line) > LONGEST:
        return False
    greeting = _GREETING.match(line)
    offer = _OFFER.match(line[greeting.end() :] if greeting else line) is not None
    about, colon = _ABOUT.search(line) is not None, line.endswith((":", "："))
    if greeting and offer:
        return about or colon
    # Without a greeting one of its sentences must offer the story: "What a prompt! Here's a story based on it:"
    return colon and about and (greeting is not None or offer or _OFFER_LATER.search(line) is not None)
