"""Stories, preference pairs and groups from elsewhere: cleaned and checked; what is left out is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from storyalign.corpus.human_story import HumanStory, text_field
from storyalign.corpus.language import detect_language
from storyalign.corpus.normalise import normalise
from storyalign.corpus.numbers import read_optional_number
from storyalign.corpus.tally import DROPPED, Tally
from storyalign.files import Line
from storyalign.not_stories import NO_STORY, not_a_story
from storyalign.records import IMPORTED, BadRow, Instance, PreferencePair, name_of
from storyalign.text import content_id, text_key

NO_PROMPT = "no prompt"
SAME = "chosen and rejected are the same text"
TOO_FEW = "no rejected story is left"
EQUAL_SCORES = "chosen and rejected have equal scores"
CONTRADICTED = "the rejected story has the higher score; --keep-contradicted keeps such pairs"
REPEATED = "a rejected story that repeats another of its group"

_SIDES = ("chosen", "rejected")

_Row = TypeVar("_Row", HumanStory, PreferencePair, Instance)

AuthorKey = Callable[[str], str]
"""Turns the name of an author into a key that cannot be turned back: a digest with a secret salt."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What holds for all rows of a corpus that do not say otherwise themselves."""

    corpus: str
    license: str = "unknown"
    language: str | None = None
    """None: the language of each story is detected."""
    engagement_kind: str | None = None


def clean_stories(
    lines: Iterable[Line], origin: Origin, tally: Tally, author_key: AuthorKey | None = None
) -> Iterator[HumanStory]:
    """Yield stories by people: texts normalised, languages detected, what is not a story dropped and counted.

    Args:
        lines: rows with the names of ``column_mapping.STORY_FIELDS``; only ``story`` is required.
        origin: corpus, licence and language of rows that name none.
        tally: counts rows, reasons and rules.
        author_key: makes the key of an author's name; without it authors are left out.

    Raises:
        RowError: a field has the wrong type; names file and line.
    """
    return _cleaned(lines, tally, lambda row: _story(row, origin, tally, author_key))


def clean_pairs(
    lines: Iterable[Line], origin: Origin, tally: Tally, *, keep_contradicted: bool = False
) -> Iterator[PreferencePair]:
    """Yield preference pairs of the construction ``imported``.

    Args:
        lines: rows with names of ``column_mapping.PAIR_FIELDS``; ``chosen_score`` and ``rejected_score`` are those of
            the source's own judges, ``dropped`` is why the row holds no pair.
        origin: corpus, licence and language of rows that name none.
        tally: counts rows, reasons and rules.
        keep_contradicted: keep pairs whose rejected story has the higher score or engagement.

    Raises:
        RowError: a field has the wrong type; names file and line.
    """
    return _cleaned(lines, tally, lambda row: _pair(row, origin, tally, keep_contradicted))


def clean_instances(lines: Iterable[Line], origin: Origin, tally: Tally) -> Iterator[Instance]:
    """Yield groups with one chosen story.

    A rejected story that is empty, an error, or repeats another but for white space is left out and counted, also
    where none is left and the group is dropped.

    Args:
        lines: rows with names of ``column_mapping.INSTANCE_FIELDS``.
        origin: corpus, licence and language of rows that name none.
        tally: counts rows, reasons and rules.

    Raises:
        RowError: a field has the wrong type, or names an unknown dimension or source; names file and line.
    """
    return _cleaned(lines, tally, lambda row: _instance(row, origin, tally))


def pairs_of(instance: Instance) -> Iterator[PreferencePair]:
    """Yield the chosen story of a group with each of its rejected ones."""
    writers = instance.rejected_writers or (None,) * len(instance.rejected)
    for number, (rejected, writer) in enumerate(zip(instance.rejected, writers, strict=True), start=1):
        yield PreferencePair(
            id=f"{instance.id}-{number}",
            prompt=instance.prompt,
            chosen=instance.chosen,
            rejected=rejected,
            construction=IMPORTED,
            chosen_writer=instance.chosen_writer,
            rejected_writer=writer,
            corpus=instance.corpus,
            language=instance.language,
            license=instance.license,
        )


def _cleaned(lines: Iterable[Line], tally: Tally, clean: Callable[[Mapping[str, Any]], _Row | str]) -> Iterator[_Row]:
    for line in lines:
        tally.read += 1
        try:
            row = line.row.get(DROPPED) or clean(line.row)
        except BadRow as error:
            raise line.error(str(error)) from error
        if isinstance(row, str):
            tally.drop(row, line.place)
        else:
            tally.keep()
            yield row


def _story(row: Mapping[str, Any], origin: Origin, tally: Tally, author_key: AuthorKey | None) -> HumanStory | str:
    raw = text_field(row, "story")
    if raw is None:
        return NO_STORY
    # Before and after: an error page is known by its tags, a deleted story by what is left of it.
    if reason := not_a_story(raw):
        return reason
    story = normalise(raw, tally.rules)
    if reason := not_a_story(story):
        return reason
    texts = {name: text_field(row, name) for name in ("prompt", "title", "abstract", "category")}
    clean = {name: (text and normalise(text, tally.rules)) or None for name, text in texts.items()}
    author, engagement = text_field(row, "author"), read_optional_number(row.get("engagement"), "engagement")
    return HumanStory(
        id=_id(row, origin) or content_id("story", clean["prompt"] or "", story),
        prompt=clean["prompt"] or "",
        story=story,
        title=clean["title"],
        abstract=clean["abstract"],
        category=clean["category"],
        author_key=author_key(author.strip()) if author and author_key and not_a_story(author) is None else None,
        engagement=engagement,
        engagement_kind=None if engagement is None else text_field(row, "engagement_kind") or origin.engagement_kind,
        **_origin(row, origin, story),
    )


def _pair(raw: Mapping[str, Any], origin: Origin, tally: Tally, keep_contradicted: bool) -> PreferencePair | str:
    scores, engagement = _both(raw, "score"), _both(raw, "engagement")
    if scores and scores[0] == scores[1]:
        return EQUAL_SCORES
    if not keep_contradicted and any(both and both[0] < both[1] for both in (scores, engagement)):
        return CONTRADICTED
    texts = _texts(raw, ("prompt", "chosen", "rejected"), tally)
    if isinstance(texts, str):
        return texts
    prompt, chosen, rejected = texts
    if text_key(chosen) == text_key(rejected):
        return SAME
    row = {
        **_known(raw),
        **_origin(raw, origin, chosen),
        "id": _id(raw, origin) or content_id("pair", *texts),
        "prompt": prompt,
        "chosen": chosen,
        "rejected": rejected,
        "construction": IMPORTED,
    }
    return PreferencePair.from_row(row)


def _instance(raw: Mapping[str, Any], origin: Origin, tally: Tally) -> Instance | str:
    texts = _texts(raw, ("prompt", "chosen"), tally)
    if isinstance(texts, str):
        return texts
    prompt, chosen = texts
    given, writers = raw.get("rejected"), raw.get("rejected_writers")
    if not isinstance(given, list):
        raise BadRow("rejected must be a list of strings")
    if writers is not None and (not isinstance(writers, list) or len(writers) != len(given)):
        raise BadRow(f"rejected_writers must be a list with one name for each of the {len(given)} rejected stories")
    kept: dict[str, Any] = {}
    left_out, keys = Counter[str](), {text_key(chosen)}
    for number, text in enumerate(given):
        story = "" if text is None else _normal(text, f"rejected[{number}]", tally)
        if reason := not_a_story(story):
            left_out[f"rejected: {reason}"] += 1
        elif text_key(story) in keys:
            left_out[REPEATED] += 1
        else:
            keys.add(text_key(story))
            kept[story] = writers[number] if writers else None
    tally.left_out.update(left_out)
    if not kept:
        return f"{TOO_FEW} ({', '.join(left_out)})" if left_out else TOO_FEW
    row = {
        **_known(raw),
        **_origin(raw, origin, chosen),
        "id": _id(raw, origin) or content_id("rmb", prompt, chosen, *kept),
        "prompt": prompt,
        "chosen": chosen,
        "rejected": list(kept),
        "rejected_writers": list(kept.values()) if None not in kept.values() and "" not in kept.values() else None,
    }
    return Instance.from_row(row)


def _texts(raw: Mapping[str, Any], fields: tuple[str, ...], tally: Tally) -> tuple[str, ...] | str:
    texts = []
    for field in fields:
        value = raw.get(field)
        text = "" if value is None else _normal(value, field, tally)
        if field == "prompt" and not text:
            return NO_PROMPT
        if field != "prompt" and (reason := not_a_story(text)):
            return f"{field}: {reason}"
        texts.append(text)
    return tuple(texts)


def _normal(value: Any, field: str, tally: Tally) -> str:
    if not isinstance(value, str):
        raise BadRow(f"{field} must be a string, got {type(value).__name__}")
    return normalise(value, tally.rules)


def _id(row: Mapping[str, Any], origin: Origin) -> str | None:
    """Return the id of the source prefixed with the name of its corpus; None if there is none."""
    own = (name_of(row.get("id"), "id") or "").strip()
    return f"{origin.corpus}-{own}" if own else None


def _origin(row: Mapping[str, Any], origin: Origin, story: str) -> dict[str, str]:
    language = text_field(row, "language") or text_field(row, "lang") or origin.language
    return {
        "corpus": text_field(row, "corpus") or origin.corpus,
        "license": text_field(row, "license") or origin.license,
        "language": language or detect_language(story),
    }


def _known(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with a value: an empty cell of a CSV file has none."""
    return {name: value for name, value in raw.items() if value is not None and value != ""}


def _both(raw: Mapping[str, Any], what: str) -> tuple[float, float] | None:
    chosen, rejected = (read_optional_number(raw.get(f"{name}_{what}"), f"{name}_{what}") for name in _SIDES)
    return None if chosen is None or rejected is None else (chosen, rejected)
