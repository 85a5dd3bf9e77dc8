"""How many tokens conversations have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from storyalign.errors import MissingExtraError, ModelError

TokenCounter = Callable[[Sequence[tuple[str, str]]], list[int]]
"""(premise, story) pairs -> tokens of each whole conversation: template, premise and story."""


def token_counter(name: str) -> TokenCounter:
    """Count with a tokenizer.

    Args:
        name: a folder or Hub id.

    Raises:
        ModelError: it cannot be loaded.
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("train", "transformers") from error

    from storyalign.models.chat import render_many

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: no tokenizer can be loaded ({' '.join(str(error).split())[:200]})") from error
    return lambda pairs: [len(conversation) for conversation in render_many(tokenizer, pairs)]
