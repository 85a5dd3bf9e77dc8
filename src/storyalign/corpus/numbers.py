"""Numbers that stand in files as text."""

from __future__ import annotations

import math
import re
from typing import Any

from storyalign.records import BadRow

_SHAPE = r"([+-]?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})%s)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([kKmM千万亿]?)"
_ONE_READING, _POINT = re.compile(_SHAPE % "{2,}"), re.compile(_SHAPE % "+")
_GROUPS = re.compile(r"[+-]?[0-9][0-9.'\s]*,[0-9.,'\s]*[kKmM千万亿]?")
_SWAP = str.maketrans(",.", ".,")
_TIMES = {"": 1, "k": 1e3, "m": 1e6, "千": 1e3, "万": 1e4, "亿": 1e8}


def read_number(value: Any, column: str, decimal: str | None = None) -> float:
    """Read a finite number, or a text that is one: ``12``, ``3.5k``, ``2.1万``, ``1,204,567``.

    Without ``decimal`` a text with one comma is refused: ``1,204`` is 1204 to some and 1.204 to others.

    Args:
        value: the cell.
        column: its name, for the error.
        decimal: the decimal mark of the file, ``.`` or ``,``; the other one parts thousands.

    Raises:
        BadRow: it is no number, or one that can be read in two ways.
    """
    number = value
    if isinstance(value, str):
        text = value.strip().translate(_SWAP) if decimal == "," else value.strip()
        match = (_POINT if decimal else _ONE_READING).fullmatch(text)
        if match is None and decimal is None and _GROUPS.fullmatch(value.strip()):
            raise BadRow(
                f"{column} is {value!r}, which can be read in two ways; write it without thousands separators and "
                "with a decimal point, or name the file's decimal mark in the mapping (decimal: '.')"
            )
        number = float(match[1].replace(",", "")) * _TIMES[match[2].lower()] if match else None
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise BadRow(f"{column} must be a finite number, got {value!r}")
    return float(number)


def read_optional_number(value: Any, column: str, decimal: str | None = None) -> float | None:
    """Read a number as ``read_number`` does; None for null and for an empty or blank cell.

    Raises:
        BadRow: it is no number, or one that can be read in two ways.
    """
    return (
        None if value is None or (isinstance(value, str) and not value.strip()) else read_number(value, column, decimal)
    )
