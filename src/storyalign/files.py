"""Reading rows with their line, and writing so that nothing is ever half-written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.errors import DataError, RowError


class Line(NamedTuple):
    """One JSON object of a JSONL file and where it stands."""

    path: Path
    number: int
    """Line number, counted from 1."""
    row: dict[str, Any]
    offset: int = 0
    """Byte at which the line begins."""

    @property
    def place(self) -> str:
        """Where the row stands: ``file:line``."""
        return f"{self.path}:{self.number}"

    def error(self, problem: str) -> RowError:
        """Make the error that names this line and the row's id."""
        row_id = self.row.get("id")
        return RowError(self.path, self.number, problem, None if row_id is None else str(row_id))


class RawLine(NamedTuple):
    """One line of a JSONL file, not yet parsed, and where it stands."""

    path: Path
    number: int
    """Line number, counted from 1."""
    data: bytes
    """With its line break, without a byte-order mark."""
    offset: int
    """Byte at which the line begins."""

    def parse(self) -> Line:
        """Parse the line.

        Raises:
            RowError: it is no UTF-8, no JSON or no object.
        """
        try:
            row = orjson.loads(self.data)
        except orjson.JSONDecodeError as error:
            raise RowError(self.path, self.number, f"not valid JSON ({_why_no_json(self.data, error)})") from error
        if not isinstance(row, dict):
            advice = "; put each row on a line of its own, without the brackets" if isinstance(row, list) else ""
            raise RowError(self.path, self.number, f"expected a JSON object, found {type(row).__name__}{advice}")
        return Line(self.path, self.number, row, self.offset)


def read_lines(path: str | Path) -> Iterator[RawLine]:
    """Read the lines of a JSONL file lazily, without a look at what they say; blank ones are passed over.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    path = Path(path)
    try:
        handle = path.open("rb", buffering=1 << 20)  # a row with stories is often longer than the default
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    with handle:
        offset = end = 0
        for number, data in enumerate(handle, start=1):
            offset, end = end, end + len(data)
            data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
            if not data.isspace():
                yield RawLine(path, number, data, offset)


def read_jsonl(path: str | Path) -> Iterator[Line]:
    """Read a JSONL file lazily; blank lines are passed over, a byte-order mark is ignored.

    Raises:
        DataError: the file is missing or cannot be read.
        RowError: a line is no UTF-8, no JSON or no object.
    """
    for line in read_lines(path):
        yield line.parse()


def _why_no_json(data: bytes, error: orjson.JSONDecodeError) -> str:
    """Return what kind of file this seems to be, and what to do about it."""
    if data.startswith(b"\x1f\x8b"):
        return "the file is compressed; unpack it with gunzip"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the file is UTF-16; save it as UTF-8"
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {wrong.start + 1} of the line is not UTF-8; save the file as UTF-8"
    rest = data[len(error.doc[: error.pos].encode()) :]
    if rest.startswith((b"NaN", b"Infinity", b"-Infinity")):
        return "JSON has no NaN and no infinity; write null"
    if b"\r" in data.rstrip(b"\r\n"):
        return "the lines end in CR alone; end them in LF"
    if not rest.strip():
        return "the line breaks off; a row is one whole line"
    return f"{error.msg}, column {error.colno}"


class RowsById:
    """The rows of a JSONL file by their id; memory holds only where each one stands.

    Raises:
        DataError: the file is missing or cannot be read.
        RowError: a line is broken, has no id, or one that another has.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._offsets: dict[str, int] = {}
        for line in read_jsonl(self.path):
            row_id = line.row.get("id")
            if not isinstance(row_id, str) or not row_id:
                raise line.error("the row has no id")
            if row_id in self._offsets:
                first = next(other for other in read_jsonl(self.path) if other.offset == self._offsets[row_id])
                raise line.error(f"duplicate id {row_id}: {first.place} has it, too")
            self._offsets[row_id] = line.offset

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, row_id: str) -> bool:
        return row_id in self._offsets

    def __iter__(self) -> Iterator[str]:
        """Yield the ids in the order of the file."""
        return iter(self._offsets)

    def get(self, row_id: str) -> dict[str, Any] | None:
        """Read one row; None where there is none of that id."""
        offset = self._offsets.get(row_id)
        if offset is None:
            return None
        with self.path.open("rb") as handle:
            handle.seek(offset)
            row: dict[str, Any] = orjson.loads(handle.readline().removeprefix(b"\xef\xbb\xbf"))
            return row


@contextmanager
def writing(path: str | Path) -> Iterator[None]:
    """Turn what the machine says against writing ``path`` (no space, no right, a folder) into an error that names it.

    Raises:
        DataError: ``path`` cannot be written.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise DataError(f"{path}: cannot be written ({reason}); make room, or name another place") from error


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; it takes the place of ``path`` only if the block ends without an error.

    A link is followed. What is no regular file, as ``/dev/stdout`` or a named pipe, stays and gets the bytes.

    Raises:
        DataError: ``path`` cannot be written.
    """
    with writing(path):
        if Path(path).is_dir():
            raise DataError(f"{path}: is a folder; give the name of a file")
        if Path(path).exists() and not Path(path).is_file():
            with tempfile.TemporaryDirectory() as folder:
                temporary = Path(folder) / "file"
                yield temporary
                with temporary.open("rb") as made, Path(path).open("wb") as device:
                    shutil.copyfileobj(made, device)
            return
        target = Path(os.path.realpath(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 file in one step."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Write an indented JSON file in one step; NaN and infinity become null, as JSON has neither."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def write_jsonl(path: str | Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows to a JSONL file in one step and return their number."""
    count = 0
    with atomic_path(path) as temporary, temporary.open("wb") as handle:
        for row in rows:
            handle.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; it takes the place of ``path`` only if the block ends without an error.

    An older folder there stays whole until then.

    Raises:
        DataError: ``path`` cannot be written.
    """
    path = Path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        temporary.chmod(0o755)
        try:
            yield temporary
            if path.exists():
                old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
                try:
                    path.replace(old / path.name)
                    try:
                        temporary.replace(path)
                    except OSError:
                        (old / path.name).replace(path)
                        raise
                except OSError:
                    old.rmdir()
                    raise
                shutil.rmtree(old)
            else:
                temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def cut_half_line(path: Path) -> None:
    """Cut off what a killed process left of the last line; for the process that goes on writing the file."""
    if not path.is_file():
        return
    with path.open("rb+") as handle:
        size = handle.seek(0, 2)
        position, block = size, 1 << 16
        while position > 0:
            start = max(0, position - block)
            handle.seek(start)
            data = handle.read(position - start)
            if (at := data.rfind(b"\n")) >= 0:
                if start + at + 1 < size:
                    handle.truncate(start + at + 1)
                return
            position = start
        handle.truncate(0)


@contextmanager
def appending(path: Path) -> Iterator[Callable[[Iterable[Mapping[str, Any]]], None]]:
    """Open a log of rows for appending, a half line at its end cut off; its folder is made.

    Yields:
        A function that writes rows; they survive a kill once it has returned.

    Raises:
        DataError: the log cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        cut_half_line(path)
        handle = path.open("ab")

    def write(rows: Iterable[Mapping[str, Any]]) -> None:
        with writing(path):
            handle.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
            handle.flush()

    try:
        yield write
    finally:
        with writing(path):  # closing writes once more what a full disk refused
            handle.close()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep other processes from writing the same file or folder; the folder around it is made.

    Raises:
        DataError: another process holds it, or it cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise DataError(f"{path}: another process is writing here; wait for it, or use another --out") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from error
    try:
        yield
    finally:
        lock.release()
