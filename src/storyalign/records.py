"""The rows that pass between steps: one frozen class each, with the checks that make a row whole.

On disk a row is one JSON object a line (or one Parquet row). Texts are plain strings everywhere; the one chat renderer
in ``models.chat`` turns them into conversations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import orjson

from storyalign import accuracy
from storyalign.text import UNKNOWN_LANGUAGE, content_id, digest, text_key

DIMENSIONS = accuracy.DIMENSIONS
SOURCES = accuracy.SOURCES

CONSTRUCTIONS = ("back_generation", "rewriting", "guided_continuation", "llm_pairs")
"""The four ways a preference pair is made (section 3.1)."""

IMPORTED = "imported"
"""The construction of a pair that the kit did not make: it comes from an existing preference set."""

PAIR_LABELS = (*CONSTRUCTIONS, IMPORTED)
"""What the column ``construction`` may hold."""

SPLITS = ("train", "validation")
"""The splits of the preference pairs."""

Status = Literal["scored", "too_long", "not_finite", "failed"]


class BadRow(ValueError):
    """A row lacks something; the reader adds file, line and id and raises ``RowError``."""


class OtherTexts(BadRow):
    """A person's judgement is about other texts than those it is held against."""


def check_judged_texts(row: Mapping[str, Any], texts: str) -> None:
    """Check that a person's judgement was given on these very texts.

    Args:
        row: a verdict, a settled group, or a row of a sheet, with ``texts``.
        texts: ``storyalign.text.judged_texts`` of the premise and stories at hand.

    Raises:
        OtherTexts: the judgement is about other texts.
        BadRow: the row does not say which texts were judged.
    """
    judged = row.get("texts")
    if not isinstance(judged, str) or not judged:
        raise BadRow(
            "texts is missing, the digest of the premise and stories that were judged; export the file again from its "
            "annotation store"
        )
    if judged != texts:
        raise OtherTexts("given on another premise or other stories than those that have this id now")


@dataclass(frozen=True, slots=True)
class Instance:
    """One group to choose from: a premise, the chosen story, and one or more rejected stories.

    StoryRMB instances have three rejected stories, a dimension and a source; sets from elsewhere may have another
    number of stories and no dimension. Candidate 0 is the chosen story, candidate ``i`` is ``rejected[i - 1]``.
    """

    id: str
    prompt: str
    chosen: str
    rejected: tuple[str, ...]
    """Best to worst where a ranking is known."""
    dimension: str | None = None
    source: str | None = None
    dimension_stage: int | None = None
    """1-4: the stage of the categorisation that decided (Appendix F); None where nobody decided."""
    chosen_writer: str | None = None
    rejected_writers: tuple[str, ...] = ()
    language: str = UNKNOWN_LANGUAGE
    corpus: str = "unknown"
    license: str = "unknown"
    tau_avg: float | None = None
    """Mean Kendall tau between judges (Eq. 2), -1 to 1."""
    route: str | None = None
    """How the ranking was settled: annotators, majority, or None where nobody ranked."""

    @property
    def stories(self) -> tuple[str, ...]:
        """All candidates, the chosen one first."""
        return (self.chosen, *self.rejected)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Instance:
        """Check one row and make an instance of it.

        Names of dimension and source are trimmed and lower-cased; without an id one is derived from the content.

        Raises:
            BadRow: a text is missing, empty or no string; there is no rejected story, or the chosen one is among them;
                a name or a number is unknown.
        """
        prompt, chosen = _text(row, "prompt"), _text(row, "chosen")
        rejected = _texts(row, "rejected")
        if not rejected:
            raise BadRow("expected at least 1 rejected story, found 0")
        keys = [text_key(story) for story in rejected]
        if (key := text_key(chosen)) in keys:
            raise BadRow(f"rejected[{keys.index(key)}] is the chosen story")
        writers = _names(row, "rejected_writers") if row.get("rejected_writers") else ()
        if writers and len(writers) != len(rejected):
            raise BadRow(f"{len(writers)} rejected_writers for {len(rejected)} rejected stories")
        tau = _number(row, "tau_avg")
        if tau is not None and not -1.0 <= tau <= 1.0:
            raise BadRow(f"tau_avg is {tau}; Kendall's tau lies between -1 and 1")
        stage = row.get("dimension_stage")
        if stage is not None and (isinstance(stage, bool) or stage not in (1, 2, 3, 4)):
            raise BadRow(f"dimension_stage is {stage!r}; expected 1, 2, 3, 4 or null")
        return cls(
            id=_id(row) or content_id("rmb", prompt, chosen, *rejected),
            prompt=prompt,
            chosen=chosen,
            rejected=rejected,
            dimension=_name(row, "dimension", DIMENSIONS),
            source=_name(row, "source", SOURCES),
            dimension_stage=None if stage is None else int(stage),
            chosen_writer=_optional(row, "chosen_writer"),
            rejected_writers=writers,
            language=_optional(row, "language") or _optional(row, "lang") or UNKNOWN_LANGUAGE,
            corpus=_optional(row, "corpus") or "unknown",
            license=_optional(row, "license") or "unknown",
            tau_avg=tau,
            route=_optional(row, "route"),
        )

    def require_storyrmb(self, *, dimension: bool = True) -> Instance:
        """Check what StoryRMB asks beyond ``from_row``: three different rejected stories, writers, dimension, source.

        Args:
            dimension: with False the dimension may be missing, as in sets whose judges did not decide on one.

        Raises:
            BadRow: one of them is missing.
        """
        if len(self.rejected) != 3:
            raise BadRow(f"expected 3 rejected stories, found {len(self.rejected)}")
        if len(set(map(text_key, self.stories))) != len(self.stories):
            raise BadRow("the same story stands twice in the group")
        for field in ("dimension", "source", "chosen_writer"):
            if getattr(self, field) is None and (dimension or field != "dimension"):
                raise BadRow(f"{field} is missing")
        if not self.rejected_writers:
            raise BadRow("rejected_writers is missing")
        return self

    def to_row(self) -> dict[str, Any]:
        """Turn the instance into a JSON-ready row with the columns of the ``storyrmb`` dataset."""
        return {**asdict(self), "rejected": list(self.rejected), "rejected_writers": list(self.rejected_writers)}


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """Two stories for one premise, the first one preferred."""

    id: str
    prompt: str
    chosen: str
    rejected: str
    construction: str
    chosen_writer: str | None = None
    rejected_writer: str | None = None
    corpus: str = "unknown"
    language: str = UNKNOWN_LANGUAGE
    license: str = "unknown"
    edit: str | None = None
    """The edit or prompt that lowered the rejected story, for ``rewriting``."""
    chosen_engagement: float | None = None
    rejected_engagement: float | None = None
    split: str = "train"

    @property
    def stories(self) -> tuple[str, str]:
        """Both stories, the preferred one first."""
        return self.chosen, self.rejected

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> PreferencePair:
        """Check one row and make a pair of it.

        Raises:
            BadRow: a text is missing, empty or no string; both stories are equal; a name is unknown.
        """
        prompt, chosen, rejected = _text(row, "prompt"), _text(row, "chosen"), _text(row, "rejected")
        if text_key(chosen) == text_key(rejected):
            raise BadRow("chosen and rejected are the same text")
        construction = _name(row, "construction", PAIR_LABELS)
        if construction is None:
            raise BadRow("construction is missing")
        return cls(
            id=_id(row) or content_id("pair", prompt, chosen, rejected),
            prompt=prompt,
            chosen=chosen,
            rejected=rejected,
            construction=construction,
            chosen_writer=_optional(row, "chosen_writer"),
            rejected_writer=_optional(row, "rejected_writer"),
            corpus=_optional(row, "corpus") or "unknown",
            language=_optional(row, "language") or _optional(row, "lang") or UNKNOWN_LANGUAGE,
            license=_optional(row, "license") or "unknown",
            edit=_optional(row, "edit"),
            chosen_engagement=_number(row, "chosen_engagement"),
            rejected_engagement=_number(row, "rejected_engagement"),
            split=_name(row, "split", SPLITS) or "train",
        )

    def to_row(self) -> dict[str, Any]:
        """Turn the pair into a JSON-ready row with the columns of the ``story_preferences`` dataset and its split."""
        return {name: getattr(self, name) for name in self.__slots__}  # asdict copies, and is ten times as slow


@dataclass(frozen=True, slots=True)
class Reward:
    """What one scorer said of one candidate."""

    id: str
    """The instance's id."""
    candidate: int
    """0 is the chosen story, ``i`` is ``rejected[i - 1]``."""
    reward: float | None
    """None exactly when ``status`` is not ``scored``; never NaN, never a stand-in value."""
    n_tokens: int
    """Tokens of the whole conversation before any cut; 0 where nothing was tokenised."""
    truncated: bool
    status: Status
    signature: str
    """Digest of everything that shaped the number: model, revision, template, dtype, max_length, and the texts."""
    detail: str | None = None
    """Why the candidate is unscored."""

    def __post_init__(self) -> None:
        """Refuse a number that is none, and a status that contradicts the number."""
        if self.reward is not None and not math.isfinite(self.reward):
            raise BadRow(f"reward is {self.reward}; store None with status not_finite")
        if (self.status == "scored") != (self.reward is not None):
            raise BadRow(f"status {self.status} with reward {self.reward}")

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Reward:
        """Check one row of a rewards file.

        Raises:
            BadRow: a field is missing or contradicts another.
        """
        missing = [f for f in ("id", "candidate", "reward", "status", "signature") if f not in row]
        if missing:
            raise BadRow(f"not a row of a rewards file: no {', '.join(missing)}")
        candidate = row["candidate"]
        if not isinstance(candidate, int) or isinstance(candidate, bool) or candidate < 0:
            raise BadRow(f"candidate is {candidate!r}; expected 0, 1, 2, ...")
        if row["status"] not in ("scored", "too_long", "not_finite", "failed"):
            raise BadRow(f"unknown status {row['status']!r}")
        tokens = row.get("n_tokens") or 0
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
            raise BadRow(f"n_tokens is {tokens!r}; expected a whole number")
        return cls(
            id=str(row["id"]),
            candidate=candidate,
            reward=_number(row, "reward"),
            n_tokens=tokens,
            truncated=bool(row.get("truncated")),
            status=row["status"],
            signature=str(row["signature"]),
            detail=_optional(row, "detail"),
        )

    def to_row(self) -> dict[str, Any]:
        """Turn the reward into a JSON-ready row."""
        return asdict(self)


def row_digest(row: Mapping[str, Any]) -> str:
    """Hash a JSON-ready row: every column and every value counts, the order of the columns does not.

    >>> row_digest({"id": "a", "n": 1}) == row_digest({"n": 1, "id": "a"})
    True
    """
    return digest(orjson.dumps(row, option=orjson.OPT_SORT_KEYS).decode())


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        found = "is missing" if value is None else f"must be a string, got {type(value).__name__}"
        raise BadRow(f"{field} {found}")
    if not value.strip():
        raise BadRow(f"{field} is empty")
    return value


def _texts(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = row.get(field)
    if isinstance(value, str) or not isinstance(value, Sequence):
        found = "is missing" if value is None else f"must be a list of strings, got {type(value).__name__}"
        raise BadRow(f"{field} {found}")
    return tuple(_text({f"{field}[{i}]": item}, f"{field}[{i}]") for i, item in enumerate(value))


def _id(row: Mapping[str, Any]) -> str | None:
    value = name_of(row.get("id"), "id")
    return value if value and value.strip() else None


def _names(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = row.get(field)
    named = [name_of(item, f"{field}[{i}]") for i, item in enumerate(value)] if isinstance(value, list) else value
    return _texts({field: named}, field)


def _optional(row: Mapping[str, Any], field: str) -> str | None:
    return name_of(row.get(field), field) or None


def name_of(value: Any, field: str) -> str | None:
    """Return a name (an id, a writer, a corpus) as a string: some files number them.

    Raises:
        BadRow: it is neither a string, nor a number, nor null.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRow(f"{field} must be a string or a number, got {type(value).__name__}")
    return str(value)


def _number(row: Mapping[str, Any], field: str) -> float | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadRow(f"{field} is {value!r}; expected a finite number or null")
    return float(value)


def _name(row: Mapping[str, Any], field: str, known: Sequence[str]) -> str | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(known):
        return known[value]  # the integer of a ClassLabel column
    name = value.strip().lower() if isinstance(value, str) else value
    if name not in known:
        raise BadRow(f"unknown {field} {value!r}; expected one of {', '.join(known)}")
    return str(name)
