"""The one model behind the Space: what it must offer, how it is loaded, and why it may be missing."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from storyalign.errors import ModelError, RecipeError, StoryAlignError


@dataclass(frozen=True, slots=True)
class Scored:
    """What a scorer said of one story."""

    reward: float | None
    """None where there is no reward; ``detail`` says why."""
    n_tokens: int | None = None
    """Tokens of premise and story before any cut; None where the scorer does not count."""
    truncated: bool = False
    detail: str | None = None


class StoryScorer(Protocol):
    """Anything that gives each story of a premise a reward.

    ``name``, ``digest`` and ``tokens`` (premise and stories -> tokens that are read of each) are optional attributes.
    """

    def __call__(self, premise: str, stories: Sequence[str]) -> Sequence[Any]:
        """Return one reward a story: a number, None, or an object with the fields of ``Scored``."""
        ...


class OneAtATime:
    """A scorer that many threads may call: the model works for one of them at a time."""

    def __init__(self, scorer: StoryScorer):
        self._scorer, self._lock = scorer, threading.Lock()
        self.name = shown_name(str(getattr(scorer, "name", "the model")))
        self.signature = str(getattr(scorer, "digest", ""))
        """Digest of everything that shapes a reward; empty where the scorer has none."""
        self.learned_from = str(getattr(scorer, "learned_from", ""))
        """What it learned from, in one sentence; empty where it does not say."""
        self._count = getattr(scorer, "tokens", None)
        self._pace: float | None = None
        """Seconds per token in the last request that the model answered."""

    def tokens(self, premise: str, stories: Sequence[str]) -> int:
        """Return how many tokens the model reads; a quarter of the characters where the scorer cannot count."""
        if self._count is not None:
            return sum(self._count(premise, stories))
        return sum(len(premise) + len(story) for story in stories) // 4

    def seconds(self, tokens: int) -> float | None:
        """Return about how long the model takes, judged by its last request; None before the first one."""
        return None if self._pace is None else self._pace * tokens

    def __call__(self, premise: str, stories: Sequence[str]) -> list[Scored]:
        """Score stories.

        Raises:
            ModelError: the scorer gave another number of rewards than it got stories.
        """
        tokens = self.tokens(premise, stories)
        with self._lock:
            begun = time.monotonic()
            rewards = list(self._scorer(premise, stories))
            self._pace = (time.monotonic() - begun) / max(tokens, 1)
        if len(rewards) != len(stories):
            raise ModelError(f"{self.name}: {len(rewards)} rewards for {len(stories)} stories; this scorer is broken")
        return [as_scored(reward) for reward in rewards]


def as_scored(reward: Any) -> Scored:
    """Read a scorer's answer: a number, None, or an object with ``reward`` (such as ``storyalign.records.Reward``).

    >>> as_scored(1.5).reward, as_scored(float("nan")).reward
    (1.5, None)
    """
    value = getattr(reward, "reward", reward)
    detail = getattr(reward, "detail", None)
    number = None if value is None else float(value)
    if number is not None and not math.isfinite(number):
        number, detail = None, "the model gave no finite number"
    if number is None and detail is None:
        status = getattr(reward, "status", "failed")
        detail = "longer than the model can read" if status == "too_long" else "the model gave no reward"
    n_tokens = getattr(reward, "n_tokens", None)
    return Scored(number, n_tokens, bool(getattr(reward, "truncated", False)), detail)


def shown_name(name: str) -> str:
    """Leave out where on the server's disk a model lies.

    >>> shown_name("/home/ada/runs/demo/model"), shown_name("owner/model")
    ('demo/model', 'owner/model')
    """
    return "/".join(Path(name).parts[-2:]) if Path(name).is_absolute() else name


def load_scorer(settings: Mapping[str, str]) -> tuple[StoryScorer | None, str]:
    """Load the model that the operator named, once, at the start.

    Stories that are longer than the model can read are scored by their beginning, and named.

    Args:
        settings: environment variables: ``STORYALIGN_MODEL`` (a local folder or a Hub id), ``STORYALIGN_REVISION``,
            ``STORYALIGN_MAX_LENGTH`` (tokens).

    Returns:
        The scorer and an empty text, or None and why there is none.

    Raises:
        RecipeError: ``STORYALIGN_MAX_LENGTH`` is no number.
    """
    model = settings.get("STORYALIGN_MODEL")
    if not model:
        return None, "The variable STORYALIGN_MODEL is not set."
    max_length = settings.get("STORYALIGN_MAX_LENGTH") or None
    if max_length is not None and not max_length.isdigit():
        raise RecipeError(f"STORYALIGN_MAX_LENGTH is {max_length!r}; give a number of tokens")
    try:
        from storyalign.scoring.reward_models import load_scorer as load
    except ImportError as error:
        return None, f"{error.name} is not installed. Run: pip install 'storyalign[train]'"
    try:
        scorer = load(
            model,
            revision=settings.get("STORYALIGN_REVISION") or None,
            max_length=int(max_length) if max_length else None,
            truncate="head",
        )
    except StoryAlignError as error:
        return None, str(error)
    return scorer, ""
