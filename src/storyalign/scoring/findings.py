"""What an examination finds, and what that means for the run that it precedes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Level = Literal["ok", "note", "caution", "fault"]
"""``note``: worth knowing. ``caution``: this kit copes, other tools or your purse may not. ``fault``: do not start."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: Level
    subject: str
    text: str


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 0 where all is well, 1 where there is a caution, 2 where there is a fault."""
    levels = {finding.level for finding in findings}
    return 2 if "fault" in levels else 1 if "caution" in levels else 0
