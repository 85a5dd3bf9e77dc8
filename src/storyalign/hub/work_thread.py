"""One thread that works off what it is given, in order, while its owner goes on; memory stays bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

_WAITING = 2
"""So many pieces are in work or wait; more make the owner wait."""


class WorkThread:
    """A thread and its short queue.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._open: deque[Future[None]] = deque()

    def submit(self, work: Callable[[], None]) -> None:
        """Hand over one piece of work; an error of an earlier one is raised here."""
        while len(self._open) >= _WAITING:
            self._open.popleft().result()
        self._open.append(self._thread.submit(work))

    def finish(self) -> None:
        """Wait for all work; its error is raised here."""
        while self._open:
            self._open.popleft().result()

    def stop(self) -> None:
        """End the thread; what waits is not done."""
        self._open.clear()
        self._thread.shutdown(wait=True, cancel_futures=True)
