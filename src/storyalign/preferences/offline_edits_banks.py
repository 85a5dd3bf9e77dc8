"""The texts in ``phrases/<language>/`` that the offline edits read: ready-made sentences and lists of words."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def bank(name: str, language: str) -> tuple[str, ...]:
    """Read the lines of one file, ``en`` or ``zh``."""
    file = resources.files("storyalign.preferences") / "phrases" / language / f"{name}.txt"
    return tuple(line for line in file.read_text(encoding="utf-8").splitlines() if line)


@cache
def words(name: str, language: str) -> frozenset[str]:
    """Read the words of one file, parted by white space."""
    return frozenset(word for line in bank(name, language) for word in line.split())
