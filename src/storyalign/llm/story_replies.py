"""Reading a story out of a reply: reasoning and wrapping come off; what is no story is refused with a reason."""

from __future__ import annotations

import re

from storyalign.llm.chat_words import without_chat
from storyalign.llm.replies import UnparsedReply, without_reasoning
from storyalign.not_stories import REFUSAL, not_a_story
from storyalign.text import count_words

_FENCE = re.compile(r"^```[\w-]*\n(.*?)\n?```$", re.S)


def read_story(reply: str, *, min_words: int = 1, max_words: int | None = None) -> str:
    """Return the story in a writer's reply, the prose itself unchanged.

    Args:
        reply: the whole reply.
        min_words: shorter ones are stubs.
        max_words: longer ones are not what was asked for; None sets no bound.

    Raises:
        UnparsedReply: the reply is empty, only reasoning, a refusal or another notice, too short or too long.

    >>> read_story("Sure! Here is your story:\\n\\nThe sea was calm.")
    'The sea was calm.'
    """
    text = without_reasoning(reply).strip()
    if whole := _FENCE.match(text):
        text = whole[1].strip()
    text = without_chat(text, is_reply=True).strip()
    words = count_words(text)
    if not words:
        raise UnparsedReply("the reply holds no story")
    if reason := not_a_story(text):
        raise UnparsedReply("the writer refused" if reason == REFUSAL else f"the reply is {reason}")
    if words < min_words:
        raise UnparsedReply(f"fewer than {min_words} words")
    if max_words is not None and words > max_words:
        raise UnparsedReply(f"more than {max_words} words")
    return text
