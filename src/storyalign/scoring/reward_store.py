"""The rewards file: one row a candidate, resumable, and never half-written.

``rewards.jsonl`` itself is only ever replaced as a whole. While a run is going on, finished batches are appended to
``rewards.jsonl.part-0`` (one such file a process); the next run reads them, whatever its batch size or number of
processes. A row is used again exactly when its id, candidate and signature match, so a changed story alone is scored
again, and rewards of another scorer or other settings never come back. The end of a run puts all rows in the order of
the data, with ``rewards.jsonl.scorer.json`` beside them: the settings in readable form.

Every row carries ``check``, the digest of its other fields. A row that was changed after it was written is scored
again. Files written before rows had a check are trusted where the digest of the whole file in the settings still fits.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.errors import DataError, RowError
from storyalign.files import Line, appending, atomic_path, cut_half_line, held, read_jsonl, write_json, writing
from storyalign.records import BadRow, Instance, Reward, row_digest
from storyalign.text import TEXT_RULE, digest, same_text


class Request(NamedTuple):
    """One candidate to score."""

    id: str
    candidate: int
    prompt: str
    story: str
    rivals: tuple[str, ...] = ()
    """All stories of the group, for scorers whose reward for one story depends on the others."""


class Counts(NamedTuple):
    """What a rewards file holds."""

    scored: int
    unscored: int
    truncated: int
    reused: int
    """Rows that an earlier run had finished."""


def requests_of(instances: Iterable[Instance], *, with_rivals: bool = False) -> Iterator[Request]:
    """List every candidate of every instance, the chosen story first."""
    for item in instances:
        for candidate, story in enumerate(item.stories):
            yield Request(item.id, candidate, item.prompt, story, item.stories if with_rivals else ())


def row_signature(scorer: str, prompt: str, story: str, rivals: Sequence[str] = ()) -> str:
    """Hash everything that shaped one reward: the scorer's digest, the two texts, and the rivals where they count.

    Texts count in the form of ``text.same_text``, as scorers read them.
    """
    return digest(scorer, TEXT_RULE, *map(same_text, (prompt, story, *rivals)))


def checked_row(reward: Reward) -> dict[str, Any]:
    """Return a row of the rewards file, with the digest of its fields under ``check``."""
    row = reward.to_row()
    return {**row, "check": row_digest(row)}


def _is_intact(row: Mapping[str, Any]) -> bool:
    return row_digest({key: value for key, value in row.items() if key != "check"}) == row.get("check")


class RewardStore:
    """The rewards file of one run, held by ``open_store``."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def sidecar(self) -> Path:
        """The scorer's settings in readable form."""
        return self.path.with_name(f"{self.path.name}.scorer.json")

    @property
    def parts(self) -> list[Path]:
        """Rows of a run that has not ended yet."""
        return sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}.part-*"))

    def settings(self) -> dict[str, Any] | None:
        """Read what the rewards file was made with; None where no run has ended yet."""
        if not self.sidecar.is_file():
            return None
        try:
            value: dict[str, Any] = orjson.loads(self.sidecar.read_bytes())
        except orjson.JSONDecodeError as error:
            raise DataError(f"{self.sidecar}: not valid JSON ({error}); --fresh scores everything again") from error
        return value

    def clear(self) -> None:
        """Forget everything: finished rows, unfinished rows, settings."""
        for path in (*self.parts, self.path, self.sidecar):
            path.unlink(missing_ok=True)

    def repair(self) -> None:
        """Cut off the half line that a killed process may have left at the end of a part."""
        for part in self.parts:
            cut_half_line(part)

    def changed_rows(self) -> int:
        """Count the rows that are not as a run wrote them; they are scored again."""
        return sum(not intact for _, intact in self._lines())

    def known(self, scorer: str, requests: Iterable[Request]) -> dict[tuple[str, int], Reward]:
        """Find the rows that need no scoring again: neither failed calls nor rows changed since they were written.

        Raises:
            RowError: a line is no row of a rewards file.
        """
        stored = {(r.id, r.candidate, r.signature): r for r in self._rows() if r.status != "failed"}
        found: dict[tuple[str, int], Reward] = {}
        for request in requests:
            signature = row_signature(scorer, request.prompt, request.story, request.rivals)
            row = stored.get((request.id, request.candidate, signature))
            if row is not None:
                found[request.id, request.candidate] = row
        return found

    @contextmanager
    def appending(self, rank: int = 0) -> Iterator[Callable[[Iterable[Reward]], None]]:
        """Open this process's part; what is yielded writes the rows of a finished batch."""
        with appending(self.path.with_name(f"{self.path.name}.part-{rank}")) as write:
            yield lambda rewards: write(map(checked_row, rewards))

    def finish(self, scorer: str, requests: Sequence[Request], settings: dict[str, Any], reused: int) -> Counts:
        """Write the rewards file in the order of the requests, and its settings; then drop the parts.

        Raises:
            DataError: a request has no row.
        """
        stored: dict[tuple[str, int, str], Reward] = {}
        for row in self._rows():
            key = (row.id, row.candidate, row.signature)
            if row.status != "failed" or key not in stored:
                stored[key] = row
        keys = [(r.id, r.candidate, row_signature(scorer, r.prompt, r.story, r.rivals)) for r in requests]
        missing = [key for key in keys if key not in stored]
        if missing:
            raise DataError(
                f"{self.path}: {len(missing)} rows are missing, the first is {missing[0][:2]}; run it again"
            )
        rows = [stored[key] for key in keys]
        scored = sum(row.status == "scored" for row in rows)
        counts = Counts(scored, len(rows) - scored, sum(row.truncated for row in rows), reused)
        statuses = dict(sorted(Counter(row.status for row in rows).items()))
        data = b"".join(orjson.dumps(checked_row(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)
        with atomic_path(self.path) as temporary:
            temporary.write_bytes(data)
            write_json(
                self.sidecar,
                {
                    **settings,
                    "digest": scorer,
                    "rewards": digest(data.decode()),
                    "rows": len(rows),
                    "statuses": statuses,
                },
            )
        for part in self.parts:
            part.unlink()
        return counts

    def _rows(self) -> Iterator[Reward]:
        for line, intact in self._lines():
            if not intact:
                continue
            try:
                yield Reward.from_row(line.row)
            except BadRow as error:
                raise line.error(f"{error}; --fresh scores everything again") from error

    def _lines(self) -> Iterator[tuple[Line, bool]]:
        """Yield each row, and whether it is as a run wrote it."""
        for path in (self.path, *self.parts):
            if path.is_file():
                whole = path == self.path and self._is_whole()
                yield from ((line, whole or _is_intact(line.row)) for line in read_jsonl(path))

    def _is_whole(self) -> bool:
        written = (self.settings() or {}).get("rewards")
        return written is not None and written == digest(self.path.read_text(encoding="utf-8"))


@contextmanager
def open_store(path: str | Path, *, fresh: bool = False) -> Iterator[RewardStore]:
    """Hold a rewards file for this process and those that score with it.

    Args:
        path: the rewards file; its folder is made.
        fresh: drop what is there.

    Raises:
        DataError: another run holds the file, or it cannot be written.
    """
    path = Path(path)
    with writing(path):
        _refuse_other_files(path)
    with held(path):
        store = RewardStore(path)
        if fresh:
            store.clear()
        store.repair()
        yield store


def _refuse_other_files(path: Path) -> None:
    """Never read, replace or forget what is no rewards file."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give the name of a file, such as {path / 'rewards.jsonl'}")
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: is no regular file; rewards need one, as they are read again")
    if path.is_file():
        with path.open("rb") as handle:
            first = handle.readline()
        if first.strip() and b'"candidate"' not in first:
            raise RowError(path, 1, "not a row of a rewards file; name another --out")
