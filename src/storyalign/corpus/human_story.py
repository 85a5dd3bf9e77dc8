"""Stories by people, as the constructions take them: one row a story, cleaned, with where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from storyalign.corpus.language import detect_language
from storyalign.corpus.normalise import normalise
from storyalign.corpus.numbers import read_optional_number
from storyalign.corpus.tally import DROPPED, Tally
from storyalign.files import Line
from storyalign.not_stories import NO_STORY, not_a_story
from storyalign.records import BadRow, name_of
from storyalign.text import UNKNOWN_LANGUAGE, content_id

AuthorKey = Callable[[str], str]
"""Turns an author's name into a key that nobody can turn back: a digest with a secret salt."""

FIELDS = (
    "id", "prompt", "story", "title", "abstract", "category", "author", "engagement", "engagement_kind", "language",
    "corpus", "license",
)  # fmt: skip
"""What a reader gives: names of our own for the columns of all formats. ``author`` never reaches a row."""


NAMES = frozenset({"title", "category", "author", "author_key", "writer", "corpus", "license"})
"""Fields in which a number is a name; ``1984`` may be a title."""


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
    language: str = UNKNOWN_LANGUAGE
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
            id=str(row["id"]) if row.get("id") not in (None, "") else content_id("story", prompt, story),
            prompt=prompt,
            story=story,
            title=_text(row, "title"),
            abstract=_text(row, "abstract"),
            category=_text(row, "category"),
            author_key=_text(row, "author_key"),
            engagement=read_optional_number(row.get("engagement"), "engagement"),
            engagement_kind=_text(row, "engagement_kind"),
            writer=_text(row, "writer") or "human",
            corpus=_text(row, "corpus") or "unknown",
            language=_text(row, "language") or _text(row, "lang") or UNKNOWN_LANGUAGE,
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
        place = line.place
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
    if reason := row.get(DROPPED):
        return str(reason)
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
    author, engagement = _text(row, "author"), read_optional_number(row.get("engagement"), "engagement")
    return HumanStory(
        id=corpus_id(row.get("id"), origin.corpus) or content_id("story", prompt or "", story),
        prompt=prompt or "",
        story=story,
        title=title,
        abstract=abstract,
        category=_normal(row, "category", tally),
        author_key=author_key(author.strip()) if author and author_key and not_a_story(author) is None else None,
        engagement=engagement,
        engagement_kind=None if engagement is None else _text(row, "engagement_kind") or origin.engagement_kind,
        corpus=_text(row, "corpus") or origin.corpus,
        language=_text(row, "language") or _text(row, "lang") or origin.language or detect_language(story),
        license=_text(row, "license") or origin.license,
    )


def corpus_id(value: Any, corpus: str) -> str | None:
    """Return a source's own id behind the name of its corpus; None where there is none.

    Raises:
        BadRow: the id is neither a string nor a number.
    """
    own = (name_of(value, "id") or "").strip()
    return f"{corpus}-{own}" if own else None


def _normal(row: Mapping[str, Any], field: str, tally: Tally) -> str | None:
    text = _text(row, field)
    return None if text is None else normalise(text, tally.rules) or None


def _text(row: Mapping[str, Any], field: str) -> str | None:
    value = name_of(row.get(field), field) if field in NAMES else row.get(field)
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadRow(f"{field} must be a string, got {type(value).__name__}")
    return value if value.strip() else None
