"""Stories written on demand by an endpoint that the operator named; what visitors may spend is bounded."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from allowance import Allowance
from operator_endpoint import hourly, operator_endpoint
from visitor_limits import InputRefused

from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import writing_request

MOST_STORIES = 8
WORDS = (80, 600)
TOKENS_A_WORD = 4
PER_HOUR = 200


@dataclass(frozen=True, slots=True)
class Written:
    """One story, or the reason why there is none."""

    number: int
    """Counted from 1."""
    story: str | None
    failure: str | None


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
        settings: environment variables: those of ``operator_endpoint``, ``STORYALIGN_ENDPOINT_STORIES_PER_HOUR``.

    Raises:
        RecipeError: the address or the model is missing or wrong.
    """
    endpoint = operator_endpoint(settings, temperature=1.0, max_tokens=TOKENS_A_WORD * WORDS[1], tries=3)
    if endpoint is None:
        return None
    return StoryWriter(endpoint, hourly(settings, "STORYALIGN_ENDPOINT_STORIES_PER_HOUR", PER_HOUR))
