"""Verdicts as files: out for the next step, and in and out for people who annotate elsewhere, as JSONL or CSV.

A *sheet* holds the groups of one annotator, blind and shuffled as the app shows them, with empty fields to fill in.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.annotation.assignments import deal
from storyalign.annotation.store import Claim, Store
from storyalign.annotation.tasks import MODES, Task
from storyalign.annotation.verdicts import KINDS, Answer, Kind, Verdict, make_verdict
from storyalign.corpus.numbers import read_optional_number
from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError
from storyalign.files import Line, atomic_path, read_jsonl, write_jsonl
from storyalign.records import BadRow, check_judged_texts

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A spreadsheet would run a cell that begins so; a quote before it makes it text, and is taken off again."""


_OTHER: dict[Kind, Kind] = {"independent": "senior", "senior": "independent"}


class Imported(NamedTuple):
    """What became of the rows of an imported file."""

    stored: int
    known: int
    """Verdicts that were there already."""
    blank: int
    """Rows of a sheet that nobody filled in."""


def letter(seat: int) -> str:
    """Name a seat: A, B, C, ..."""
    return chr(ord("A") + seat)


def seats_of(task: Task, annotator: str, kind: Kind) -> tuple[int, ...]:
    """Return the candidate of each seat, as this annotator sees the group; when it comes back it is shuffled anew."""
    return deal(len(task.stories), annotator, kind, task.id)


def sheet_rows(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """Make the rows of a sheet: no writers, no keys, stories under the letters of their seats."""
    rows = []
    for claim in claims:
        task, seats = claim.task, seats_of(claim.task, claim.annotator, claim.kind)
        row: dict[str, Any] = {
            "id": task.id,
            "texts": task.texts,
            "kind": claim.kind,
            "mode": task.mode,
            "prompt": task.prompt,
        }
        if task.mode == "confirm":
            row["given_order"] = " > ".join(letter(seats.index(c)) for c in task.ranking or ())
        row.update({f"story_{letter(s)}": task.stories[c] for s, c in enumerate(seats)})
        row.update({"order": "", "verdict": ""})
        if task.mode == "rank":
            row.update({f"score_{letter(s)}": "" for s in range(len(seats))})
        rows.append({**row, "seconds": ""})
    return rows


def read_sheet_row(row: Mapping[str, Any], task: Task, annotator: str) -> Verdict | None:
    """Turn a filled-in row of a sheet into a verdict; None where nothing was filled in.

    Raises:
        BadRow: the row is half filled in, holds something unknown, or shows other texts than the task.
    """
    check_judged_texts(row, task.texts)
    kind = row.get("kind") or "independent"
    if kind not in KINDS or (row.get("mode") or task.mode) not in MODES:
        raise BadRow(f"not a row of a sheet: kind {kind!r}, mode {row.get('mode')!r}")
    seats = seats_of(task, annotator, kind)
    order, word = str(row.get("order") or "").strip().upper(), str(row.get("verdict") or "").strip().casefold()
    cells = [str(row.get(f"score_{letter(s)}") or "").strip() for s in range(len(seats))]
    if not order and not word and not any(cells):
        return None
    if word not in ("", "unsure", "confirmed"):
        raise BadRow(f"verdict is {word!r}; leave it empty, or write unsure or (mode confirm) confirmed")
    if word == "confirmed" and task.mode != "confirm":
        raise BadRow(f"verdict confirmed belongs to mode confirm, and this group has mode {task.mode}")
    placed = [ord(found) - ord("A") for found in re.findall("[A-Z]", order)]
    if any(seat >= len(seats) for seat in placed) or re.sub(r"[A-Z\s,;>]", "", order):
        raise BadRow(f"order is {order!r}; expected letters of the stories, best first, as in B > A > C")
    ranking = tuple(seats[seat] for seat in placed)
    scores: list[int | None] = [None] * len(seats)
    for seat, cell in enumerate(cells):
        if cell and not re.fullmatch(r"\d+(\.0+)?", cell):
            raise BadRow(f"score_{letter(seat)} is {cell!r}; expected a whole number from 1 to 10")
        scores[seats[seat]] = int(float(cell)) if cell else None
    answer = Answer(
        ranking=task.ranking or () if word == "confirmed" and not order else ranking,
        scores=tuple(scores) if task.mode == "rank" else (),
        unsure=word == "unsure",
        accepted=True,  # nobody was there to show the contradiction; it is counted in the verdict
    )
    seconds = read_optional_number(row.get("seconds"), "seconds")
    if seconds is not None and seconds < 0:
        raise BadRow(f"seconds is {seconds}; expected a number from 0 up, or nothing")
    return make_verdict(task, answer, annotator, kind, seconds)


def import_rows(store: Store, lines: Iterable[Line], annotator: str | None = None) -> Imported:
    """Read verdict rows, or with ``annotator`` the rows of that person's sheet, into a store.

    All rows are checked before the first is stored. A verdict that is there already stays as it is.

    Args:
        store: where to.
        lines: the rows.
        annotator: the key of the person whose sheet it is.

    Raises:
        RowError: a row is broken, belongs to no group of the store, or contradicts a stored verdict.
    """
    tasks = {task.id: task for task in store.tasks()}
    there = {(v.id, v.annotator, v.kind): v for v in store.verdicts()}
    seniors = {key for key, role in store.roles().items() if role == "senior"}
    found: list[Verdict] = []
    blank = 0
    for line in lines:
        task = tasks.get(str(line.row.get("id")))
        if task is None:
            raise line.error("no such group in the store; was it made for another file?")
        try:
            if annotator is None:
                verdict: Verdict | None = Verdict.from_row(line.row, task)
            else:
                verdict = read_sheet_row(line.row, task, annotator)
        except BadRow as error:
            raise line.error(str(error)) from error
        if verdict is None:
            blank += 1
            continue
        key = (verdict.id, verdict.annotator, verdict.kind)
        if key in there and not _same(there[key], verdict):
            raise line.error(f"{verdict.annotator} gave another verdict on this group before; the first one stands")
        if verdict.kind == "senior" and verdict.annotator not in seniors:
            raise line.error(
                f"{verdict.annotator} is no senior of this store; name seniors with storyalign annotate --senior NAME, "
                "or the keys of another store with storyalign annotate import --senior KEY"
            )
        if verdict.kind != "check" and (verdict.id, verdict.annotator, _OTHER[verdict.kind]) in there:
            raise line.error(f"{verdict.annotator} judged this group already; nobody settles a dispute of her own")
        there[key] = verdict
        found.append(verdict)
    outcome = Counter(store.give(verdict) for verdict in found)
    return Imported(outcome[True], outcome[False], blank)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV or JSONL, by the ending of the name; lists stand as JSON in CSV.

    Raises:
        DataError: the name ends otherwise.
    """
    if path.suffix == ".jsonl":
        write_jsonl(path, map(dict, rows))
        return
    if path.suffix != ".csv":
        raise DataError(f"{path}: unknown ending; name a file .jsonl or .csv")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    with atomic_path(path) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8-sig", newline="")


def read_rows(path: Path) -> Iterator[Line]:
    """Read what ``write_rows`` wrote, also after a spreadsheet saved it.

    Raises:
        DataError: the file cannot be read, or its name ends otherwise.
    """
    if path.suffix == ".jsonl":
        yield from read_jsonl(path)
        return
    if path.suffix != ".csv":
        raise DataError(f"{path}: unknown ending; name a file .jsonl or .csv")
    for line in read_table(path, short_rows=True):
        try:
            yield line._replace(row={name: _value(name, cell) for name, cell in line.row.items()})
        except BadRow as error:
            raise line.error(str(error)) from error


def _same(one: Verdict, other: Verdict) -> bool:
    return (one.verdict, one.ranking, one.scores) == (other.verdict, other.ranking, other.scores)


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps(value)
    if isinstance(value, str) and _FORMULA.match(value):
        return f"'{value}"
    return value


def _value(name: str, cell: str) -> Any:
    if cell.startswith("'") and _FORMULA.match(cell):
        cell = cell[1:]
    if name in ("ranking", "scores", "annotators"):
        try:
            return json.loads(cell) if cell else None
        except json.JSONDecodeError:
            return cell
    if name == "seconds":
        return read_optional_number(cell, "column seconds")
    return cell
