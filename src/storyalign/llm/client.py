"""A small bounded client for chat endpoints: so many calls at once, so many tries each, then the failure is the answer.

Judging a benchmark is a few thousand short calls whose answers must be kept one by one; generation of
data at scale runs on datatrove instead (see CONTRIBUTING.md).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

from storyalign.errors import EndpointError
from storyalign.llm.answers import CallFailed, Reply, read_answer
from storyalign.llm.budget import Budget, CallSize, estimate_tokens
from storyalign.llm.endpoint import Endpoint

_LARGEST_BODY = 8 * 1024 * 1024
_FAILURES_IN_A_ROW = 16


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what is asked, under which id."""

    id: str
    messages: Sequence[Mapping[str, str]]
    response_format: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call: a reply, or the reason why there is none."""

    reply: Reply | None
    failure: str | None
    tries: int


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
        """Let nobody start before so many seconds have passed."""
        self._next = max(self._next, asyncio.get_running_loop().time() + seconds)


class Client:
    """Asks one endpoint."""

    def __init__(self, endpoint: Endpoint, budget: Budget | None = None):
        """Read the key from the environment; it lives in the HTTP client's header alone.

        Raises:
            EndpointError: the key's variable is not set.
        """
        self.endpoint = endpoint
        self.budget = budget or Budget(None, endpoint.known_price)
        self._key = endpoint.key()
        self._failures_in_a_row = 0

    def ask(self, calls: Iterable[Call]) -> Generator[tuple[Call, Answer], None, None]:
        """Ask all calls, at most ``max_concurrency`` at once, and give each answer as it comes.

        Calls are drawn only as they are sent. The iteration ends early when the cost limit leaves no room for another
        call (``budget.used_up``); closing it drops the calls under way.

        Raises:
            EndpointError: no call can succeed, or too many failed in a row.
        """
        finished: queue.SimpleQueue[tuple[Call, Answer] | BaseException | None] = queue.SimpleQueue()
        under_way: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

        async def all_calls() -> None:
            task = asyncio.current_task()
            assert task is not None
            under_way.append((asyncio.get_running_loop(), task))
            await self._ask(iter(calls), lambda call, answer: finished.put((call, answer)))

        def in_thread() -> None:
            try:
                asyncio.run(all_calls())
                finished.put(None)
            except BaseException as error:  # raised again where the answers are read
                finished.put(error)

        # A thread of its own: so it also works where a loop is running already, as in a notebook.
        thread = threading.Thread(target=in_thread, daemon=True)
        thread.start()
        try:
            while (item := finished.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            for loop, task in under_way:
                with suppress(RuntimeError):  # the loop has ended by itself
                    loop.call_soon_threadsafe(task.cancel)
            thread.join()

    async def _ask(self, calls: Iterator[Call], keep: Callable[[Call, Answer], None]) -> None:
        endpoint = self.endpoint
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=endpoint.max_concurrency)
        async with httpx.AsyncClient(headers=headers, limits=limits, timeout=None) as http:
            pace = Pace(endpoint.requests_per_minute)
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(endpoint.max_concurrency):
                        group.create_task(self._work(http, pace, calls, keep))
            except BaseExceptionGroup as failures:
                raise failures.exceptions[0] from None

    async def _work(
        self, http: httpx.AsyncClient, pace: Pace, calls: Iterator[Call], keep: Callable[[Call, Answer], None]
    ) -> None:
        for call in calls:
            request = self._request(call)
            if not await self.budget.reserve(request.size):
                return
            answer = await self._settle(http, pace, request)
            keep(call, answer)
            self._count_failure(answer)

    async def _settle(self, http: httpx.AsyncClient, pace: Pace, request: _Request) -> Answer:
        """Try until there is a reply or a final failure. The money for the first try is reserved already."""
        endpoint, pause = self.endpoint, self.endpoint.first_pause
        for attempt in range(1, endpoint.tries + 1):
            await pace.turn()
            try:
                reply = await self._try(http, request)
            except CallFailed as failed:
                reason = self._without_key(str(failed))
                self.budget.settle(request.size, billed=failed.billed)
                if not failed.again or attempt == endpoint.tries:
                    return Answer(None, reason, attempt)
                if failed.wait is not None and failed.wait > endpoint.longest_pause:
                    return Answer(None, f"{reason}; the server asks to wait {failed.wait:.0f} s", attempt)
                if not await self.budget.reserve(request.size):
                    return Answer(None, f"{reason}; no money for another try", attempt)
                wait = min(pause, endpoint.longest_pause) if failed.wait is None else failed.wait
                pause *= 2
                if failed.wait is not None:
                    pace.hold(wait)
                await asyncio.sleep(wait)
            else:
                self.budget.settle(request.size, billed=True, reply=reply)
                return Answer(reply, None, attempt)
        raise AssertionError("the loop ends by returning")

    async def _try(self, http: httpx.AsyncClient, request: _Request) -> Reply:
        endpoint = self.endpoint
        try:
            async with (
                asyncio.timeout(endpoint.timeout),
                http.stream("POST", f"{endpoint.url.rstrip('/')}/chat/completions", json=request.body) as response,
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
            return read_answer(
                response.status_code, headers, bytes(body), where=endpoint.model, max_tokens=endpoint.max_tokens
            )
        except EndpointError as error:
            raise EndpointError(self._without_key(str(error))) from None

    def _request(self, call: Call) -> _Request:
        endpoint = self.endpoint
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [dict(message) for message in call.messages],
            endpoint.max_tokens_field: endpoint.max_tokens,
        }
        if endpoint.temperature is not None:
            body["temperature"] = endpoint.temperature
        if endpoint.seed is not None:
            body["seed"] = endpoint.seed
        if call.response_format is not None and endpoint.reply_format == "json_schema":
            body["response_format"] = dict(call.response_format)
        elif endpoint.reply_format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return _Request({**body, **(endpoint.extra or {})}, call_size(call, endpoint))

    def _count_failure(self, answer: Answer) -> None:
        self._failures_in_a_row = self._failures_in_a_row + 1 if answer.failure else 0
        if self._failures_in_a_row >= _FAILURES_IN_A_ROW:
            raise EndpointError(
                f"{self.endpoint.model}: {self._failures_in_a_row} calls in a row failed, the last with:"
                f" {answer.failure}; what was answered is kept, the same command goes on from there"
            )

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


@dataclass(frozen=True, slots=True)
class _Request:
    body: dict[str, Any]
    size: CallSize


def call_size(call: Call, endpoint: Endpoint) -> CallSize:
    """Estimate a call's tokens without a tokenizer."""
    return CallSize(sum(estimate_tokens(m["content"]) + 4 for m in call.messages), endpoint.max_tokens)
