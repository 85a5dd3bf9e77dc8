"""A story by a person, as the constructions read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from storyalign.corpus.numbers import read_optional_number
from storyalign.records import BadRow, name_of
from storyalign.text import UNKNOWN_LANGUAGE, content_id

NAMES = frozenset({"title", "category", "author", "author_key", "writer", "corpus", "license"})
"""Fields in which a number is read as a name; ``1984`` may be a title."""


@dataclass(frozen=True, slots=True)
class HumanStory:
    """One story by a person."""

    id: str
    prompt: str
    """What it was written for; empty if there is none."""
    story: str
    title: str | None = None
    abstract: str | None = None
    category: str | None = None
    """Genre, category or tag, as the corpus names it."""
    author_key: str | None = None
    """Stands for the author, whose name is not kept."""
    engagement: float | None = None
    """How much readers engaged with it; larger is more."""
    engagement_kind: str | None = None
    """What was counted: upvotes, reads, ..."""
    writer: str = "human"
    corpus: str = "unknown"
    language: str = UNKNOWN_LANGUAGE
    license: str = "unknown"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> HumanStory:
        """Read one row that ``to_row`` wrote.

        Raises:
            BadRow: the story is missing or empty, or a field has the wrong type.
        """
        story = text_field(row, "story")
        if story is None:
            raise BadRow("story is missing or empty")
        prompt = text_field(row, "prompt") or ""
        return cls(
            id=str(row["id"]) if row.get("id") not in (None, "") else content_id("story", prompt, story),
            prompt=prompt,
            story=story,
            title=text_field(row, "title"),
            abstract=text_field(row, "abstract"),
            category=text_field(row, "category"),
            author_key=text_field(row, "author_key"),
            engagement=read_optional_number(row.get("engagement"), "engagement"),
            engagement_kind=text_field(row, "engagement_kind"),
            writer=text_field(row, "writer") or "human",
            corpus=text_field(row, "corpus") or "unknown",
            language=text_field(row, "language") or text_field(row, "lang") or UNKNOWN_LANGUAGE,
            license=text_field(row, "license") or "unknown",
        )

    def to_row(self) -> dict[str, Any]:
        """Return the story as a JSON-ready row."""
        return asdict(self)


def text_field(row: Mapping[str, Any], field: str) -> str | None:
    """Return a field that holds text; None if it is missing or blank.

    Raises:
        BadRow: it is not a string.
    """
    value = name_of(row.get(field), field) if field in NAMES else row.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRow(f"{field} must be a string, got {type(value).__name__}")
    return value if value.strip() else None
