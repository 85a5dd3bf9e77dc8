"""A small bounded client for chat endpoints: so many calls at once, so many tries each, then the failure is the answer.

Judging a benchmark is a few thousand short calls whose answers must be kept one by one; generation of
data at scale runs on datatrove instead (see CONTRIBUTING.md).
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress

from storyalign.llm.budget import Budget
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.session import Answer, Call, Session, call_size, open_session, request_body

__all__ = ["Answer", "Call", "Client", "call_size"]


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
        async with open_session(self.endpoint, self.budget, self._key) as session:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(self.endpoint.max_concurrency):
                        group.create_task(_work(session, calls, keep))
            except BaseExceptionGroup as failures:
                raise failures.exceptions[0] from None


async def _work(session: Session, calls: Iterator[Call], keep: Callable[[Call, Answer], None]) -> None:
    for call in calls:
        answer = await session.answer(request_body(call, session.endpoint))
        if answer is None:
            return
        keep(call, answer)
        session.count(answer)
