"""Stories by people, as the constructions take them: one row a story, cleaned, with where it comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from storyalign.corpus.language import detect_language
from storyalign.corpus.normalise import normalise
from storyalign.corpus.not_stories import NO_STORY, not_a_story
from storyalign.corpus.tally import Tally
from storyalign.files import Line
from storyalign.records import BadRow
from storyalign.text import content_id

AuthorKey = Callable[[str], str]
"""Turns an author's name into a key that nobody can turn back: a digest with a secret salt."""

FIELDS = (
    "id", "prompt", "story", "title", "abstract", "category", "author", "engagement", "engagement_kind", "language",
    "corpus", "license",
)  # fmt: skip
"""What a reader gives: names of our own for the columns of all formats. ``author`` never reaches a row."""


@dataclass(frozen=True, slots=True)
class HumanStory:
    """One story by a person."""

    id: str
    prompt: str
    """What it was written for; empty where it has no prompt."""
    story: str
    title: str | None = None
    abstract: str | None = None
    category: str | None = None
    """Genre, category or tag, as the corpus names it."""
    author_key: str | None = None
    """Stands for the author; the name is not kept."""
    engagement: float | None = None
    """How much readers engaged with it; larger is more."""
    engagement_kind: str | None = None
    """What was counted: upvotes, reads, ..."""
    writer: str = "human"
    corpus: str = "unknown"
    language: str = "en"
    license: str = "unknown"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> HumanStory:
        """Check one row of a file of stories that was written by ``to_row``.

        Raises:
            BadRow: the story is missing or empty, or a field has the wrong type.
        """
        story = _text(row, "story")
        if story is None:
            raise BadRow("story is missing or empty")
        prompt = _text(row, "prompt") or ""
        return cls(
            id=str(row.get("id") or content_id("story", prompt, story)),
            prompt=prompt,
            story=story,
            title=_text(row, "title"),
            abstract=_text(row, "abstract"),
            category=_text(row, "category"),
            author_key=_text(row, "author_key"),
            engagement=_number(row.get("engagement"), "engagement"),
            engagement_kind=_text(row, "engagement_kind"),
            writer=_text(row, "writer") or "human",
            corpus=_text(row, "corpus") or "unknown",
            language=_text(row, "language") or "en",
            license=_text(row, "license") or "unknown",
        )

    def to_row(self) -> dict[str, Any]:
        """Turn the story into a JSON-ready row."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Origin:
    """What holds for all rows of a corpus that do not say otherwise themselves."""

    corpus: str
    license: str = "unknown"
    language: str | None = None
    """None: each story's language is detected."""
    engagement_kind: str | None = None


def clean_stories(
    lines: Iterable[Line], origin: Origin, tally: Tally, author_key: AuthorKey | None = None
) -> Iterator[HumanStory]:
    """Turn what a reader gives into rows: texts normalised, languages found, what is no story dropped and counted.

    Args:
        lines: rows with names of ``FIELDS``; ``story`` alone is needed.
        origin: corpus, licence and language of rows that name none.
        tally: counts rows, reasons and rules.
        author_key: makes the key of an author's name; without it authors are left out.

    Raises:
        RowError: a field has the wrong type; names file and line.
    """
    for line in lines:
        tally.read += 1
        place = f"{line.path}:{line.number}"
        try:
            story = _clean(line.row, origin, tally, author_key)
        except BadRow as error:
            raise line.error(str(error)) from error
        if isinstance(story, str):
            tally.drop(story, place)
        else:
            tally.keep()
            yield story


def _clean(row: Mapping[str, Any], origin: Origin, tally: Tally, author_key: AuthorKey | None) -> HumanStory | str:
    raw = _text(row, "story")
    if raw is None:
        return NO_STORY
    # Before and after: a page of errors is known by its tags, a deleted story by what is left of it.
    if reason := not_a_story(raw):
        return reason
    story = normalise(raw, tally.rules)
    if reason := not_a_story(story):
        return reason
    prompt, title, abstract = (_normal(row, name, tally) for name in ("prompt", "title", "abstract"))
    author, engagement = _text(row, "author"), _number(row.get("engagement"), "engagement")
    return HumanStory(
        id=_id(row.get("id"), origin.corpus) or content_id("story", prompt or "", story),
        prompt=prompt or "",
        story=story,
        title=title,
        abstract=abstract,
        category=_normal(row, "category", tally),
        author_key=author_key(author.strip()) if author and author_key and not_a_story(author) is None else None,
        engagement=engagement,
        engagement_kind=None if engagement is None else _text(row, "engagement_kind") or origin.engagement_kind,
        corpus=_text(row, "corpus") or origin.corpus,
        language=_text(row, "language") or origin.language or detect_language(story),
        license=_text(row, "license") or origin.license,
    )


def _id(value: Any, corpus: str) -> str | None:
    return None if value is None or not str(value).strip() else f"{corpus}-{str(value).strip()}"


def _normal(row: Mapping[str, Any], field: str, tally: Tally) -> str | None:
    text = _text(row, field)
    return None if text is None else normalise(text, tally.rules) or None


def _text(row: Mapping[str, Any], field: str) -> str | None:
    value = row.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRow(f"{field} is no text but {type(value).__name__}")
    return value if value.strip() else None


def _number(value: Any, field: str) -> float | None:
    """Read a count as a number, or as the text of a CSV file: ``1,204``, ``3.5k``, ``2.1万``."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = value
    if isinstance(value, str):
        match = _COUNT.fullmatch(value.strip().replace(",", ""))
        number = float(match[1]) * _TIMES[match[2].lower()] if match else None
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise BadRow(f"{field} is {value!r}; expected a finite number or nothing")
    return float(number)


_COUNT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([kKmM千万亿]?)")
_TIMES = {"": 1, "k": 1e3, "m": 1e6, "千": 1e3, "万": 1e4, "亿": 1e8}
