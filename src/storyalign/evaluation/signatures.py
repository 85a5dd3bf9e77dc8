"""What a figure was made from, in one line: data and kit, or a scorer's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storyalign._version import __version__
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.evaluation.scored_sets import ScoredSet


def data_signature(data: EvaluationSet, **rules: str) -> str:
    """Name the data, the rules of the figure and the kit."""
    facts = {"data": data.name, "digest": data.digest, "n": len(data.instances)}
    return one_line({**facts, **rules, "storyalign": __version__})


def scorer_signature(scored: ScoredSet) -> str:
    """Name a scorer and its settings."""
    return one_line({"scorer": scored.name, **scored.settings, "digest": scored.digest})


def one_line(parts: Mapping[str, Any]) -> str:
    """Write settings in one line; digests by their first 12 digits, what is not set left out.

    >>> one_line({"model": "m", "revision": None, "n": 3})
    'model=m|n=3'
    """
    return "|".join(f"{key}={_short(value)}" for key, value in parts.items() if value not in (None, ""))


def _short(value: Any) -> str:
    text = str(value)
    is_digest = len(text) >= 32 and all(c in "0123456789abcdef" for c in text)
    return text[:12] if is_digest else text
