"""What a visitor may hand in: how much, how many, of which kind. Everything beyond is refused with a message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from storyalign.errors import RecipeError, StoryAlignError
from storyalign.text import lone_surrogate


class InputRefused(StoryAlignError):
    """A visitor's input is missing, too long, too much or of the wrong kind; the message is shown as it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest inputs that the Space accepts. Lengths are in characters, files in bytes."""

    min_stories: int = 2
    max_stories: int = 16
    premise_chars: int = 8_000
    story_chars: int = 60_000
    """About 10,000 English words."""
    total_chars: int = 240_000
    tokens: int = 16_000
    """What the model reads in one request; about 35 seconds of a 0.6B model's time on two cores."""
    file_bytes: int = 1_000_000
    name_chars: int = 60
    body_bytes: int = 8_000_000
    """The largest HTTP request of any kind."""
    queue: int = 100
    """Requests that wait at most; the next one is told so."""
    sessions: int = 300
    """Visitors remembered at most, at about 0.2 MB each; a call of the API counts as one. The oldest is forgotten."""


DEFAULT_LIMITS = Limits()


def limits_of(settings: Mapping[str, str]) -> Limits:
    """Return the limits that the operator set.

    Args:
        settings: environment variables: ``STORYALIGN_REQUEST_TOKENS``.

    Raises:
        RecipeError: the value is not a whole number above 0.
    """
    tokens = settings.get("STORYALIGN_REQUEST_TOKENS") or str(DEFAULT_LIMITS.tokens)
    if not tokens.isdecimal() or int(tokens) == 0:
        raise RecipeError(f"STORYALIGN_REQUEST_TOKENS must be a number of tokens, got {tokens!r}")
    return replace(DEFAULT_LIMITS, tokens=int(tokens))


def check_request(premise: str, stories: Sequence[str], names: Sequence[str], limits: Limits) -> None:
    """Check a premise and its stories before any work is done with them.

    Args:
        premise: the writing prompt.
        stories: the filled-in stories.
        names: what to call each story in a message.
        limits: the largest accepted input.

    Raises:
        InputRefused: something is missing, too long, or no text.
    """
    if len(premise) > limits.premise_chars:
        raise InputRefused(
            f"The premise has {len(premise):,} characters; at most {limits.premise_chars:,} are accepted. "
            "Shorten it, or put the long text into the stories."
        )
    if not premise.strip():
        raise InputRefused("The premise is empty. Say in a sentence or two what the stories were asked to be about.")
    check_characters("The premise", premise)
    if len(stories) < limits.min_stories:
        found = "none" if not stories else "one"
        raise InputRefused(f"A ranking needs at least {limits.min_stories} stories; there is {found}. Add another one.")
    if len(stories) > limits.max_stories:
        raise InputRefused(f"{len(stories)} stories were given; at most {limits.max_stories} are ranked at a time.")
    for name, story in zip(names, stories, strict=True):
        if len(story) > limits.story_chars:
            raise InputRefused(
                f"{name} has {len(story):,} characters; at most {limits.story_chars:,} are accepted. "
                "Nothing was cut. Shorten the story and try again."
            )
        if not story.strip():
            raise InputRefused(f"{name} is empty. Fill it in, or leave it out.")
        check_characters(name, story)
    total = sum(map(len, stories))
    if total > limits.total_chars:
        raise InputRefused(
            f"The stories have {total:,} characters together; at most {limits.total_chars:,} are accepted at a time. "
            "Rank fewer stories, or shorter ones."
        )


def check_characters(name: str, text: str) -> None:
    """Check that a text can be written as UTF-8.

    Raises:
        InputRefused: it holds a lone surrogate.
    """
    if lone := lone_surrogate(text):
        raise InputRefused(f"{name} holds {lone}. It is half of a character; leave it out or complete it.")


def check_tokens(tokens: int, seconds: float | None, limits: Limits) -> None:
    """Check that a request does not keep the model from other visitors for long.

    Args:
        tokens: what the model would read.
        seconds: how long that takes here, where it is known.
        limits: the largest accepted input.

    Raises:
        InputRefused: it is too much.
    """
    if tokens > limits.tokens:
        took = f", which takes about {seconds:,.0f} seconds here" if seconds else ""
        raise InputRefused(
            f"The model would read {tokens:,} tokens{took}; at most {limits.tokens:,} are accepted at a time. "
            "Rank fewer stories, or shorter ones."
        )
