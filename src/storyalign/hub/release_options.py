"""What a releaser decides beyond the folder and the repository's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ReleaseOptions:
    """Decisions that a release does not take by itself.

    Args:
        withhold: publish rows under closed licences as ids and digests; else they end the release.
        may_pass_on: licences that the releaser knows to let texts be passed on.
        personal_data_reviewed: somebody looked at what the scan lists, and it is harmless.
        version: of the release, for descriptions.
        results: ``results.json`` of an evaluation of a model.
        benchmark: ``ORG/NAME`` and commit of the StoryRMB that they were measured on.
        salt: the file with the salt for people's keys.
        say: takes one line for the person who releases.
    """

    withhold: bool = False
    may_pass_on: tuple[str, ...] = ()
    personal_data_reviewed: bool = False
    version: str = "1.0.0"
    results: Path | None = None
    benchmark: tuple[str, str] | None = None
    salt: Path | None = None
    say: Callable[[str], None] = print
