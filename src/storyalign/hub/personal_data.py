"""Find obvious personal data in stories and cards: mail addresses, telephone numbers, links to people's profiles.

The scan is a help for the person who releases, not a proof: names in a text are not found, and a number in a story may
be the writer's invention. So it lists, and asks for a look; it changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from storyalign.errors import DataError
from storyalign.hub.parquet_texts import search_texts
from storyalign.hub.payload import Payload

RULES = {
    "mail address": r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b",
    "telephone number": (
        r"\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){2,3}\b"  # +44 20 7946 0958
        r"|\(\d{3}\) ?\d{3}[ .-]\d{4}\b"  # (555) 123-4567
        r"|\b\d{3}[.-]\d{3}[.-]\d{4}\b"  # 555-123-4567
        r"|\b1[3-9]\d{9}\b"  # mainland China, mobile
    ),
    "link to a profile": (
        r"(?i)\b(?:(?:www\.|old\.)?reddit\.com/u(?:ser)?/|(?:twitter|x|facebook|instagram|tiktok|weibo|linkedin)\.com/(?:in/|u/)?"
        r"|douban\.com/people/|zhihu\.com/people/|github\.com/|t\.me/)@?[A-Za-z0-9._-]{2,}"
    ),
    "user handle": r"(?:\s|^|\()/?u/[A-Za-z0-9_-]{3,20}\b",
}
"""Kinds of personal data and their patterns, in RE2's syntax."""

_CARD_RULES = ("telephone number", "user handle")
"""What is looked for in cards; contact addresses and links stand there on purpose."""


class Finding(NamedTuple):
    """One place with what looks like personal data."""

    place: str
    kind: str
    excerpt: str


def find_personal_data(payload: Payload) -> Iterator[Finding]:
    """Go through all texts of Parquet files, and through cards and notes."""
    # ASCII: a word ends where Chinese begins, as in RE2.
    compiled = {kind: re.compile(pattern, re.ASCII) for kind, pattern in RULES.items()}
    for path, source in payload.files.items():
        if path.endswith(".parquet") and not isinstance(source, bytes):
            for kind, pattern in RULES.items():
                for text in search_texts(source, pattern):
                    for match in compiled[kind].finditer(text.text):
                        yield Finding(f"{path}, row {text.row_id}, {text.column}", kind, match.group().strip())
        elif path.endswith(".md") or (path.endswith(".txt") and payload.kind != "model"):  # vocabularies are no notes
            text_of_card = payload.text(path)
            for kind in _CARD_RULES:
                for match in compiled[kind].finditer(text_of_card):
                    line = text_of_card.count("\n", 0, match.start()) + 1
                    yield Finding(f"{path}:{line}", kind, match.group().strip())


def require_review(payload: Payload, findings: list[Finding]) -> None:
    """Stop where something was found that nobody has looked at.

    Raises:
        DataError: says how many findings there are and how to go on.
    """
    if findings:
        raise DataError(
            f"{payload.folder}: {len(findings)} places look like personal data (listed above); remove it, or, if it is "
            "harmless, run again with --personal-data-reviewed"
        )
