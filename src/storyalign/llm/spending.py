"""What the steps of a folder have cost in all runs: each says whom it asks, and its replies say how much."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from storyalign.files import write_json
from storyalign.llm.endpoint import Endpoint, Price
from storyalign.llm.reply_log import ReplyLog

_NAME = "asked.json"


class Spent(NamedTuple):
    """One step at one endpoint."""

    step: str
    endpoint: str
    model: str
    rows: int
    """Rows with an outcome."""
    prompt_tokens: int
    reply_tokens: int
    cost: float | None
    """US dollars; None where no price is known."""


def note_endpoint(folder: Path, step: str, name: str, endpoint: Endpoint) -> None:
    """Write into a step's folder which endpoint it asks, and at which price."""
    price = endpoint.known_price
    listed = None if price is None else {"prompt": price.prompt, "reply": price.reply}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / _NAME, {"step": step, "endpoint": name, "model": endpoint.model, "price": listed})


def spent_in(folder: Path) -> Iterator[Spent]:
    """Sum up every step below a folder."""
    for note in sorted(folder.rglob(_NAME)):
        said, log = orjson.loads(note.read_bytes()), ReplyLog(note.parent / "replies")
        price = None if said["price"] is None else Price(**said["price"])
        cost = None if price is None else price.cost(log.prompt_tokens, log.reply_tokens)
        yield Spent(
            said["step"], said["endpoint"], said["model"], len(log.places), log.prompt_tokens, log.reply_tokens, cost
        )
