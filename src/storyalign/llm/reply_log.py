"""The replies of one step, kept as they come: one file a process, each line flushed, so that a kill loses none.

A line says which row was asked (``id``), under which request (``request``, a digest of the whole body, so that a
changed row, prompt, model or temperature never meets an old reply), and what came of it: ``reply``, or ``failure``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import orjson

from storyalign.errors import RowError


class Outcome(NamedTuple):
    """What became of one row's call."""

    id: str
    request: str
    """Digest of the request's body."""
    reply: str | None
    """The whole reply; None where there is none of use."""
    failure: str | None
    """Why ``reply`` is None."""
    again: bool
    """Whether a later run asks again: the endpoint failed."""
    seed: int | None
    """The seed of the last try."""
    replies: int
    """Replies asked for, the useless ones included."""
    prompt_tokens: int
    reply_tokens: int
    """Charged for the row, all tries together."""
    counted: int | None
    """Prompt tokens of one request by the endpoint's own count; None where it gives none."""


class Place(NamedTuple):
    """Where an outcome stands, and what a count of outcomes needs of it."""

    file: Path
    offset: int
    again: bool


class ReplyLog:
    """All replies of one step in a folder; only places are held in memory."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.places: dict[tuple[str, str], Place] = {}
        """The newest outcome of every request, by the row's id and the request's digest: files have no order in time,
        so an outcome never hides that of another request."""
        self.prompt_tokens = self.reply_tokens = 0
        """Charged by all runs so far."""
        self._load()

    def _load(self) -> None:
        for path in sorted(self.folder.glob("*.jsonl")):
            offset = 0
            with path.open("rb") as handle:
                for number, line in enumerate(handle, start=1):
                    if not line.endswith(b"\n"):
                        break  # another process is writing it, or was killed
                    outcome = _read(line, path, number)
                    key = (outcome.id, outcome.request)
                    # A reply is never pushed out by a failure of the same request.
                    if key not in self.places or not outcome.again:
                        self.places[key] = Place(path, offset, outcome.again)
                    self.prompt_tokens += outcome.prompt_tokens
                    self.reply_tokens += outcome.reply_tokens
                    offset += len(line)

    def finished(self, row_id: str, request: str) -> bool:
        """Return whether the request needs no further call."""
        found = self.places.get((row_id, request))
        return found is not None and not found.again

    def finished_rows(self) -> int:
        """Return the number of rows with a finished request, whatever it asked."""
        return len({row_id for (row_id, _), place in self.places.items() if not place.again})

    def outcome(self, row_id: str, request: str) -> Outcome | None:
        """Return the outcome of this very request; None where it was never sent."""
        found = self.places.get((row_id, request))
        if found is None:
            return None
        with found.file.open("rb") as handle:
            handle.seek(found.offset)
            return _read(handle.readline(), found.file, 0)


def _read(line: bytes, path: Path, number: int) -> Outcome:
    try:
        return Outcome(**orjson.loads(line))
    except (orjson.JSONDecodeError, TypeError) as error:
        raise RowError(path, number, "no row of a reply log; move the file away to ask again") from error
