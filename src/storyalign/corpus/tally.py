"""What happened to the rows of an import: how many came in, how many went out, and why the others did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

EXAMPLES = 3
"""So many places are named for each reason."""


DROPPED = "dropped"
"""Key under which a reader names the reason why a row holds nothing to import."""


@dataclass(slots=True)
class Tally:
    """Counts of one import. Every row that is read is either kept or dropped with one reason."""

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """Rows by reason."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Stories removed from groups, by reason, whether or not enough of the group is left to keep it."""
    renamed: Counter[str] = field(default_factory=Counter)
    """Rows whose id an earlier row has, by that id; each got one of its own."""
    rules: Counter[str] = field(default_factory=Counter)
    """Texts that each normalisation rule changed."""
    examples: dict[str, list[str]] = field(default_factory=dict)
    """The first places (``file:line``) by reason."""

    def keep(self) -> None:
        """Count one row that goes on."""
        self.kept += 1

    def drop(self, reason: str, place: str) -> None:
        """Count one row that does not go on, and remember where the first ones stand."""
        self.dropped[reason] += 1
        places = self.examples.setdefault(reason, [])
        if len(places) < EXAMPLES:
            places.append(place)

    def take_back(self, reason: str, place: str) -> None:
        """Drop a row that was counted as kept: a later step leaves it out."""
        self.kept -= 1
        self.drop(reason, place)

    def lines(self) -> Iterator[str]:
        """Yield the counts as lines for people, the most frequent reason first."""
        stories = f", left out {n:,} stories of groups" if (n := self.left_out.total()) else ""
        yield f"read {self.read:,}, kept {self.kept:,}, dropped {self.dropped.total():,}{stories}"
        for reason, n in self.dropped.most_common():
            places = self.examples.get(reason, [])
            yield f"  dropped {n:,}: {reason}" + (f" ({', '.join(places)}{', ...' if n > len(places) else ''})")
        for reason, n in self.left_out.most_common():
            yield f"  left out {n:,} of the groups' stories: {reason}"
        if self.renamed:
            ids = list(self.renamed)
            named = ", ".join(ids[:EXAMPLES]) + (", ..." if len(ids) > EXAMPLES else "")
            yield f"  made {self.renamed.total():,} repeated ids unique by a digest of their texts: {named}"
        for rule, n in self.rules.most_common():
            yield f"  changed {n:,} texts: {rule}"

    def to_row(self) -> dict[str, Any]:
        """Return the counts as a JSON-ready object."""
        return {
            "read": self.read,
            "kept": self.kept,
            "dropped": dict(self.dropped.most_common()),
            "left_out": dict(self.left_out.most_common()),
            "renamed": dict(self.renamed.most_common()),
            "rules": dict(self.rules.most_common()),
            "examples": self.examples,
        }
