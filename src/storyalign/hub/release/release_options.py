"""What a releaser decides beyond the folder and the repository's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Named(NamedTuple):
    """A tokenizer or an evaluation set: where it is, and what a card calls it."""

    place: str
    name: str


def named(place: str) -> Named:
    """Name what a user gave: a folder by its own name, so that no card tells where it lay on somebody's disk."""
    path = Path(place)
    return Named(place, path.resolve().name if path.exists() else place)


@dataclass(frozen=True)
class ReleaseOptions:
    """Decisions that a release does not take by itself.

    Args:
        withhold: publish rows under closed licences as ids and digests; else they end the release.
        may_pass_on: licences that the releaser knows to let texts be passed on.
        personal_data_reviewed: somebody looked at what the scan lists, and it is harmless.
        people: writers that are people's names, to be replaced by keys.
        tokenizer: counts the tokens that the card of a dataset names.
        against: evaluation sets that pairs are compared with.
        contact: whom to ask for the removal of a row, beside the repository's own page.
        results: ``results.json`` of an evaluation of a model.
        benchmark: ``ORG/NAME`` and commit of the StoryRMB that they were measured on.
        salt: the file with the salt for people's keys.
        say: takes one line for the person who releases.
    """

    withhold: bool = False
    may_pass_on: tuple[str, ...] = ()
    personal_data_reviewed: bool = False
    people: tuple[str, ...] = ()
    tokenizer: Named | None = None
    against: tuple[Named, ...] = ()
    contact: str | None = None
    results: Path | None = None
    benchmark: tuple[str, str] | None = None
    salt: Path | None = None
    say: Callable[[str], None] = print
