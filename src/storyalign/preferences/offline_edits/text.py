"""A story as paragraphs and units that offline edits move or replace, and the banks of phrases they insert.

A unit is one sentence, or several where a quotation spans them, so units can be moved or replaced and quotation marks
stay balanced.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources

from storyalign import text as plain_text


@dataclass(frozen=True, slots=True)
class Tale:
    """A premise and a story written for it."""

    premise: str
    story: str
    language: str = "en"
    """``zh`` is edited by Chinese rules, every other language by English ones."""
    theme: str | None = None


Operator = Callable[[Tale, Sequence[Tale], random.Random], str | None]
"""An edit: (tale, donors, rng) -> the edited story, or None where the edit does not apply."""

_ENDS = ".!?…。！？"
_CLOSERS = '"”’」』)）'
_ABBREVIATIONS = {"mr", "mrs", "ms", "dr", "st", "prof", "rev", "no", "vs"}
_TAG = re.compile(r"\s+(?:[^\W\d_][\w'-]*\s+){1,3}?(?:said|asked|cried|called|answered|says|asks|replied|shouted)\b")


@cache
def bank(name: str, language: str) -> tuple[str, ...]:
    """Return the lines of ``banks/<language>/<name>.txt``: ready-made sentences, or lists of words (``en``, ``zh``)."""
    file = resources.files("storyalign.preferences.offline_edits") / "banks" / language / f"{name}.txt"
    return tuple(line for line in file.read_text(encoding="utf-8").splitlines() if line)


@cache
def bank_words(name: str, language: str) -> frozenset[str]:
    """Return the words of a bank, split at white space."""
    return frozenset(word for line in bank(name, language) for word in line.split())


@lru_cache(maxsize=65536)
def count_words(text: str) -> int:
    """Count words as ``storyalign.text.count_words`` does; cached."""
    return plain_text.count_words(text)


def is_chinese(tale: Tale) -> bool:
    """Return whether a tale is edited by Chinese rules."""
    return tale.language.split("-")[0] == "zh"


def split_units(paragraph: str) -> list[str]:
    """Split a paragraph into sentences that never end inside a quotation.

    >>> split_units('"Wait. Stay," she said. He did.')
    ['"Wait. Stay," she said.', 'He did.']
    >>> split_units("他说：“走。快走！”她没动。")
    ['他说：“走。快走！”', '她没动。']
    """
    units, start, open_quotes, straight = [], 0, 0, False
    i = 0
    while i < len(paragraph):
        c = paragraph[i]
        straight ^= c == '"'
        open_quotes += (c in "“「『") - (c in "”」』")
        i += 1
        if c not in _ENDS:
            continue
        while i < len(paragraph) and paragraph[i] in _ENDS + _CLOSERS:
            straight ^= paragraph[i] == '"'
            open_quotes -= paragraph[i] in "”」』"
            i += 1
        if not straight and open_quotes <= 0 and _ends_here(paragraph, start, i):
            units.append(paragraph[start:i].strip())
            start, open_quotes = i, 0
    if rest := paragraph[start:].strip():
        units.append(rest)
    return units


def _ends_here(text: str, start: int, end: int) -> bool:
    rest = text[end:]
    if not rest.strip():
        return True
    last = text[start:end].rstrip(_CLOSERS)[-1]
    if last in "。！？":
        return True
    if not rest[0].isspace() or rest.lstrip()[0].islower():
        return False
    if last in "!?" and text[end - 1] in _CLOSERS and _TAG.match(rest):
        return False  # "Who?" Anna asked.
    word = re.split(r"[\s\"“(]", text[start : end - 1])[-1].lower()
    return not (last == "." and (word in _ABBREVIATIONS or (len(word) == 1 and word != "i")))


@dataclass(frozen=True, slots=True)
class Draft:
    """A story as paragraphs of units."""

    paragraphs: tuple[tuple[str, ...], ...]
    glue: str
    """Separates two units: a space in English, nothing in Chinese."""
    gap: str
    """Separates two paragraphs."""

    @classmethod
    @lru_cache(maxsize=4096)
    def of(cls, tale: Tale) -> Draft:
        """Split a story into paragraphs and units."""
        gap = "\n\n" if re.search(r"\n\s*\n", tale.story) or "\n" not in tale.story else "\n"
        parts = [p for p in re.split(r"\n\s*\n" if gap == "\n\n" else "\n", tale.story) if p.strip()]
        glue = "" if is_chinese(tale) else " "
        return cls(tuple(tuple(split_units(" ".join(p.split()) if glue else p.strip())) for p in parts), glue, gap)

    @property
    def units(self) -> list[str]:
        """All units in order."""
        return [unit for paragraph in self.paragraphs for unit in paragraph]

    def words(self, start: int, stop: int) -> int:
        """Return the number of words in the units ``start`` to ``stop`` (exclusive)."""
        return sum(count_words(u) for u in self.units[start:stop])

    def with_units(self, units: Sequence[str]) -> str | None:
        """Distribute other units over the same number of paragraphs, each with about its old share of the words.

        Returns:
            The text, or None if there are fewer units than paragraphs.
        """
        sizes = [len(p) for p in self.paragraphs]
        if len(units) < len(sizes):
            return None
        if len(units) != sum(sizes):
            sizes = _shares(units, [sum(map(count_words, p)) for p in self.paragraphs])
        paragraphs, start = [], 0
        for size in sizes:
            paragraphs.append(self.glue.join(units[start : start + size]))
            start += size
        return self.gap.join(paragraphs)


def _shares(units: Sequence[str], old: Sequence[int]) -> list[int]:
    """Return the sizes of consecutive runs of units, one per old paragraph, cut at the old relative places."""
    lengths = [count_words(u) for u in units]
    total, before = sum(lengths) or 1, sum(old) or 1
    sizes, start, reached, goal = [], 0, 0, 0.0
    for k, share in enumerate(old):
        goal += share / before * total
        left = len(old) - k - 1
        size = 0
        while start + size < len(units) - left and (
            size == 0 or left == 0 or reached + lengths[start + size] / 2 < goal
        ):
            reached += lengths[start + size]
            size += 1
        sizes.append(size)
        start += size
    return sizes


def substitute(pattern: str, text: str, replace: Callable[[re.Match[str]], str]) -> tuple[str, int]:
    """Replace matches; return the text and how many of them changed."""
    changed = 0

    def counted(match: re.Match[str]) -> str:
        nonlocal changed
        new = replace(match)
        changed += new != match[0]
        return new

    return re.sub(pattern, counted, text), changed


def outside_quotes(text: str) -> str:
    """Return the narration alone: each quotation is replaced by a space."""
    return re.sub(r"\"[^\"]*\"|“[^”]*”|「[^」]*」", " ", text)


def is_dialogue(unit: str) -> bool:
    """Return whether a unit contains a quotation mark."""
    return any(c in unit for c in '"“”「」')


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case.

    >>> capitalize('"so what?" he said.')
    '"So what?" he said.'
    """
    match = re.match(r"[\"“(']*", text)
    start = match.end() if match else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def decapitalize(text: str, keep: Sequence[str] = ()) -> str:
    """Return the text with a lower-case first letter, unless the first word is ``I``, in ``keep`` or an acronym."""
    first = re.match(r"[^\W\d_]+", text)
    if not first or first[0] in {"I", *keep} or (len(first[0]) > 1 and first[0].isupper()):
        return text
    return text[:1].lower() + text[1:]
