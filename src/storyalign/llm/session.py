"""Asking one chat endpoint from inside an event loop: paced, so many tries for each call, never past the budget.

``Client`` uses it for calls that are kept one by one, ``servers`` puts it under datatrove's runner.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from storyalign.errors import EndpointError
from storyalign.llm.answers import CallFailed, Reply, read_answer
from storyalign.llm.budget import Budget, CallSize, estimate_tokens
from storyalign.llm.endpoint import Endpoint, Sampling

_LARGEST_BODY = 8 * 1024 * 1024
_FAILURES_IN_A_ROW = 16


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what is asked, under which id."""

    id: str
    messages: Sequence[Mapping[str, str]]
    response_format: Mapping[str, Any] | None = None
    sampling: Sampling | None = None
    """None takes the endpoint's own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call: a reply, or the reason why there is none."""

    reply: Reply | None
    failure: str | None
    tries: int
    unusable: bool = False
    """The endpoint answered, but with a cut, filtered or refused reply: the same call would fail again."""
    may_pass: bool = False
    """The call failed for a reason that may pass, such as a status 500; a status 400 or a refusal will not."""
    prompt_tokens: int = 0
    """Charged for all tries, by the endpoint's counts where it gives them, else by the bounds."""
    reply_tokens: int = 0


class Pace:
    """Spaces requests evenly, and holds all of them back when the server asks for a pause."""

    def __init__(self, requests_per_minute: float | None):
        self._gap = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next free moment."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._gap
        if start > now:
            await asyncio.sleep(start - now)

    def hold(self, seconds: float) -> None:
        """Hold every request back for so many seconds."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


class Session:
    """One endpoint, open for calls; ``open_session`` makes it."""

    def __init__(self, endpoint: Endpoint, budget: Budget, http: httpx.AsyncClient, key: str | None):
        self.endpoint, self.budget = endpoint, budget
        self._http, self._key = http, key
        self._pace = Pace(endpoint.requests_per_minute)
        self._failures_in_a_row = 0

    async def answer(self, body: dict[str, Any]) -> Answer | None:
        """Try until there is a reply or a final failure; None where the cost limit leaves no room for the call.

        Args:
            body: the request as ``request_body`` writes it.

        Raises:
            EndpointError: no call can succeed.
        """
        size = body_size(body, self.endpoint)
        if not await self.budget.reserve(size):
            return None
        return await self._settle(body, size, size.reply_tokens)

    def count(self, answer: Answer) -> None:
        """Count failures in a row that may pass, once the answer is kept; any other answer ends the row.

        Raises:
            EndpointError: too many failed in a row; the endpoint is no use at the moment.
        """
        self._failures_in_a_row = self._failures_in_a_row + 1 if answer.may_pass else 0
        if self._failures_in_a_row >= _FAILURES_IN_A_ROW:
            raise EndpointError(
                f"{self.endpoint.model}: {self._failures_in_a_row} calls in a row failed, the last with:"
                f" {answer.failure}; what was answered is kept, the same command goes on from there"
            )

    async def _settle(self, body: dict[str, Any], size: CallSize, max_tokens: int) -> Answer:
        """Try; the money for the first try is reserved already."""
        endpoint, pause = self.endpoint, self.endpoint.first_pause
        prompt_tokens = reply_tokens = 0
        for attempt in range(1, endpoint.tries + 1):
            await self._pace.turn()
            try:
                reply = await self._try(body, max_tokens)
            except CallFailed as failed:
                reason = self._without_key(str(failed))
                charged = self.budget.settle(size, billed=failed.billed, reply=failed)
                prompt_tokens, reply_tokens = prompt_tokens + charged.prompt_tokens, reply_tokens + charged.reply_tokens
                if failed.again and attempt < endpoint.tries:
                    if failed.wait is not None and failed.wait > endpoint.longest_pause:
                        reason = f"{reason}; the server asks to wait {failed.wait:.0f} s"
                    elif not await self.budget.reserve(size):
                        reason = f"{reason}; no money for another try"
                    else:
                        wait = min(pause, endpoint.longest_pause) if failed.wait is None else failed.wait
                        pause *= 2
                        if failed.wait is not None:
                            self._pace.hold(wait)
                        await asyncio.sleep(wait)
                        continue
                return Answer(None, reason, attempt, failed.unusable, failed.again, prompt_tokens, reply_tokens)
            charged = self.budget.settle(size, billed=True, reply=reply)
            prompt_tokens, reply_tokens = prompt_tokens + charged.prompt_tokens, reply_tokens + charged.reply_tokens
            return Answer(reply, None, attempt, prompt_tokens=prompt_tokens, reply_tokens=reply_tokens)
        raise AssertionError("the loop ends by returning")

    async def _try(self, content: dict[str, Any], max_tokens: int) -> Reply:
        endpoint = self.endpoint
        try:
            async with (
                asyncio.timeout(endpoint.timeout),
                self._http.stream("POST", f"{endpoint.url.rstrip('/')}/chat/completions", json=content) as response,
            ):
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LARGEST_BODY:
                        raise CallFailed("the answer is larger than 8 MiB", again=False, billed=True)
        except TimeoutError as error:
            raise CallFailed(f"no answer within {endpoint.timeout:g} s", again=True, billed=True) from error
        except httpx.ConnectError as error:
            raise CallFailed(f"cannot connect to {endpoint.url}", again=True) from error
        except httpx.RequestError as error:
            raise CallFailed(f"the connection broke ({type(error).__name__})", again=True, billed=True) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        try:
            return read_answer(response.status_code, headers, bytes(body), where=endpoint.model, max_tokens=max_tokens)
        except EndpointError as error:
            raise EndpointError(self._without_key(str(error))) from None

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


@asynccontextmanager
async def open_session(endpoint: Endpoint, budget: Budget, key: str | None) -> AsyncIterator[Session]:
    """Open an endpoint; the key lives in the HTTP client's header alone."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    limits = httpx.Limits(max_connections=endpoint.max_concurrency)
    secure = endpoint.url.startswith("https:")  # else reading the certificates would cost more than a call
    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=None, verify=secure) as http:
        yield Session(endpoint, budget, http, key)


def request_body(call: Call, endpoint: Endpoint) -> dict[str, Any]:
    """Write the request as it goes over the wire."""
    sampling = call.sampling or endpoint.sampling
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [dict(message) for message in call.messages],
        endpoint.max_tokens_field: sampling.max_tokens,
    }
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if call.response_format is not None and endpoint.reply_format == "json_schema":
        body["response_format"] = dict(call.response_format)
    elif endpoint.reply_format == "json_object":
        body["response_format"] = {"type": "json_object"}
    return {**body, **(endpoint.extra or {})}


def body_size(body: Mapping[str, Any], endpoint: Endpoint) -> CallSize:
    """Return upper bounds of a request's tokens without a tokenizer."""
    prompt_tokens = sum(estimate_tokens(message["content"]) + 4 for message in body["messages"])
    return CallSize(prompt_tokens, body[endpoint.max_tokens_field])


def call_size(call: Call, endpoint: Endpoint) -> CallSize:
    """Return upper bounds of a call's tokens without a tokenizer."""
    return body_size(request_body(call, endpoint), endpoint)
