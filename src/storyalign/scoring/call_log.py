"""The log of a judge's calls, beside a rewards file: answers are kept as they come, so that none is asked for twice.

``<rewards file>.calls.jsonl`` holds one row a call. A row's id is the digest of the judge's settings and of the whole
request, so another story, prompt or model never meets an old answer. Replies are kept as they were said and are read
again by whoever needs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.files import appending, cut_half_line, read_jsonl


class LoggedCall(NamedTuple):
    """One call and its outcome."""

    id: str
    instance: str
    order: tuple[int, ...]
    """The candidates shown, in this order; 0 is the chosen story."""
    reply: str | None
    """None exactly when the call failed."""
    failure: str | None
    tries: int
    seed: int | None
    prompt_tokens: int
    reply_tokens: int
    """Charged for all tries, by the endpoint's counts where it gives them, else by the bounds."""


class CallLog:
    """The calls of one rewards file; whoever writes holds the rewards file's lock."""

    def __init__(self, rewards_file: Path):
        self.path = rewards_file.with_name(f"{rewards_file.name}.calls.jsonl")
        self.replies: dict[str, str] = {}
        """The newest reply by call id."""
        self.counts: Counter[str] = Counter()
        """Replies by call id: more than one where the first could not be read."""

    def clear(self) -> None:
        """Forget all calls."""
        self.path.unlink(missing_ok=True)
        self.replies.clear()
        self.counts.clear()

    def load(self) -> None:
        """Read what earlier runs left; a half line at the end, left by a killed run, is cut off.

        Raises:
            RowError: another line is broken.
        """
        if not self.path.is_file():
            return
        cut_half_line(self.path)
        for line in read_jsonl(self.path):
            call, reply = line.row.get("id"), line.row.get("reply")
            if not isinstance(call, str):
                raise line.error("not a row of a call log: no id; --fresh asks everything again")
            if isinstance(reply, str):
                self.keep(call, reply)

    def keep(self, call: str, reply: str) -> None:
        """Take in a reply."""
        self.replies[call] = reply
        self.counts[call] += 1

    @contextmanager
    def appending(self) -> Iterator[CallWriter]:
        """Open the log for calls of this run."""
        with appending(self.path) as write:
            yield CallWriter(self, write)


class CallWriter:
    """Adds calls; what was added survives a kill."""

    def __init__(self, log: CallLog, write: Callable[[Iterable[Mapping[str, Any]]], None]):
        self._log, self._write = log, write

    def add(self, call: LoggedCall) -> None:
        """Write one call."""
        self._write([call._asdict()])
        if call.reply is not None:
            self._log.keep(call.id, call.reply)
