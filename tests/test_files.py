"""Broken JSONL is named by its kind, and what cannot be written leaves nothing behind."""

from __future__ import annotations

import gzip
import os
import stat
import threading
from pathlib import Path

import pytest

from storyalign.errors import DataError, RowError
from storyalign.files import RowsById, atomic_folder, atomic_path, read_jsonl, write_json, write_text

ROW = b'{"id": "a"}\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(ROW, mtime=0), ":1: not valid JSON (the file is compressed; unpack it with gunzip)"),
        (ROW.decode().encode("utf-16"), ":1: not valid JSON (the file is UTF-16; save it as UTF-8)"),
        # cp1252 writes é as the one byte E9; it is the 13th of its line
        (ROW + b'{"id": "caf\xe9"}\n', ":2: not valid JSON (byte 12 of the line is not UTF-8; save the file as UTF-8)"),
        (ROW + b'{"id": "b", "x"', ":2: not valid JSON (the line breaks off; a row is one whole line)"),
        (b'{"reward": NaN}\n', ":1: not valid JSON (JSON has no NaN and no infinity; write null)"),
        (b'{"reward": -Infinity}\n', ":1: not valid JSON (JSON has no NaN and no infinity; write null)"),
        (b'{"id": "a"}\r{"id": "b"}\r', ":1: not valid JSON (the lines end in CR alone; end them in LF)"),
        (b"[" * 100_000, ":1: not valid JSON ("),
        (b'[{"id": "a"}]', ":1: expected a JSON object, found list; put each row on a line of its own"),
    ],
)
def test_a_broken_file_is_named_by_its_kind(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(RowError) as caught:
        list(read_jsonl(path))
    assert str(caught.value).startswith(f"{path}{said}") and "\n" not in str(caught.value)


def test_only_line_feeds_part_rows(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    path = tmp_path / "rows.jsonl"
    path.write_bytes("".join(f'{{"id": "{n}", "story": "{text}"}}\r\n' for n in (1, 2)).encode().replace(b"\x0b", b""))
    with pytest.raises(RowError):  # JSON allows no bare control character in a string
        list(read_jsonl(path))
    allowed = "a\u2028b\u2029c\x85d"
    path.write_text("".join(f'{{"id": "{n}", "story": "{allowed}"}}\r\n' for n in (1, 2)), encoding="utf-8-sig")
    assert [line.row["story"] for line in read_jsonl(path)] == [allowed, allowed]


def test_what_cannot_be_written_is_one_error_that_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "folder", tmp_path / "file" / "below.json", tmp_path / ("x" * 300)):
        with pytest.raises(DataError, match=str(path.name)):
            write_json(path, {})
    with pytest.raises(DataError, match="cannot be written"), atomic_folder(tmp_path / "file" / "made"):
        pass
    assert (tmp_path / "file").read_text() == "kept"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full, the device that is always full")
def test_a_full_device_is_one_error_and_stays_a_device(tmp_path: Path) -> None:
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        write_text(link, "text")
    assert link.is_symlink() and stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_a_named_pipe_gets_the_bytes_and_stays(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through the pipe")
    reader.join(timeout=10)
    assert heard == ["through the pipe"] and stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "file.txt")
    with atomic_path(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real" / "file.txt").read_text() == "new"


def test_an_id_that_comes_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "a"}\n\n{"id": "b"}\n{"id": "a"}\n')
    with pytest.raises(RowError, match=r"rows\.jsonl:4 \(id a\): duplicate id a: .*rows\.jsonl:1 has it, too"):
        RowsById(path)
