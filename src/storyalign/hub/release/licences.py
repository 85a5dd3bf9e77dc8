"""Which rows may be passed on, by the licence that each row carries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from storyalign.hub.cards.dataset_card import HUB_LICENSES
from storyalign.hub.parquet_texts import read_batches
from storyalign.hub.payload import Payload
from storyalign.hub.release.multiple_choice import CONFIG as MULTIPLE_CHOICE

NO_DERIVATIVES = frozenset(name for name in HUB_LICENSES if "-nd-" in name)
"""Licences that let a whole text be passed on, and nothing that was made of it."""

MAY_BE_PASSED_ON = (HUB_LICENSES - NO_DERIVATIVES) | {"public-domain"}
"""Licences that let a text be passed on, also cut or rewritten; each keeps its own conditions."""

UNKNOWN = frozenset({"", "unknown", "none", "null"})

WITHHELD_TEXT = "prompt_sha256"
"""A column of tables that hold digests in the place of texts: there is nothing left to pass on."""


class Licences(NamedTuple):
    """Rows of a dataset by licence."""

    counts: Mapping[str, int]

    def unknown(self) -> int:
        """Count rows that name no licence."""
        return sum(n for name, n in self.counts.items() if name in UNKNOWN)

    def closed(self, also_open: Collection[str] = ()) -> dict[str, int]:
        """Return the licences, with their rows, under which a text may not be passed on."""
        allowed = MAY_BE_PASSED_ON | {normal_name(name) for name in also_open} | UNKNOWN
        return {name: n for name, n in self.counts.items() if name not in allowed}


def count_licences(payload: Payload) -> Licences:
    """Count the rows of all Parquet files by licence, each file once; questions repeat rows that stand elsewhere."""
    counts: Counter[str] = Counter()
    for path, source in payload.files.items():
        if path.endswith(".parquet") and not isinstance(source, bytes):
            for batch in read_batches(source):
                if WITHHELD_TEXT in batch.schema.names:
                    continue
                if "license" in batch.schema.names:
                    counts.update(normal_name(value) for value in batch.column("license").to_pylist())
                elif not path.startswith(f"{MULTIPLE_CHOICE}/"):
                    counts["unknown"] += batch.num_rows
    return Licences(dict(counts.most_common()))


def normal_name(licence: str | None) -> str:
    """Write a licence as the Hub does: lower case, dashes.

    >>> normal_name(" CC BY-SA 4.0 ")
    'cc-by-sa-4.0'
    """
    return "-".join((licence or "").strip().lower().replace("_", "-").split())
