from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.corpus import encodings
from storyalign.corpus.encodings import encoding_of, read_whole
from storyalign.corpus.table_files import read_lines, read_table
from storyalign.errors import DataError

ENGLISH = "“Go,” she said – and the café closed at nine, as it did every night of that long year.\n"
CHINESE = "她在海边等了一夜，灯塔没有亮。“走吧，”他说。\n"
JAPANESE = "彼女は海辺で一晩中待っていたが、灯台は点かなかった。\n"
TRADITIONAL = "她在海邊等了一夜，燈塔沒有亮。「走吧，」他說。\n"


def write(tmp_path: Path, data: bytes, name: str = "a.txt") -> Path:
    (tmp_path / name).write_bytes(data)
    return tmp_path / name


@pytest.mark.parametrize(
    ("text", "codec", "name"),
    [
        (ENGLISH * 3, "utf-8", "utf-8"),
        (CHINESE * 3, "utf-8-sig", "utf-8"),
        (CHINESE * 3, "utf-16", "utf-16"),
        (ENGLISH * 3, "cp1252", "cp1252"),
        (CHINESE * 20, "gb18030", "gb18030"),
        (TRADITIONAL * 20, "big5", "big5"),
        (JAPANESE * 20, "shift_jis", "shift_jis"),
    ],
)
def test_the_encoding_of_a_file_is_found_and_its_text_read(tmp_path: Path, text: str, codec: str, name: str) -> None:
    path = write(tmp_path, text.encode(codec))
    assert encoding_of(path).name == name
    assert read_whole(path) == text


def test_one_decision_holds_for_lines_that_alone_look_like_another_encoding(tmp_path: Path) -> None:
    # One Chinese character in a long English line is two bytes beyond ASCII, which cp1252 would read, too.
    text = CHINESE * 40 + "The keeper wrote 海 into the ledger and " + "read on, " * 40 + "\n" + CHINESE * 10
    assert read_whole(write(tmp_path, text.encode("gb18030"))) == text


def test_long_english_lines_of_a_chinese_file_are_read_with_it(tmp_path: Path) -> None:
    text = "".join(f"{n},{'a word and another one, ' * 30}灯塔,{CHINESE}" for n in range(50))
    assert read_whole(write(tmp_path, text.encode("gb18030"))) == text


def test_stray_cp1252_beside_utf8(tmp_path: Path) -> None:
    path = write(tmp_path, CHINESE.encode() * 2 + ENGLISH.encode("cp1252") + ENGLISH.encode())
    assert list(read_lines(path)) == [CHINESE.rstrip(), CHINESE.rstrip(), ENGLISH.rstrip(), ENGLISH.rstrip()]
    assert encoding_of(path).name == "utf-8 with stray bytes of cp1252"


def test_the_table_reader_decides_once_too(tmp_path: Path) -> None:
    data = ("id,story\n" + "".join(f"{n},{CHINESE}" for n in range(30)) + "31,The keeper wrote 海.\n").encode("gb18030")
    rows = [line.row["story"] for line in read_table(write(tmp_path, data, "a.csv"))]
    assert rows == [CHINESE.rstrip()] * 30 + ["The keeper wrote 海."]


def test_a_changed_file_is_looked_at_again(tmp_path: Path) -> None:
    assert encoding_of(write(tmp_path, b"sea")).name == "utf-8"
    assert encoding_of(write(tmp_path, b"caf\xe9 and the sea\n")).name == "cp1252"


def test_the_file_is_never_in_memory_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_BLOCK", 7)  # cuts through characters of several bytes
    assert read_whole(write(tmp_path, (CHINESE * 20).encode())) == CHINESE * 20
    assert encoding_of(write(tmp_path, (CHINESE * 20).encode("gb18030"), "b.txt")).name == "gb18030"


@pytest.mark.parametrize(
    "data", [b"\x00\x01\xff" + b"\x00" * 40, b"\xff\xfea", CHINESE.encode() * 3 + b"\xb0\xa1\xb0\n"]
)
def test_bytes_in_no_known_encoding_are_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.txt: (no text in UTF-8|starts like UTF-16)"):
        encoding_of(write(tmp_path, data))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        encoding_of(tmp_path / "none.txt")
