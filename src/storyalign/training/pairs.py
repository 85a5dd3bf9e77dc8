"""Reading preference pairs from anywhere: a ``load_dataset`` name, a folder, a Hub id, or a JSONL file.

A row has ``prompt``, ``chosen`` and ``rejected``, as plain texts or as chat messages, or ``chosen`` and ``rejected``
alone as conversations that begin alike. All of them become a premise and two stories.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from storyalign.errors import DataError, RecipeError
from storyalign.files import read_jsonl
from storyalign.records import PAIR_LABELS, BadRow
from storyalign.text import text_key

if TYPE_CHECKING:
    from datasets import Dataset

UNKNOWN = "unknown"
"""The construction of a pair whose row names none."""

_COLUMNS = (
    "id", "prompt", "chosen", "rejected", "construction", "chosen_writer", "chosen_engagement", "rejected_engagement",
)  # fmt: skip
_LINE = "__line__"


@dataclass(frozen=True)
class PairSource:
    """One set of pairs in a recipe."""

    path: str
    name: str | None = None
    """The dataset's configuration."""
    split: str = "train"
    weight: float = 1.0
    """How often one epoch shows each pair: 1 is once, 0.5 a seeded half of the set, 2.5 twice and half of it again."""
    pairs: int | None = None
    """Take this many pairs only, drawn with the seed."""
    revision: str | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are none."""
        if self.pairs is not None and self.pairs < 1:
            raise RecipeError(f"datasets: pairs of {self.path} is {self.pairs}; expected 1 or more")
        if not 0 < self.weight < math.inf:
            raise RecipeError(f"datasets: the weight of {self.path} is {self.weight}; expected a number above 0")

    def __str__(self) -> str:
        return ":".join(part for part in (self.path, self.name, self.split) if part)


class Pair(NamedTuple):
    """A premise and two stories, the first one preferred."""

    prompt: str
    chosen: str
    rejected: str
    construction: str
    id: str | None = None
    engagement_ratio: float | None = None
    """log((1 + chosen) / (1 + rejected)) of the readers' engagement, where both are known; never below 0."""


class LoadedPairs(NamedTuple):
    """A source whose rows have all been checked."""

    source: PairSource
    rows: Dataset
    digest: str
    """SHA-256 of the rows' texts and constructions, in order."""
    counts: dict[str, int]
    """Pairs per construction."""
    writers: dict[str, int]
    """Pairs per writer of the chosen story, the most frequent first."""


def load_pairs(source: PairSource, *, needs_engagement: bool = False) -> LoadedPairs:
    """Load a set and check every row.

    Args:
        source: the set.
        needs_engagement: refuse rows whose engagement is no count; otherwise such rows have no engagement ratio.

    Raises:
        DataError: the set cannot be had, is empty, or a row is broken; the message names the set and the row.
        RowError: a line of a JSONL file is broken.
    """
    path = Path(source.path).expanduser()
    is_jsonl = path.suffix in (".jsonl", ".ndjson")
    rows = _from_jsonl(path, source.split, needs_engagement) if is_jsonl else _from_datasets(source)
    if not len(rows):
        raise DataError(f"{source}: no pairs; check the file and the split")
    return check_rows(source, rows, needs_engagement=needs_engagement)


def check_rows(source: PairSource, rows: Dataset, *, needs_engagement: bool = False) -> LoadedPairs:
    """Check every row, and count and hash them on the way.

    Raises:
        DataError: a row is broken; the message names the set and the row.
    """
    hasher, constructions, writers = hashlib.sha256(), Counter[str](), Counter[str]()
    names = label_names(rows)
    for index, row in enumerate(iter_rows(rows)):
        try:
            pair = read_pair(row, names, needs_engagement=needs_engagement)
        except BadRow as problem:
            raise _row_error(source, index, row, str(problem)) from problem
        hasher.update(orjson.dumps(list(pair)))
        constructions[pair.construction] += 1
        writers[_writer(row) or UNKNOWN] += 1
    return LoadedPairs(
        source, rows, hasher.hexdigest(), dict(sorted(constructions.items())), dict(writers.most_common())
    )


def iter_rows(rows: Dataset) -> Iterator[dict[str, Any]]:
    """Go through a set row by row, reading it in batches."""
    for batch in rows.iter(batch_size=256):
        columns = list(batch)
        for values in zip(*batch.values(), strict=True):
            yield dict(zip(columns, values, strict=True))


def label_names(rows: Dataset) -> Sequence[str]:
    """Return the names behind the integers of the column ``construction``."""
    feature = rows.features.get("construction")
    return getattr(feature, "names", None) or PAIR_LABELS


def read_pair(
    row: Mapping[str, Any], construction_names: Sequence[str] = PAIR_LABELS, *, needs_engagement: bool = False
) -> Pair:
    """Make a pair of one row.

    Args:
        row: a row with the columns named in the module's docstring; others are ignored.
        construction_names: what the integers of a ClassLabel column stand for.
        needs_engagement: refuse an engagement that is no count.

    Raises:
        BadRow: a text is missing or empty, the stories are equal, or a conversation has other turns than one of the
            user and one of the assistant.
    """
    prompt = row.get("prompt")
    if prompt is None:
        opening, chosen = _conversation(row, "chosen")
        other, rejected = _conversation(row, "rejected")
        if opening != other:
            raise BadRow("there is no prompt, and chosen and rejected begin with different user turns")
        prompt = opening
    else:
        prompt = prompt if isinstance(prompt, str) else _turn(prompt, "prompt", "user")
        chosen, rejected = _answer(row, "chosen", prompt), _answer(row, "rejected", prompt)
    for field, text in (("prompt", prompt), ("chosen", chosen), ("rejected", rejected)):
        if not text.strip():
            raise BadRow(f"{field} is empty")
    if text_key(chosen) == text_key(rejected):
        raise BadRow("chosen and rejected are the same text")
    row_id = row.get("id")
    return Pair(
        prompt, chosen, rejected, _construction(row.get("construction"), construction_names),
        None if row_id is None else str(row_id), _engagement_ratio(row, needs_engagement),
    )  # fmt: skip


def _from_jsonl(path: Path, split: str, needs_engagement: bool) -> Dataset:
    from datasets import Dataset

    columns: dict[str, list[Any]] = {name: [] for name in (*_COLUMNS, _LINE)}
    for line in read_jsonl(path):
        if (line.row.get("split") or "train") != split:  # as in PreferencePair
            continue
        try:
            pair = read_pair(line.row, needs_engagement=needs_engagement)
        except BadRow as problem:
            raise line.error(str(problem)) from problem
        # Arrow columns have one type: names are strings, engagement is a number.
        row = {
            **pair._asdict(),
            "chosen_writer": _writer(line.row),
            "chosen_engagement": _count(line.row.get("chosen_engagement")),
            "rejected_engagement": _count(line.row.get("rejected_engagement")),
            _LINE: line.number,
        }
        for name, column in columns.items():
            column.append(row.get(name))
    return Dataset.from_dict(columns)


def _from_datasets(source: PairSource) -> Dataset:
    from datasets import DatasetDict, load_dataset
    from datasets.exceptions import DatasetNotFoundError

    try:
        rows = load_dataset(source.path, source.name, split=source.split, revision=source.revision)
    except DatasetNotFoundError as error:
        raise DataError(f"{source.path}: no such folder here, and no dataset on the Hub that can be read") from error
    except (OSError, ValueError, ConnectionError) as error:
        raise DataError(f"{source}: cannot be loaded ({_first_line(error)})") from error
    if isinstance(rows, DatasetDict):
        raise DataError(f"{source}: expected one split")
    wanted = [name for name in rows.column_names if name in _COLUMNS]
    missing = {"chosen", "rejected"} - set(wanted)
    if missing:
        names = " and no column ".join(sorted(missing))
        raise DataError(f"{source}: no column {names}; its columns are {rows.column_names}")
    return rows.select_columns(wanted)


def _answer(row: Mapping[str, Any], field: str, prompt: str) -> str:
    value = row.get(field)
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence) and len(value) == 2:  # the whole conversation beside its prompt
        opening, answer = _conversation(row, field)
        if opening != prompt:
            raise BadRow(f"{field} begins with another user turn than prompt")
        return answer
    return _turn(value, field, "assistant")


def _conversation(row: Mapping[str, Any], field: str) -> tuple[str, str]:
    value = row.get(field)
    if isinstance(value, str):
        raise BadRow("prompt is missing")
    if not isinstance(value, Sequence) or len(value) != 2:
        raise BadRow(f"{field} is no conversation of one user turn and one assistant turn")
    return _turn(value[:1], field, "user"), _turn(value[1:], field, "assistant")


def _turn(value: Any, field: str, role: str) -> str:
    if value is None:
        raise BadRow(f"{field} is missing")
    message = value[0] if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1 else value
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), str):
        raise BadRow(f"{field} is neither a text nor a single chat message")
    if message.get("role") != role:
        raise BadRow(f"{field} holds a turn of {message.get('role')!r}; expected {role!r}")
    return str(message["content"])


def _construction(value: Any, names: Sequence[str]) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, int):
        if not 0 <= value < len(names):
            raise BadRow(f"construction {value} has no name; the column knows {len(names)}")
        return names[value]
    return str(value).strip().lower() or UNKNOWN


def _writer(row: Mapping[str, Any]) -> str | None:
    value = row.get("chosen_writer")
    return None if value is None else str(value)


def _count(value: Any) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _engagement_ratio(row: Mapping[str, Any], needed: bool) -> float | None:
    chosen, rejected = row.get("chosen_engagement"), row.get("rejected_engagement")
    if chosen is None or rejected is None:
        return None
    for value in (chosen, rejected):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            if needed:
                raise BadRow(f"engagement is {value!r}; expected a count from 0 up, or train with engagement_margin 0")
            return None
    return max(math.log((1 + chosen) / (1 + rejected)), 0.0)


def _row_error(source: PairSource, index: int, row: Mapping[str, Any], problem: str) -> DataError:
    identity = f" (id {row['id']})" if row.get("id") is not None else ""
    place = f"{source.path}:{row[_LINE]}" if _LINE in row else f"{source}, row {index}"
    return DataError(f"{place}{identity}: {problem}")


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
