"""A reward model behind a vLLM server as a scorer: the kit makes the tokens and keeps the limits, vLLM computes.

Token ids are sent, not messages: the server would read markers inside a story as its own, and add tokens. The
activation is switched off, as a one-label head has none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import httpx
import orjson
from transformers import PreTrainedTokenizerBase

from storyalign._version import __version__
from storyalign.errors import EndpointError, RecipeError
from storyalign.models.chat import template_digest
from storyalign.models.loading import load_tokenizer
from storyalign.records import Reward
from storyalign.scoring.conversations import Conversations, Outcome, Prepared
from storyalign.scoring.options import DEFAULTS, ScoringOptions
from storyalign.scoring.reward_store import Request
from storyalign.scoring.run import Scorer
from storyalign.scoring.systems import RewardSystem
from storyalign.text import digest

REQUEST_TOKENS = 65_536
"""Tokens of one request; the server makes its own batches of them."""

TRIES = 5
TIMEOUT = 600.0
"""Seconds for one try."""

_REFUSED = (400, 413, 422)
"""The server does not take these tokens; asking again would change nothing."""


class ServedModelScorer(Scorer):
    """Score stories with a reward model that a vLLM server serves.

    Args:
        url: the server's root, for instance ``http://localhost:8000``.
        model: the name that the server gives the model.
        tokenizer: the model's.
        options: its ``revision``, ``max_length`` (by default the smaller one of context and server's limit) and
            ``truncate``.
        context: tokens that the model was made for, where known.
        first_pause: seconds before the second try of a request; doubles each time.

    Raises:
        EndpointError: the server does not answer, or serves another model.
        RecipeError: ``max_length`` is beyond the limit.
    """

    sees_rivals = False

    def __init__(
        self,
        url: str,
        model: str,
        tokenizer: PreTrainedTokenizerBase,
        options: ScoringOptions = DEFAULTS,
        *,
        context: int | None = None,
        first_pause: float = 1.0,
    ):
        max_length, truncate = options.max_length, options.truncate
        self.name, self._url, self._first_pause = model, url.rstrip("/"), first_pause
        self._client = httpx.Client(timeout=TIMEOUT)
        limits = [limit for limit in (context, self._served_length()) if limit]
        limit = min(limits, default=None)
        if max_length is not None and limit is not None and max_length > limit:
            raise RecipeError(f"{model}: --max-length {max_length} is beyond the {limit} tokens that {url} takes")
        self.max_length = max_length or limit
        self._conversations = Conversations(tokenizer, self.max_length, truncate)
        self.signature: dict[str, Any] = {
            "kind": "reward_model",
            "model": model,
            "revision": options.revision,
            "template": template_digest(tokenizer),
            "dtype": "of the server",
            "max_length": self.max_length,
            "truncate": truncate,
            "storyalign": __version__,
        }
        self.digest = digest(orjson.dumps(self.signature, option=orjson.OPT_SORT_KEYS).decode())

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Raise ``TooLongError`` for stories that do not fit, unless they may be cut."""
        self._conversations.refuse_too_long(requests)

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Score a stream of requests of any length, one batch of rewards at a time, in the order of the work.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
            EndpointError: the server stopped answering, or gives something that is no reward.
        """
        yield from self._conversations.score(requests, self._forward, REQUEST_TOKENS, self.digest)

    def _served_length(self) -> int | None:
        """Make sure that the server serves this model; give its limit where it says so."""
        answer = self._answer("GET", "/v1/models")
        try:
            served = {str(card["id"]): card for card in answer.json()["data"]}
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(f"{self._url}: /v1/models gives no list of models; is this a vLLM server?") from error
        if self.name not in served:
            raise EndpointError(
                f"{self._url}: serves {', '.join(served) or 'nothing'}, not {self.name};"
                f" start it with --served-model-name {self.name}"
            )
        length = served[self.name].get("max_model_len")
        return int(length) if length else None

    def _forward(self, items: list[Prepared]) -> list[Outcome]:
        """Return one outcome a conversation; what the server refuses is found by halving."""
        if not items:
            return []
        inputs = [item.ids.tolist() for item in items]
        body = {"model": self.name, "task": "classify", "use_activation": False, "input": inputs}
        answer = self._answer("POST", "/pooling", body)
        if answer.status_code in _REFUSED:
            if len(items) == 1:
                return [f"the server refused it: HTTP {answer.status_code}: {_said(answer)}"]
            half = len(items) // 2
            return self._forward(items[:half]) + self._forward(items[half:])
        return self._read(answer, len(items))

    def _read(self, answer: httpx.Response, count: int) -> list[Outcome]:
        try:
            data = sorted(answer.json()["data"], key=lambda item: int(item["index"]))
            found = [item["data"] for item in data]
            numbered = [item["index"] for item in data] == list(range(count))
        except (ValueError, KeyError, TypeError) as error:
            raise EndpointError(f"{self._url}: /pooling answers in another form than vLLM's") from error
        if not numbered:
            raise EndpointError(f"{self._url}: {len(found)} rewards came back for {count} stories")
        for one in found:
            if not isinstance(one, list) or len(one) != 1 or isinstance(one[0], list):
                raise EndpointError(
                    f"{self._url}: more than one figure for a story; serve a model with a one-label classification head"
                    " (--runner pooling, or --task classify in versions before 0.10)"
                )
        return [float("nan") if one[0] is None else float(one[0]) for one in found]

    def _answer(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """Ask, so many times where the fault may pass."""
        why = ""
        for number in range(TRIES):
            if number:
                time.sleep(self._first_pause * 2 ** (number - 1))
            try:
                answer = self._client.request(method, self._url + path, json=body)
            except httpx.HTTPError as error:
                why = str(error) or type(error).__name__
                continue
            if answer.is_success or answer.status_code in _REFUSED:
                return answer
            why = f"HTTP {answer.status_code}: {_said(answer)}"
            if answer.status_code < 500 and answer.status_code != 429:
                break
        raise EndpointError(f"{self._url}{path}: {why}; is `vllm serve {self.name}` running there?")


def open_served_model(system: RewardSystem, options: ScoringOptions) -> ServedModelScorer:
    """Make a scorer of an entry with a ``url``; see ``ServedModelScorer`` for errors.

    Raises:
        ModelError: the tokenizer cannot be loaded.
    """
    assert system.url is not None
    options = replace(options, revision=options.revision or system.revision)
    tokenizer = load_tokenizer(system.model, revision=options.revision)
    return ServedModelScorer(system.url, system.model, tokenizer, options, context=system.context)


def _said(answer: httpx.Response) -> str:
    return " ".join(answer.text.split())[:200]
