"""Stories written on demand by an endpoint that the operator named; what visitors may spend is bounded."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

from visitor_limits import InputRefused

from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import writing_request

MOST_STORIES = 8
WORDS = (80, 600)
TOKENS_A_WORD = 4
PER_HOUR = 200
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Written:
    """One story, or the reason why there is none."""

    number: int
    """Counted from 1."""
    story: str | None
    failure: str | None


class Allowance:
    """Stories that all visitors together may have written within an hour."""

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic):
        self.per_hour, self._clock = per_hour, clock
        self._given: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        """Take so many stories out of the allowance.

        Raises:
            InputRefused: fewer are left.
        """
        with self._lock:
            now = self._clock()
            while self._given and self._given[0] <= now - HOUR:
                self._given.popleft()
            if len(self._given) + count > self.per_hour:
                raise InputRefused(
                    f"This Space writes at most {self.per_hour} stories an hour, and they are used up. Try again later."
                )
            self._given.extend([now] * count)


class StoryWriter:
    """Asks one endpoint for stories.

    Args:
        endpoint: where and how; a temperature above 0 makes the stories differ.
        per_hour: the allowance of all visitors together.
    """

    def __init__(self, endpoint: Endpoint, per_hour: int = PER_HOUR):
        self.endpoint, self.allowance = endpoint, Allowance(per_hour)

    def write(self, premise: str, count: int, words: int) -> Generator[Written, None, None]:
        """Have stories written, and give each as it comes; closing the iterator stops the calls under way.

        Raises:
            InputRefused: the numbers are out of range, or the allowance is used up.
            EndpointError: no call can succeed.
        """
        if not 1 <= count <= MOST_STORIES:
            raise InputRefused(f"{count} stories were asked for; 1 to {MOST_STORIES} are written at a time.")
        if not WORDS[0] <= words <= WORDS[1]:
            raise InputRefused(f"{words} words were asked for; {WORDS[0]} to {WORDS[1]} can be.")
        self.allowance.take(count)
        message = {"role": "user", "content": writing_request(premise, words)}
        calls = [Call(str(number), [message]) for number in range(1, count + 1)]
        for call, answer in Client(self.endpoint).ask(calls):
            story = answer.reply.text.strip() if answer.reply else ""
            failure = answer.failure or (None if story else "the reply is empty")
            yield Written(int(call.id), story or None, failure)


def writer_of(settings: Mapping[str, str]) -> StoryWriter | None:
    """Make the writer that the operator configured, if any.

    Args:
        settings: environment variables: ``STORYALIGN_ENDPOINT`` (the API root), ``STORYALIGN_ENDPOINT_MODEL``,
            ``STORYALIGN_ENDPOINT_KEY`` (a secret; may be missing), ``STORYALIGN_ENDPOINT_STORIES_PER_HOUR``.

    Raises:
        RecipeError: the address or the model is missing or wrong.
    """
    url = settings.get("STORYALIGN_ENDPOINT", "").strip()
    if not url:
        return None
    per_hour = settings.get("STORYALIGN_ENDPOINT_STORIES_PER_HOUR", "").strip() or str(PER_HOUR)
    endpoint = Endpoint.from_recipe(
        "STORYALIGN_ENDPOINT",
        {
            "url": url,
            "model": settings.get("STORYALIGN_ENDPOINT_MODEL", "").strip(),
            "key_variable": "STORYALIGN_ENDPOINT_KEY" if settings.get("STORYALIGN_ENDPOINT_KEY") else None,
            "temperature": 1.0,
            "max_tokens": TOKENS_A_WORD * WORDS[1],
            "max_concurrency": 4,
            "tries": 3,
        },
    )
    return StoryWriter(endpoint, int(per_hour) if per_hour.isdigit() else PER_HOUR)
