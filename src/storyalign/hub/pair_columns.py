"""Lines of preference pairs straight into Arrow columns, where nothing is unusual about them.

The checks are those of ``PreferencePair.from_row``. They say only yes or no: lines that they do not pass are read again
row by row, which accepts what is merely unusual and names what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from storyalign.files import RawLine
from storyalign.hub.row_checks import KIT_AUTHOR
from storyalign.records import PAIR_LABELS, SPLITS, PreferencePair
from storyalign.text import content_id, text_key

_TEXTS = ("prompt", "chosen", "rejected")
_OPTIONAL = ("chosen_writer", "rejected_writer", "edit")
_DEFAULTS = {f.name: f.default for f in fields(PreferencePair) if f.name in ("corpus", "language", "license")}
_NUMBERS = ("chosen_engagement", "rejected_engagement")


def read_pair_columns(lines: Sequence[RawLine], schema: pa.Schema) -> pa.Table | None:
    """Read lines as a table of pairs; None where a row is broken, unusual, or belongs to the kit's sample.

    Args:
        lines: none of them blank.
        schema: the columns of the pairs and ``split``, in their order.
    """
    # Each line one object: with as many objects as lines, no object can then begin or end in mid-line.
    if not all(line.data[:1] == b"{" and line.data[-3:].rstrip(b"\r\n")[-1:] == b"}" for line in lines):
        return None
    table = _parsed(b"".join(line.data for line in lines), schema)
    if table is None or table.num_rows != len(lines) or not _whole(table):
        return None
    columns = {name: table.column(name).chunk(0) for name in schema.names}  # one block, one chunk
    for name in _OPTIONAL:
        columns[name] = _without_empty(columns[name])
    for name, default in _DEFAULTS.items():
        columns[name] = _without_empty(columns[name]).fill_null(default)
    columns["split"] = columns["split"].fill_null("train")
    columns["id"] = _ids(columns)
    return pa.Table.from_arrays([columns[field.name] for field in schema], schema=schema)


def _parsed(data: bytes, schema: pa.Schema) -> pa.Table | None:
    if not _is_utf8(data):  # Arrow does not look at the fields that it passes over
        return None
    for unexpected in ("error", "ignore"):
        # A row may name its language under lang.
        if unexpected == "ignore" and (_has_no_numbers(data) or b'"lang"' in data):
            return None
        parse = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
        read = pj.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            return pj.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            continue
    return None


def _has_no_numbers(data: bytes) -> bool:
    """Tell whether NaN or infinity may stand in a field: JSON has neither, and Arrow reads both.

    In the columns of the pairs ``_whole`` finds them.
    """
    for name in (b"NaN", b"Inf"):
        at = data.find(name)
        while at >= 0:
            if data[max(at - 9, 0) : at].rstrip(b" \t-")[-1:] in (b":", b"[", b",", b""):
                return True
            at = data.find(name, at + 1)
    return False


def _is_utf8(data: bytes) -> bool:
    ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(data)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _whole(table: pa.Table) -> bool:
    for name in _TEXTS:
        if not _all_filled(table.column(name)):
            return False
    if _same_but_for_space(table.column("chosen"), table.column("rejected")):
        return False
    if table.column("construction").null_count or not _all_among(table.column("construction"), PAIR_LABELS):
        return False
    if not _all_among(table.column("split"), (*SPLITS, None)):
        return False
    if pc.any(pc.equal(table.column("chosen_writer"), KIT_AUTHOR)).as_py():
        return False
    return all(pc.all(pc.is_finite(table.column(name))).as_py() is not False for name in _NUMBERS)


def _all_filled(column: Any) -> bool:
    """Tell whether each text has something beside white space; only odd beginnings are looked at in Python."""
    if column.null_count:
        return False
    starts = pc.binary_slice(column.cast(pa.binary()), 0, 1)
    plain = pc.and_(pc.greater(starts, b" "), pc.less(starts, b"\x7f"))
    odd = pc.indices_nonzero(pc.invert(plain))
    return all(text.strip() for text in column.take(odd).to_pylist())


def _same_but_for_space(chosen: Any, rejected: Any) -> bool:
    """Tell whether a pair's stories differ by white space at most; only pairs that begin and end alike are compared."""
    one, other = (pc.utf8_trim_whitespace(column) for column in (chosen, rejected))
    alike = pc.and_(
        pc.equal(pc.utf8_slice_codeunits(one, 0, 1), pc.utf8_slice_codeunits(other, 0, 1)),
        pc.equal(pc.utf8_slice_codeunits(one, -1), pc.utf8_slice_codeunits(other, -1)),
    )
    rows = pc.indices_nonzero(alike)
    texts = zip(chosen.take(rows).to_pylist(), rejected.take(rows).to_pylist(), strict=True)
    return any(text_key(a) == text_key(b) for a, b in texts)


def _all_among(column: Any, known: Sequence[str | None]) -> bool:
    return bool(pc.all(pc.is_in(column, pa.array(known, pa.string()))).as_py())


def _without_empty(column: Any) -> Any:
    return pc.if_else(pc.equal(column, ""), None, column)


def _ids(columns: dict[str, Any]) -> Any:
    ids = columns["id"].to_pylist()
    for row, given in enumerate(ids):
        if given is None or not given.strip():
            ids[row] = content_id("pair", *(columns[name][row].as_py() for name in _TEXTS))
    return pa.array(ids, pa.string())
