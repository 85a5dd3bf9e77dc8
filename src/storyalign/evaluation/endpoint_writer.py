"""Stories from a chat endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from storyalign._version import __version__
from storyalign.evaluation.drafts import TRIES, Draft, Written, read_draft, seed_of
from storyalign.llm.budget import Budget, estimate_tokens
from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import load_prompt, writing_request
from storyalign.text import digest


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
        """Return what drafts take at most, all tries counted: calls, reply tokens, US dollars or None."""
        prompts = [TRIES * estimate_tokens(writing_request(draft.premise.text, self.words)) for draft in drafts]
        calls = TRIES * len(prompts)
        replies = calls * self.endpoint.max_tokens
        price = self.endpoint.known_price
        return calls, replies, None if price is None else price.cost(sum(prompts), replies)

    def write(self, drafts: Iterable[Draft]) -> Iterator[Written]:
        """Write drafts and yield each once: its story as it comes, its failure after the last try.

        A reply that is cut, refused or holds no story is asked for again with another seed, at most ``TRIES`` times.

        Raises:
            EndpointError: no call can succeed, or too many failed in a row.
        """
        left = {draft.id: draft for draft in drafts}
        failed: dict[str, Written] = {}
        for attempt in range(TRIES):
            for written, again in self._try(list(left.values()), attempt):
                if again:
                    failed[written.draft.id] = written
                else:
                    failed.pop(written.draft.id, None)
                    yield written
            left = {id_: draft for id_, draft in left.items() if id_ in failed}
        yield from failed.values()

    def _try(self, drafts: list[Draft], attempt: int) -> Iterator[tuple[Written, bool]]:
        """Ask once for each draft; yield what came and whether another try may do better."""
        by_id = {draft.id: draft for draft in drafts}
        calls = (
            Call(
                draft.id,
                [{"role": "user", "content": writing_request(draft.premise.text, self.words)}],
                sampling=replace(self.endpoint.sampling, seed=self._seed(draft, attempt)),
            )
            for draft in drafts
        )
        with closing(self.client.ask(calls)) as answers:
            for call, answer in answers:
                draft = by_id[call.id]
                seed = self._seed(draft, attempt)
                if answer.reply is None:
                    yield Written(draft, None, answer.failure, seed), answer.unusable
                else:
                    written = read_draft(draft, answer.reply.text, seed, answer.reply.reply_tokens)
                    yield written, written.story is None

    def _seed(self, draft: Draft, attempt: int) -> int | None:
        """Return the seed of a try; None where the recipe leaves seeds to the server."""
        return None if self.endpoint.seed is None else seed_of(self.endpoint.seed, draft, attempt)
