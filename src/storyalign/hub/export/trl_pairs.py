"""Preference pairs as chat messages, the conversational format that TRL's trainers take as it is.

The datasets hold plain strings. A trainer that is given plain strings joins premise and story without anything in
between; one that is given messages uses the model's own chat template.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from storyalign.hub.export.exported_folder import write_export
from storyalign.records import PreferencePair

_MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("prompt", _MESSAGES),
        ("chosen", _MESSAGES),
        ("rejected", _MESSAGES),
        ("construction", pa.string()),
        ("license", pa.string()),
    ]
)


def trl_row(pair: PreferencePair) -> dict[str, Any]:
    """Return a pair as messages: the premise is the user's, each story the assistant's."""
    return {
        "id": pair.id,
        "prompt": [{"role": "user", "content": pair.prompt}],
        "chosen": [{"role": "assistant", "content": pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.rejected}],
        "construction": pair.construction,
        "license": pair.license,
    }


def export_trl(pairs: Iterable[PreferencePair], out: Path) -> dict[str, int]:
    """Write a folder that ``load_dataset(out)`` and TRL's trainers take.

    Args:
        pairs: of any construction and split.
        out: the folder.

    Returns:
        Split -> number of rows.

    Raises:
        DataError: there are no pairs, or ``out`` holds something else.
    """
    return write_export(((pair.split, trl_row(pair)) for pair in pairs), COLUMNS, out, _HEADING, _card)


_HEADING = "# Story preference pairs as chat messages"


def _card(counts: Mapping[str, int]) -> str:
    files = "".join(f"  - split: {split}\n    path: data/{split}-*.parquet\n" for split in counts)
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{files}---\n\n"
        f"{_HEADING}\n\n"
        "Made for TRL's reward and preference trainers: `prompt`, `chosen` and `rejected` are lists of messages.\n"
    )
