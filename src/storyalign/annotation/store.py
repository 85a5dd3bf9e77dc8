"""The store: one SQLite file in WAL mode, which several processes may use at once.

Each change is one transaction that is on the disk before the caller goes on, so a kill loses at most what was never
confirmed. Keys of the tables keep a verdict from being there twice.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.annotation.assignments import Role, Standing, due_checks, next_pick
from storyalign.annotation.settling import State, state_of
from storyalign.annotation.tasks import Task
from storyalign.annotation.verdicts import Kind, Verdict
from storyalign.errors import DataError

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE tasks (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, row TEXT NOT NULL) STRICT;
CREATE TABLE annotators (key TEXT PRIMARY KEY, name TEXT UNIQUE, role TEXT NOT NULL) STRICT;
CREATE TABLE claims (
    task TEXT NOT NULL REFERENCES tasks (id), annotator TEXT NOT NULL REFERENCES annotators (key),
    kind TEXT NOT NULL, since REAL NOT NULL, draft TEXT,
    PRIMARY KEY (task, annotator, kind)) STRICT;
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks (id),
    annotator TEXT NOT NULL REFERENCES annotators (key), kind TEXT NOT NULL, row TEXT NOT NULL, at REAL NOT NULL,
    UNIQUE (task, annotator, kind)) STRICT;
CREATE UNIQUE INDEX one_senior ON verdicts (task) WHERE kind = 'senior';
CREATE INDEX by_annotator ON verdicts (annotator);
"""
VERSION = 2
"""1 had verdicts without the digest of their texts."""
WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How a store hands out groups; kept in the store, so that a second run goes on as the first."""

    needed: int = 2
    """Independent verdicts that a group needs."""
    check_every: int = 50
    check_sample: int = 5


class Annotator(NamedTuple):
    """Who judges. The name stays in the store."""

    key: str
    role: Role


class Claim(NamedTuple):
    """A group in the hands of an annotator."""

    task: Task
    annotator: str
    kind: Kind
    since: float
    """Seconds since the epoch."""
    draft: dict[str, Any]
    """What the page last noted; empty at first."""


class Counts(NamedTuple):
    """Where an annotator and everybody stand."""

    groups: int
    open: int
    """Groups that lack a verdict."""
    judged: int
    """Groups with a verdict of the annotator, checks left out."""


class Store:
    """Reads and writes the file; every method opens a connection of its own, so threads may share a store.

    Args:
        path: the file.
        create: make it where it is missing.
        clock: seconds since the epoch.

    Raises:
        DataError: the file is missing, no store, or of another version.
    """

    def __init__(self, path: str | Path, *, create: bool = False, clock: Callable[[], float] = time.time):
        self.path, self._clock = Path(path), clock
        if not create and not self.path.is_file():
            raise DataError(f"{path}: no such store; make one with: storyalign annotate TASKS.jsonl --store {path}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._changing() as db:
                found = db.execute("PRAGMA user_version").fetchone()[0]
                if found == 0:
                    self._set_up(db)
                elif found == 1:
                    self._add_texts(db)
                elif found != VERSION:
                    raise DataError(f"{path}: a store of version {found}; this kit reads version {VERSION}")
        except (OSError, sqlite3.DatabaseError) as error:
            raise DataError(f"{path}: no usable annotation store ({error}); name another file") from error

    def add_tasks(self, tasks: Iterable[Task]) -> tuple[int, int]:
        """Add groups and return how many are new and how many were there already.

        Raises:
            DataError: a group is there with other content; nothing is added then.
        """
        new = known = 0
        with self._changing() as db:
            for task in tasks:
                row = _json(task.to_row())
                there = db.execute("SELECT row FROM tasks WHERE id = ?", (task.id,)).fetchone()
                if there is None:
                    db.execute("INSERT INTO tasks (id, row) VALUES (?, ?)", (task.id, row))
                    new += 1
                elif there[0] == row:
                    known += 1
                else:
                    raise DataError(
                        f"{self.path}: group {task.id} is there with another text, order or mode; "
                        "verdicts on the old one would not fit, so use a new store or a new id"
                    )
        return new, known

    def settings(self) -> Settings:
        """Read how groups are handed out."""
        with self._reading() as db:
            return _settings(db)

    def change_settings(self, **changes: int | None) -> Settings:
        """Change some settings; None leaves one as it is."""
        with self._changing() as db:
            for name, value in changes.items():
                if value is not None:
                    db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, str(value)))
            return _settings(db)

    def key_of(self, name: str) -> str:
        """Return the key of a person: the same name, however spaced and cased, has the same key in one store."""
        with self._reading() as db:
            salt: str = db.execute("SELECT value FROM settings WHERE name = 'salt'").fetchone()[0]
        digest = hmac.digest(bytes.fromhex(salt), _plain(name).encode(), "sha256").hex()
        return f"annotator-{digest[:12]}"

    def sign_in(self, name: str, role: Role = "annotator") -> Annotator:
        """Sign a person in; a role once given stays, but an annotator may become a senior."""
        key = self.key_of(name)
        with self._changing() as db:
            self._let_in(db, key, " ".join(name.split()), role)
            return Annotator(key, db.execute("SELECT role FROM annotators WHERE key = ?", (key,)).fetchone()[0])

    def name_senior(self, key: str) -> None:
        """Make a person known by a key of another store a senior, who settles disputes."""
        with self._changing() as db:
            self._let_in(db, key, None, "senior")

    def names(self) -> dict[str, str]:
        """Return key -> name of those who signed in here; imported keys have no name."""
        with self._reading() as db:
            return dict(db.execute("SELECT key, name FROM annotators WHERE name IS NOT NULL ORDER BY key"))

    def roles(self) -> dict[str, Role]:
        """Return key -> role of everybody with a name or a verdict here."""
        with self._reading() as db:
            return dict(db.execute("SELECT key, role FROM annotators ORDER BY key"))

    def counts(self, key: str) -> Counts:
        """Count groups for the head of an annotator's page."""
        with self._reading() as db:
            (groups,) = db.execute("SELECT count(*) FROM tasks").fetchone()
            (complete,) = db.execute(
                "SELECT count(*) FROM (SELECT task FROM verdicts WHERE kind != 'check' GROUP BY task "
                "HAVING count(*) >= ? OR max(kind = 'senior'))",
                (_settings(db).needed,),
            ).fetchone()
            (judged,) = db.execute(
                "SELECT count(*) FROM verdicts WHERE annotator = ? AND kind != 'check'", (key,)
            ).fetchone()
        return Counts(groups, groups - complete, judged)

    def task(self, task_id: str) -> Task | None:
        """Return one group."""
        with self._reading() as db:
            row = db.execute("SELECT row FROM tasks WHERE id = ?", (task_id,)).fetchone()
        return None if row is None else Task.from_row(json.loads(row[0]))

    def tasks(self) -> list[Task]:
        """Return all groups in the order of the file."""
        with self._reading() as db:
            return [Task.from_row(json.loads(row)) for (row,) in db.execute("SELECT row FROM tasks ORDER BY place")]

    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, oldest first."""
        with self._reading() as db:
            return [_verdict(row) for (row,) in db.execute("SELECT row FROM verdicts ORDER BY number")]

    def verdicts_on(self, task_id: str) -> list[Verdict]:
        """Return the verdicts on one group, oldest first."""
        with self._reading() as db:
            found = db.execute("SELECT row FROM verdicts WHERE task = ? ORDER BY number", (task_id,)).fetchall()
        return [_verdict(row) for (row,) in found]

    def claim_next(self, annotator: Annotator) -> Claim | None:
        """Return the group that the annotator has open, or hand out the next one; None where there is none.

        Finding and claiming are one transaction, so two people never get the last free place of a group.
        """
        with self._changing() as db:
            own = db.execute(
                "SELECT task, kind, since, draft FROM claims WHERE annotator = ? ORDER BY since LIMIT 1",
                (annotator.key,),
            ).fetchone()
            if own is None:
                own = self._hand_out(db, annotator)
            if own is None:
                return None
            task_id, kind, since, draft = own
            row = db.execute("SELECT row FROM tasks WHERE id = ?", (task_id,)).fetchone()[0]
        draft = json.loads(draft) if draft else {}
        return Claim(Task.from_row(json.loads(row)), annotator.key, kind, since, draft)

    def claim_all(self, annotator: Annotator, most: int) -> list[Claim]:
        """Hand out many groups at once, for an annotator who works elsewhere; those already open come first."""
        with self._changing() as db:
            while self._open_claims(db, annotator.key) < most and self._hand_out(db, annotator):
                pass
            found = db.execute(
                "SELECT row, kind, since, draft FROM claims JOIN tasks ON tasks.id = claims.task "
                "WHERE annotator = ? ORDER BY place LIMIT ?",
                (annotator.key, most),
            ).fetchall()
        return [
            Claim(Task.from_row(json.loads(row)), annotator.key, kind, since, json.loads(draft) if draft else {})
            for row, kind, since, draft in found
        ]

    def note_draft(self, claim: Claim, draft: Mapping[str, Any]) -> None:
        """Keep what the annotator has entered so far; nothing happens where the group is no longer open."""
        with self._changing() as db:
            db.execute(
                "UPDATE claims SET draft = ? WHERE task = ? AND annotator = ? AND kind = ?",
                (_json(draft), claim.task.id, claim.annotator, claim.kind),
            )

    def give(self, verdict: Verdict) -> bool:
        """Store a verdict and close its claim, in one transaction.

        Returns:
            True if it was stored; False if this annotator's verdict on this group was there already, or a senior's
            where this is another senior's. The first one stands.
        """
        with self._changing() as db:
            self._let_in(db, verdict.annotator, None, "annotator")
            stored = db.execute(
                "INSERT OR IGNORE INTO verdicts (task, annotator, kind, row, at) VALUES (?, ?, ?, ?, ?)",
                (verdict.id, verdict.annotator, verdict.kind, _json(verdict.to_row()), self._clock()),
            )
            db.execute(
                "DELETE FROM claims WHERE task = ? AND annotator = ? AND kind = ?",
                (verdict.id, verdict.annotator, verdict.kind),
            )
            return stored.rowcount == 1

    def _hand_out(self, db: sqlite3.Connection, annotator: Annotator) -> tuple[str, Kind, float, str | None] | None:
        settings, now = _settings(db), self._clock()
        rows = db.execute("SELECT task, kind FROM verdicts WHERE annotator = ? ORDER BY number", (annotator.key,))
        done: dict[str, list[str]] = defaultdict(list)
        for task, kind in rows:
            done[kind].append(task)
        held = {t for (t,) in db.execute("SELECT task FROM claims WHERE annotator = ?", (annotator.key,))}
        seen = [*done["check"], *held]
        checks = due_checks(done["independent"], seen, settings.check_every, settings.check_sample, annotator.key)
        standings = (group for group in _standings(db, settings.needed, annotator.role) if group.id not in held)
        pick = next_pick(standings, annotator.key, annotator.role, needed=settings.needed, now=now, checks=checks)
        if pick is None:
            return None
        db.execute("INSERT INTO claims VALUES (?, ?, ?, ?, NULL)", (pick.task, annotator.key, pick.kind, now))
        return pick.task, pick.kind, now, None

    @staticmethod
    def _open_claims(db: sqlite3.Connection, key: str) -> int:
        count: int = db.execute("SELECT count(*) FROM claims WHERE annotator = ?", (key,)).fetchone()[0]
        return count

    @staticmethod
    def _let_in(db: sqlite3.Connection, key: str, name: str | None, role: Role) -> None:
        db.execute("INSERT OR IGNORE INTO annotators VALUES (?, ?, ?)", (key, name, role))
        db.execute("UPDATE annotators SET name = coalesce(name, ?) WHERE key = ?", (name, key))
        if role == "senior":
            db.execute("UPDATE annotators SET role = 'senior' WHERE key = ?", (key,))

    def _set_up(self, db: sqlite3.Connection) -> None:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise DataError(f"{self.path}: a database, but no annotation store; name another file")
        for statement in SCHEMA.split(";\n"):
            if statement.strip():
                db.execute(statement)
        db.execute("INSERT INTO settings VALUES ('salt', ?)", (secrets.token_hex(32),))
        db.execute(f"PRAGMA user_version = {VERSION}")

    @staticmethod
    def _add_texts(db: sqlite3.Connection) -> None:
        """Bring a store of version 1 up to date: its groups never change, so its verdicts are about their texts."""
        found = db.execute("SELECT number, verdicts.row, tasks.row FROM verdicts JOIN tasks ON tasks.id = task")
        for number, verdict, task in found.fetchall():
            row = {**json.loads(verdict), "texts": Task.from_row(json.loads(task)).texts}
            db.execute("UPDATE verdicts SET row = ? WHERE number = ?", (_json(row), number))
        db.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a connection; what one block reads is one state of the file."""
        db = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        try:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("BEGIN")
            yield db
        finally:
            db.close()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Open a connection and a transaction that holds the right to write from its beginning."""
        db = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise DataError(f"{self.path}: nothing was saved ({error}); check the disk, and try again") from error
        finally:
            db.close()  # rolls back what was not committed


def _settings(db: sqlite3.Connection) -> Settings:
    stored = dict(db.execute("SELECT name, value FROM settings WHERE name != 'salt'"))
    return Settings(**{name: int(value) for name, value in stored.items()})


def _standings(db: sqlite3.Connection, needed: int, role: Role) -> Iterator[Standing]:
    """Yield the groups that may be handed out to a role; stories are read only where a dispute must be told."""
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for (row,) in db.execute("SELECT row FROM verdicts WHERE kind != 'check' ORDER BY number"):
        verdict = _verdict(row)
        verdicts[verdict.id].append(verdict)
    claims: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for task_id, annotator, since in db.execute("SELECT task, annotator, since FROM claims WHERE kind != 'check'"):
        claims[task_id].append((annotator, since))
    for (task_id,) in db.execute("SELECT id FROM tasks ORDER BY place").fetchall():
        own = verdicts[task_id]
        complete = len(own) >= needed or any(v.kind == "senior" for v in own)
        if complete != (role == "senior"):
            continue
        state: State = "open"
        if complete:
            (row,) = db.execute("SELECT row FROM tasks WHERE id = ?", (task_id,)).fetchone()
            state = state_of(Task.from_row(json.loads(row)), own, needed)
        yield Standing(task_id, state, frozenset(v.annotator for v in own), tuple(claims[task_id]))


def _verdict(row: str) -> Verdict:
    value = json.loads(row)
    for name in ("ranking", "scores"):
        value[name] = None if value[name] is None else tuple(value[name])
    return Verdict(**value)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
