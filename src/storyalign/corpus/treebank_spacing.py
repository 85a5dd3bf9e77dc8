"""Texts whose words a Penn Treebank tokeniser parted: ``It was n't late , '' he said .``"""

from __future__ import annotations

import re

WORDS_PER_SIGN = 60
"""A text with fewer signs than one in so many words is left alone: a blank before a dot may be a slip."""

_SIGN = re.compile(r" n['’]t\b| ['’](?:s|re|ve|ll|d|m)\b|``| [,.](?=\s|$)", re.IGNORECASE)
_ANY = re.compile(r"``| ['’,.]| n['’]t")

_JOINTS = (
    (re.compile(r"(?<=\w) n['’]t\b", re.IGNORECASE), "n’t"),
    (re.compile(r"(?<=\w) ['’](s|re|ve|ll|d|m)\b", re.IGNORECASE), r"’\1"),
    (re.compile(r"\b(gon|wan|got) (na|ta)\b", re.IGNORECASE), r"\1\2"),
    (re.compile(r"\b(can) (not)\b", re.IGNORECASE), r"\1\2"),
    (re.compile(r"`` ?"), "“"),
    (re.compile(r" ?''"), "”"),
    (re.compile(r" ([.,;:!?…%)\]}”])"), r"\1"),
    (re.compile(r"([(\[{“]) "), r"\1"),
    (re.compile(r"-LRB- ?"), "("),
    (re.compile(r" ?-RRB-"), ")"),
)


def without_treebank_spacing(text: str) -> str:
    """Join what a tokeniser parted, where the text shows that one was at work.

    >>> without_treebank_spacing("It was n't late , he said .")
    'It wasn’t late, he said.'
    """
    if not _ANY.search(text):
        return text
    signs = sum(1 for _ in _SIGN.finditer(text))
    if not signs or signs * WORDS_PER_SIGN < text.count(" ") + 1:
        return text
    for pattern, joined in _JOINTS:
        text = pattern.sub(joined, text)
    return text
