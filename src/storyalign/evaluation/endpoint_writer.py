"""Stories from a chat endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from storyalign._version import __version__
from storyalign.evaluation.drafts import Draft, Written
from storyalign.llm.budget import Budget, estimate_tokens
from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import load_prompt, writing_request
from storyalign.text import digest

SEEDS = 2**31
"""Seeds stay below this: some servers take no larger ones."""


class EndpointWriter:
    """Asks an endpoint for stories.

    Args:
        endpoint: where and how; a temperature above 0 makes the drafts of one premise differ.
        words: the length to ask for; None sends the premise alone.
        max_cost: US dollars that this run may spend; None means no limit.

    Raises:
        EndpointError: the key's variable is not set.
        RecipeError: a cost limit without a known price.
    """

    def __init__(self, endpoint: Endpoint, words: int | None, *, max_cost: float | None = None):
        self.endpoint, self.words = endpoint, words
        self.client = Client(endpoint, Budget(max_cost, endpoint.known_price))
        self.name = endpoint.model
        prompt = load_prompt("write_story")
        self.facts: dict[str, Any] = {
            "model": endpoint.model,
            "temperature": endpoint.temperature,
            "seed": endpoint.seed,
            "max_tokens": endpoint.max_tokens,
            "words": words,
            "prompt": prompt.name if words is not None else None,
            "prompt_digest": prompt.digest if words is not None else None,
            "storyalign": __version__,
        }
        self.digest = digest(endpoint.settings_digest(), str(words), prompt.digest if words is not None else "")

    def estimate(self, drafts: Iterable[Draft]) -> tuple[int, int, float | None]:
        """Say what drafts take at most: calls, reply tokens, US dollars (None where no price is known)."""
        prompts = [estimate_tokens(writing_request(draft.premise.text, self.words)) for draft in drafts]
        replies = len(prompts) * self.endpoint.max_tokens
        price = self.endpoint.known_price
        return len(prompts), replies, None if price is None else price.cost(sum(prompts), replies)

    def write(self, drafts: Iterable[Draft]) -> Iterator[Written]:
        """Write drafts and give each as it comes.

        Raises:
            EndpointError: no call can succeed, or too many failed in a row.
        """
        by_id = {draft.id: draft for draft in drafts}
        calls = (
            Call(
                draft.id,
                [{"role": "user", "content": writing_request(draft.premise.text, self.words)}],
                sampling=replace(self.endpoint.sampling, seed=self.seed_of(draft)),
            )
            for draft in list(by_id.values())
        )
        with closing(self.client.ask(calls)) as answers:
            for call, answer in answers:
                story = answer.reply.text.strip() if answer.reply else ""
                failure = answer.failure or (None if story else "the reply is empty")
                tokens = answer.reply.reply_tokens if answer.reply else None
                yield Written(by_id[call.id], story or None, failure, self.seed_of(by_id[call.id]), tokens)

    def seed_of(self, draft: Draft) -> int | None:
        """Give each draft of a premise a seed of its own; None where the recipe leaves seeds to the server."""
        return None if self.endpoint.seed is None else (self.endpoint.seed + draft.number) % SEEDS
