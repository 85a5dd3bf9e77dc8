"""A step of a construction: a pure pair of functions around one LLM call; ``step_runs`` runs it.

``request`` says what to ask about a row, ``read`` makes the next row of the row and the reply. Several writers or
judges are several runs of a step, one an endpoint; several questions about one row are several rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.llm.prompts import Prompt
from storyalign.llm.replies import UnparsedReply

Row = dict[str, Any]
"""One JSON object with a text ``id`` that no other row of its file has."""


class RowDropped(UnparsedReply):
    """Raised by ``read``: the reply is of no use for this row; the message is the reason that stands in the counts.

    ``UnparsedReply`` does the same, so that the readers of replies can be used as they are.
    """


@dataclass(frozen=True, slots=True)
class Request:
    """What one call asks."""

    messages: Sequence[Mapping[str, str]]
    """Chat messages with ``role`` and ``content``."""
    max_tokens: int
    """Upper bound of the reply; a reply that reaches it is cut and never becomes a row."""
    temperature: float | None
    seed: int | None
    """The seed of the first try; each further one adds 1. Left out for endpoints with ``takes_seed: false``."""
    response_format: Mapping[str, Any] | None = None
    """A JSON schema made by ``prompts.schema``; sent where the endpoint's ``reply_format`` takes it."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that came to nothing, and why."""

    id: str
    reason: str
    again: bool = False
    """True where the endpoint failed: a second run asks again. False where the reply was of no use."""


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of call."""

    name: str
    prompt: Prompt
    request: Callable[[Row], Request]
    """Pure: the same row gives the same request, or an earlier reply would not be found again."""
    read: Callable[[Row, str], Row]
    """Pure: the row and the whole reply give the next row, with the same id. Raises ``RowDropped`` or
    ``UnparsedReply`` where the reply is of no use."""
    tries: int = 1
    """Replies to ask for, at most, while they are cut, refused or of no use to ``read``; each with another seed."""


class Job(NamedTuple):
    """A step at one endpoint."""

    step: Step
    source: Path
    """A JSONL file of rows."""
    endpoint: str
    """The endpoint's name in the recipe."""
    out: Path
    """The step's folder."""


def user_message(text: str) -> list[dict[str, str]]:
    """Make the messages of a request that is one text."""
    return [{"role": "user", "content": text}]
