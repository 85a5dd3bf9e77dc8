"""A scorer without a model: a story says its own reward."""

import re
import threading
import time

from storyalign.records import Reward

SAYS = re.compile(r"reward=(-?[0-9.]+)")


class FakeScorer:
    """Reads ``reward=1.5`` out of a story, ``cut`` and ``endless`` too; remembers whether two calls ever overlapped."""

    name = "fake/scorer"
    digest = "f" * 64

    def __init__(self, seconds=0.0):
        self.seconds, self.calls, self.overlapped = seconds, 0, False
        self._busy = threading.Lock()

    def __call__(self, premise, stories):
        free = self._busy.acquire(blocking=False)
        self.overlapped |= not free
        self.calls += 1
        time.sleep(self.seconds)
        try:
            return [self._reward(story) for story in stories]
        finally:
            if free:
                self._busy.release()

    def _reward(self, story):
        said = SAYS.search(story)
        number = float(said.group(1)) if said else float(len(story) % 97)
        if "endless" in story:
            return Reward("x", 0, None, 99_999, False, "too_long", self.digest)
        return Reward("x", 0, number, len(story) // 4, "(cut)" in story, "scored", self.digest)
