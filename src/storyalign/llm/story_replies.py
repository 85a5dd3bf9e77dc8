"""Reading a story out of a reply: reasoning and wrapping come off, refusals and stubs are dropped with a reason."""

from __future__ import annotations

import re

from storyalign.llm.replies import UnparsedReply
from storyalign.text import count_words

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning|reflection)>.*?</\1>", re.S | re.I)
_THOUGHTS_END = re.compile(r"^.*?</(?:think|thinking|thought|reasoning|reflection)>", re.S | re.I)
_THOUGHTS_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning|reflection)>", re.I)
_FENCE = re.compile(r"^```[\w-]*\n(.*?)\n?```$", re.S)
_THING = r"(?:story|premise|version|rewrite|rewriting|continuation|text|passage)"
_HERE = rf"here(?:['’]s| is) (?:a|an|my|the|your)(?: [\w-]+){{0,3}} {_THING}"
_YES = r"(?:sure|certainly|of course|absolutely|okay|ok)\b[!,.:]*[ \t]*"
_WILL = r"(?:here\b|i(?:['’]ll|['’]d| will| would)\b)[^\n]*"
_FOR = r"\b[^\n]*\b(?:premise|prompt|idea|request|words)\b[^\n]*"
_LINE = r"(?:(?:-{3,}|\*{3,})\s*\n+)?"
_REMARK = re.compile(rf"^(?:{_YES}(?:{_WILL})?|{_HERE}[.:!]|{_HERE}{_FOR})[ \t]*\n+{_LINE}", re.I)
"""A chat model's opening line, with the line drawn under it; a story that begins "Sure enough, ..." keeps it."""

_REFUSAL = re.compile(
    r"^(?:(?:i['’]?m|i am) (?:really |very |so )?sorry\b|sorry\b|as an ai\b|unfortunately,? i\b"
    r"|i (?:cannot|can['’]?t|can not|won['’]?t|am unable)\b|我无法|很抱歉|抱歉|对不起)",
    re.I,
)
_REFUSAL_WORDS = 120
"""A refusal is short; a story may begin with "I'm sorry" too."""


def read_story(reply: str, *, min_words: int = 1, max_words: int | None = None) -> str:
    """Give the story, the prose itself unchanged.

    Args:
        reply: the whole reply.
        min_words: shorter ones are stubs.
        max_words: longer ones are not what was asked for; None sets no bound.

    Raises:
        UnparsedReply: the reply is empty, only reasoning, a refusal, too short or too long.

    >>> read_story("Sure! Here is your story:\\n\\nThe sea was calm.")
    'The sea was calm.'
    """
    text = _THOUGHTS.sub("", reply)
    if "</" in text:
        text = _THOUGHTS_END.sub("", text)
    if _THOUGHTS_OPEN.search(text):
        raise UnparsedReply("the reply ends inside its reasoning")
    text = text.strip()
    if whole := _FENCE.match(text):
        text = whole[1].strip()
    text = _REMARK.sub("", text, count=1).strip()
    words = count_words(text)
    if not words:
        raise UnparsedReply("the reply holds no story")
    if _REFUSAL.match(text) and words <= _REFUSAL_WORDS:
        raise UnparsedReply("the writer refused")
    if words < min_words:
        raise UnparsedReply(f"fewer than {min_words} words")
    if max_words is not None and words > max_words:
        raise UnparsedReply(f"more than {max_words} words")
    return text
