"""Reading pairs in columns against reading them row by row: never another row, and never a broken one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.errors import RowError
from storyalign.files import RawLine
from storyalign.hub.pair_columns import read_pair_columns
from storyalign.hub.row_blocks import read_blocks
from storyalign.records import BadRow, PreferencePair
from tests.rows import pair_row

NUMBERS = ("chosen_engagement", "rejected_engagement")
SCHEMA = pa.schema(
    [(name, pa.float64() if name in NUMBERS else pa.string()) for name in PreferencePair.__dataclass_fields__]
)


def raw(*lines: bytes) -> list[RawLine]:
    return [RawLine(Path("pairs.jsonl"), n, line, 0) for n, line in enumerate(lines, start=1)]


def read(*rows: dict[str, Any]) -> list[dict[str, Any]] | None:
    table = read_pair_columns(raw(*(orjson.dumps(row) + b"\n" for row in rows)), SCHEMA)
    return None if table is None else table.to_pylist()


def slowly(row: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return PreferencePair.from_row(row).to_row()
    except BadRow:
        return None


VALUES = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "\n\t", "\u3000", "\u3000海", "“So,” she said.", " a", "\x00", "\x1c", "\x7f", "train"]),
    st.sampled_from(["rewriting", " Rewriting ", "imported", "validation", "test", "kit-author", "zh"]),
    st.text(max_size=8),
    st.integers(-3, 3),
    st.integers(2**53, 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.lists(st.text(max_size=3), max_size=2),
)
FIELDS = (*PreferencePair.__dataclass_fields__, "extra")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3), min_size=1, max_size=3))
def test_what_is_read_in_columns_is_what_is_read_row_by_row(changes: list[dict[str, Any]]) -> None:
    rows = [{**pair_row(n), **change} for n, change in enumerate(changes)]
    read_so = read(*rows)
    if read_so is not None:
        assert read_so == [slowly(row) for row in rows]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"id": None},
        {"id": "  "},
        {"edit": "", "chosen_writer": "", "rejected_writer": None},
        {"corpus": "", "language": None, "license": ""},
        {"split": None},
        {"chosen": "“Quoted,” it began."},
        {"chosen": "\u3000她在海边等了一夜。"},
        {"chosen_engagement": 7, "rejected_engagement": 0.1},
        {"author_keys": ["a", "b"], "notes": {"deep": [1, "a", None]}},
        {"notes": "Information for NaN, and Infinity"},
    ],
)
def test_what_is_usual_is_read_in_columns(change: dict[str, Any]) -> None:
    rows = [pair_row(0), {**pair_row(1), **change}]
    assert read(*rows) == [slowly(row) for row in rows]


WHOLE = orjson.dumps(pair_row(0))


@pytest.mark.parametrize(
    "line",
    [
        WHOLE[:-1] + b',"x":NaN}',
        WHOLE[:-1] + b',"x":[1, -Infinity]}',
        WHOLE[:-1] + b',"chosen_engagement":NaN}',
        WHOLE[:-1] + b',"x":"\xff"}',
        WHOLE[:-1] + b',"x":"a\tb"}',
        WHOLE[:-1] + b',"x":"\\ud800"}',
        WHOLE[:-1] + b',"x":01}',
        WHOLE.replace(b"Flour hung", b"Flour\xed\xa0\x80hung"),
        WHOLE + WHOLE,
        WHOLE[:-1] + b",}",
        WHOLE[:-1],
        b"[" + WHOLE + b"]",
        WHOLE + b" // seen",
    ],
)
def test_what_is_no_row_is_not_read_in_columns(line: bytes) -> None:
    with pytest.raises(RowError):
        raw(line)[0].parse()
    assert read_pair_columns(raw(line, WHOLE), SCHEMA) is None


def test_two_rows_in_one_line_and_one_row_in_two_are_told_from_rows_in_lines() -> None:
    first, second = WHOLE, orjson.dumps(pair_row(1))
    half = second.index(b'"rejected"')
    assert read_pair_columns(raw(first + second, second[:half], second[half:]), SCHEMA) is None
    opened = b'{"notes":{}'  # ends like a row and is none
    assert read_pair_columns(raw(opened + b"\n", b"," + first[1:]), SCHEMA) is None
    assert read_pair_columns(raw(first + b"\r\n", second), SCHEMA) is not None


def test_the_line_with_an_error_ends_the_blocks_after_the_rows_before_it() -> None:
    lines = raw(*(json.dumps(pair_row(n, **({"chosen": " "} if n == 3 else {}))).encode() for n in range(5)))
    (block,) = read_blocks(lines, SCHEMA, PreferencePair.from_row, read_pair_columns)
    assert block.table.column("id").to_pylist() == ["pair-0000", "pair-0001", "pair-0002"]
    assert isinstance(block.error, RowError)
    assert str(block.error) == "pairs.jsonl:4 (id pair-0003): chosen is empty"
