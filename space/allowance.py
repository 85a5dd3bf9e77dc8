"""How much work of a paid endpoint all visitors together may cause within an hour."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from visitor_limits import InputRefused

HOUR = 3600.0


class Allowance:
    """Stories that may be written, or judged, within an hour.

    Args:
        per_hour: how many.
        verb: what the Space does with a story, for the message: ``writes``, ``judges``.
        clock: seconds of a clock that never goes back.
    """

    def __init__(self, per_hour: int, verb: str = "writes", clock: Callable[[], float] = time.monotonic):
        self.per_hour, self.verb, self._clock = per_hour, verb, clock
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
                    f"This Space {self.verb} at most {self.per_hour} stories an hour, and they are used up."
                    " Try again later."
                )
            self._given.extend([now] * count)
