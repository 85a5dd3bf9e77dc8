"""How figures and names look where people read them: percent with one decimal, never a bare number."""

from __future__ import annotations

from collections.abc import Sequence

NO_FIGURE = "–"
"""Stands where no group is behind a figure."""


def percent(fraction: float | None) -> str:
    """Write a fraction as percent.

    >>> percent(0.61234), percent(None)
    ('61.2', '–')
    """
    return NO_FIGURE if fraction is None else f"{100 * fraction:.1f}"


def interval(ci: Sequence[float] | None) -> str:
    """Write an interval as percent.

    >>> interval([0.5, 0.7125])
    '50.0–71.2'
    """
    return NO_FIGURE if ci is None else f"{100 * ci[0]:.1f}–{100 * ci[1]:.1f}"


def points(ci: Sequence[float] | None) -> str:
    """Write the interval of a difference, which may lie below zero, in percentage points.

    >>> points([-0.031, 0.2])
    '-3.1 to +20.0'
    """
    return NO_FIGURE if ci is None else f"{100 * ci[0]:+.1f} to {100 * ci[1]:+.1f}"


def p_value(p: float) -> str:
    """Write a p-value.

    >>> p_value(0.0312), p_value(0.00002)
    ('0.031', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def markdown_row(cells: Sequence[str]) -> str:
    """Write one row of a Markdown table; a bar or a line break inside a cell ends no cell.

    >>> markdown_row(["a|b", "1"])
    '| a\\\\|b | 1 |'
    """
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def label(name: str) -> str:
    """Write a name as words.

    >>> label("most_bursty"), label("human_llm")
    ('most bursty', 'Human–LLM')
    """
    return _LABELS.get(name, name.replace("_", " "))


def shortened(words: str, most: int = 28) -> str:
    """Write a name where there is room for so many characters: a longer one loses its middle.

    >>> shortened("most bursty"), shortened("a-model-with-a-long-name [runs/b.jsonl]", 20)
    ('most bursty', 'a-model-w…s/b.jsonl]')
    """
    words = " ".join(words.split())
    return words if len(words) <= most else f"{words[: (most - 1) // 2]}…{words[-(most // 2) :]}"


def story_count(weight: float) -> str:
    """Write how many stories a figure rests on; a story of a tie counts as a part of one.

    >>> story_count(12345.0), story_count(27.1667)
    ('12,345', '27.17')
    """
    return f"{weight:,.2f}".rstrip("0").rstrip(".")


_LABELS = {"human_llm": "Human–LLM", "llm_llm": "LLM–LLM"}
