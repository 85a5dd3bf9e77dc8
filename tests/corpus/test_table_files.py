from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError, RowError

ROWS = [{"title": "A", "content": "One,\ntwo."}, {"title": "B", "content": 'He said "go".'}]


def write(folder: Path, name: str) -> Path:
    path = folder / name
    if name.endswith(".jsonl"):
        path.write_bytes(
            b'\xef\xbb\xbf{"title": "A", "content": "One,\\ntwo."}\r\n{"title":"B","content":"He said \\"go\\"."}\r\n'
        )
    elif name.endswith(".json"):
        path.write_text('[{"title": "A", "content": "One,\\ntwo."}, {"title": "B", "content": "He said \\"go\\"."}]')
    elif name.endswith(".csv"):
        path.write_bytes(b'\xef\xbb\xbftitle;content\r\nA;"One,\r\ntwo."\r\nB;"He said ""go""."\r\n')
    elif name.endswith(".tsv"):
        path.write_text('title\tcontent\nA\t"One,\ntwo."\nB\t"He said ""go""."\n')
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("a.jsonl", [1, 2]), ("a.json", [1, 2]), ("a.csv", [2, 4]), ("a.tsv", [2, 4]), ("a.parquet", [1, 2])],
)
def test_each_format_gives_the_same_rows_and_where_they_stand(tmp_path: Path, name: str, numbers: list[int]) -> None:
    lines = list(read_table(write(tmp_path, name)))
    assert [line.row for line in lines] == ROWS
    assert [line.number for line in lines] == numbers


def test_a_field_longer_than_csvs_usual_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"story\n{'sea ' * 100_000}\n")  # the csv module stops at 131,072 characters unless told otherwise
    assert len(next(read_table(path)).row["story"]) == 400_000


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("a.csv", b"title,content\nA,One\nB\n", RowError, "a.csv:3: 1 fields under 2 columns"),
        ("a.csv", b'title,content\nA,"One\n', RowError, "a.csv:2: not readable as CSV"),
        ("a.csv", b"id,score,score\n1,2,3\n", DataError, "a.csv: columns 2 and 3 are both named 'score'"),
        ("a.csv", b"", DataError, "a.csv: the file is empty"),
        ("a.json", b'{"title": "A"}', DataError, "a.json: expected a list of objects, found dict"),
        ("a.json", b"[1]", RowError, "a.json:1: expected an object"),
        ("a.jsonl", b'{"title": "A"}\n{"title"', RowError, "a.jsonl:2: not valid JSON"),
        ("a.parquet", b"PAR1", DataError, "a.parquet: no readable Parquet"),
        ("a.docx", b"", DataError, "a.docx: unknown kind of file"),
    ],
)
def test_a_broken_file_is_named_with_its_line(
    tmp_path: Path, name: str, content: bytes, error: type[Exception], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message.replace("[", r"\[")):
        list(read_table(tmp_path / name))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_table(tmp_path / "none.csv"))


def test_columns_without_a_name_hide_nothing_and_short_rows_are_filled_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id;keep;;\n1;no\n2;yes;;\n")
    assert [line.row["keep"] for line in read_table(path, short_rows=True)] == ["no", "yes"]
    with pytest.raises(RowError, match=r"a\.csv:2: 2 fields under 4 columns"):
        list(read_table(path))


def test_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["q", "q"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"columns 1 and 2 are both named 'q'"):
        list(read_table(tmp_path / "a.parquet"))
