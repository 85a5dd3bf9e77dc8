"""The progress bar of scoring runs: stories done, tokens a second, time left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from storyalign.records import Reward


class ScoringProgress:
    """A bar on the error stream, weighed by characters, so that long stories count for more.

    Args:
        visible: False in all processes but one.
    """

    def __init__(self, visible: bool = True) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[stories]} stories"),
            BarColumn(),
            TextColumn("{task.fields[pace]} tokens/s"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not visible,
        )
        self._task = self._progress.add_task("", total=None, stories="0", pace="-")
        self._stories = self._done = self._tokens = 0
        self._begun = time.monotonic()

    def __enter__(self) -> ScoringProgress:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last state on the screen."""
        self._progress.stop()

    @property
    def speed(self) -> float:
        """Tokens a second so far."""
        return self._tokens / max(time.monotonic() - self._begun, 1e-9)

    def begin(self, stories: int, characters: int) -> None:
        """Set the total."""
        self._stories, self._begun = stories, time.monotonic()
        self._progress.update(self._task, total=characters, stories=f"0/{stories}")

    def advance(self, rewards: list[Reward], characters: int) -> None:
        """Count one batch."""
        self._done += len(rewards)
        self._tokens += sum(reward.n_tokens for reward in rewards)
        self._progress.update(
            self._task, advance=characters, stories=f"{self._done}/{self._stories}", pace=f"{self.speed:,.0f}"
        )
