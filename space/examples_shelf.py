"""The examples of the first tab: one JSON file each in ``examples/``, in the order of their names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """A premise with stories, written for this Space."""

    title: str
    premise: str
    stories: tuple[str, ...]


def read_examples(folder: Path = FOLDER) -> list[Example]:
    """Read every example of a folder."""
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    return [Example(row["title"], row["premise"], tuple(row["stories"])) for row in rows]
