"""Named rules that turn the texts of public story files into plain paragraphs; each counts the texts it changed.

A rule keeps what the text says. It mends how it is written down: encodings, marks that stand for line breaks, spaces
that a tokeniser put in, and the words of a chat model around its story.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from storyalign.corpus.treebank_spacing import without_treebank_spacing
from storyalign.llm.chat_words import without_chat


class Rule(NamedTuple):
    """One rule."""

    name: str
    apply: Callable[[str], str]


def normalise(text: str, counts: Counter[str] | None = None) -> str:
    r"""Apply all rules in their order.

    Args:
        text: one premise, title or story.
        counts: gets one more for each rule that changed the text.

    >>> normalise("Sure! Here is a story:\r\n\r\nIt was n't late .<newline>``Go , '' I said .")
    'It wasn’t late.\n“Go,” I said.'
    """
    for rule in RULES:
        changed = rule.apply(text)
        if changed != text:
            text = changed
            if counts is not None:
                counts[rule.name] += 1
    return text


_ENTITY = re.compile(r"&(?:[a-zA-Z][a-zA-Z0-9]{1,30}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def _entities(text: str) -> str:
    # Twice: exports of web pages are often escaped twice, as in "&amp;nbsp;" and "&amp;#x200B;".
    for _ in range(2):
        if "&" not in text or not _ENTITY.search(text):
            break
        text = _ENTITY.sub(lambda match: html.unescape(match.group()), text)
    return text


_RARE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u2000-\u200f\u2028-\u202f\u205f-\u2069\ufeff]")
"""Everything that five of the rules look for. Most texts hold none of it, and one search is cheaper than five."""


@lru_cache(maxsize=1)
def _holds_rare(text: str) -> bool:
    """Search a text once for all rules; none of them changes most texts."""
    return _RARE.search(text) is not None


_BREAKS = dict.fromkeys([0x0B, 0x0C, 0x85, 0x2028, 0x2029], "\n")


def _line_ends(text: str) -> str:
    if not _holds_rare(text):
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_BREAKS)


_LINE_TOKEN = re.compile(
    r"[ \t]*(?:<\s*/?\s*newline\s*/?\s*>|\[\s*newline\s*\]|<\|\s*newline\s*\|>|<\s*/?\s*(?:br|p)\s*/?\s*>)[ \t]*",
    re.IGNORECASE,
)

_BACKSLASH_NEWLINE = re.compile(r"[ \t]*(?<![\w:\\])(?:\\newline(?![a-z])[ \t]*)+")
r"""The token ``\newline`` that some sets write for a paragraph; not the folder in ``C:\newline``."""

_PATH_OR_OTHER = re.compile(r"\b[A-Za-z]:\\|\\(?![nrt\"'\\/]|u[0-9a-fA-F]{4})")
r"""A drive, or a backslash that no serialiser writes: the backslashes of such a text are its own."""


def _line_tokens(text: str) -> str:
    if "<" in text or "[" in text:
        text = _LINE_TOKEN.sub("\n", text)
    if "\\newline" in text:
        text = _BACKSLASH_NEWLINE.sub(lambda match: "\n" * match[0].count("\\newline"), text)
    return text.replace("\\r\\n", "\n").replace("\\n", "\n") if _is_escaped(text) else text


def _is_escaped(text: str) -> bool:
    r"""Return whether the line ends of a text are written out, as by a program that escaped it twice.

    The text as a whole must show it: it has no line break of its own, at least two ``\n``, no other backslash than
    escapes have, no drive letter, and either an empty line (``\n\n``) or no ``\n`` that a small letter continues, as it
    does in ``\new\notes``.
    """
    if "\n" in text or text.count("\\n") < 2 or _PATH_OR_OTHER.search(text):
        return False
    return "\\n\\n" in text or not re.search(r"\\n[a-z]", text)


_MOJIBAKE = ("Ã", "Â", "â€", "ï¼", "ã€")
"""What quotation marks, accents and Chinese punctuation become when UTF-8 is read as cp1252."""


_C1 = re.compile("[\x80-\x9f]")
"""Control characters that no text has: what quotation marks become when cp1252 is read as Latin-1."""


def _mojibake(text: str) -> str:
    if text.isascii() or not (any(sign in text for sign in _MOJIBAKE) or (_holds_rare(text) and _C1.search(text))):
        return text
    from ftfy import fix_encoding

    return fix_encoding(text)


_INVISIBLE = "\u200b\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Without the joiners U+200C and U+200D: several scripts and emoji are written with them."""

_NO_INVISIBLE = dict.fromkeys(map(ord, _INVISIBLE))
_NO_CONTROL = dict.fromkeys([*range(0x09), *range(0x0E, 0x20), *range(0x7F, 0xA0)])
_ODD_SPACES = dict.fromkeys([0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F], " ")


def _invisible(text: str) -> str:
    return text.translate(_NO_INVISIBLE) if _holds_rare(text) else text


def _control(text: str) -> str:
    return text.translate(_NO_CONTROL) if _holds_rare(text) else text


def _spaces(text: str) -> str:
    if _holds_rare(text):
        text = text.translate(_ODD_SPACES)
    text = text.replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    text = "\n".join(line.strip(" \u3000") for line in text.split("\n"))
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip("\n")


RULES: tuple[Rule, ...] = (
    Rule("mojibake", _mojibake),
    Rule("HTML entities", _entities),
    Rule("line ends", _line_ends),  # after the entities, as "&#13;" is one
    Rule("newline tokens", _line_tokens),
    Rule("invisible characters", _invisible),
    Rule("control characters", _control),
    Rule("white space", _spaces),
    Rule("Penn Treebank spacing", without_treebank_spacing),
    Rule("chat around the story", without_chat),
)
"""In the order in which they are applied: later ones rely on what earlier ones mended."""
