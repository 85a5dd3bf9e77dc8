"""A scorer without a model: a story says its own reward."""

import re
import threading
import time

from storyalign.records import Reward

SAYS = re.compile(r"reward=(-?[0-9.]+)")


class FakeScorer:
    """Reads ``reward=1.5`` out of a story, ``(cut)`` and ``endless`` too; fails where two calls overlap."""

    name = "fake/scorer"
    digest = "f" * 64

    def __init__(self, seconds=0.0):
        self.seconds, self._busy = seconds, threading.Lock()

    def __call__(self, premise, stories):
        assert self._busy.acquire(blocking=False), "two threads are in the model at once"
        try:
            time.sleep(self.seconds)
            return [self._reward(story) for story in stories]
        finally:
            self._busy.release()

    def _reward(self, story):
        said = SAYS.search(story)
        number = float(said.group(1)) if said else float(len(story) % 97)
        if "endless" in story:
            return Reward("x", 0, None, 99_999, False, "too_long", self.digest)
        return Reward("x", 0, number, len(story) // 4, "(cut)" in story, "scored", self.digest)
