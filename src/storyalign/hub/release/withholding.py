"""Rows whose texts may not be passed on: published as ids and digests in a configuration of their own.

The other configurations hold whole rows only, so nobody trains on, or scores, a text that is not there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.hub.build.dataset_configs import DIGEST_FORMAT
from storyalign.hub.cards.dataset_card import NewConfig, add_config
from storyalign.hub.payload import Payload
from storyalign.hub.release.licences import normal_name
from storyalign.hub.released_rows import Dataset, PlacedRow, read_rows, rebuild
from storyalign.text import count_words

if TYPE_CHECKING:
    from datasets import Features

TABLE = "withheld/withheld-00000-of-00001.parquet"
ORIGINAL = "withheld/original.json"
"""What the dataset was before rows were withheld: its name, its digest and the digest's format, numbers of rows."""

TEXTS = ("prompt", "chosen", "rejected")
CONFIG = "withheld"


def withhold(
    payload: Payload, dataset: Dataset, closed: Collection[str], digest: str, work: Path, sample: bool
) -> Payload:
    """Build a dataset again without the rows under closed licences, and add their ids and digests.

    Args:
        payload: the whole dataset.
        dataset: which of the two.
        closed: licences, as ``licences.normal_name`` writes them.
        digest: the digest over the whole dataset's rows, to check a rehydration against.
        work: a folder for what is written.
        sample: the rows are the kit's synthetic sample.

    Raises:
        DataError: no row would be left, or the folder is one in which rows were withheld.
    """
    if TABLE in payload.files:
        raise DataError(
            f"{payload.folder}: some rows are withheld here already; fill them in with storyalign rehydrate, and "
            "release the result with --withhold"
        )
    hidden: list[dict[str, Any]] = []
    shown = 0

    def open_rows() -> Iterator[dict[str, Any]]:
        nonlocal shown
        for placed in read_rows(payload):
            if normal_name(placed.row.license) in closed:
                hidden.append(_digests(placed))
            else:
                shown += 1
                yield placed.row.to_row()

    try:
        rest, _ = rebuild(payload, dataset, open_rows(), work / "shown", sample)
    except DataError as error:
        if shown:
            raise
        raise DataError(f"{payload.folder}: every row is under a closed licence; nothing would be left") from error
    features = _features(dataset)
    table = work / "withheld.parquet"
    pq.write_table(
        pa.Table.from_pylist(hidden, schema=features.arrow_schema.remove_metadata()), table, compression="zstd"
    )
    original = {
        "dataset": dataset,
        "digest": digest,
        "digest_format": DIGEST_FORMAT,
        "rows": shown + len(hidden),
        "withheld": len(hidden),
    }
    config = NewConfig(CONFIG, features, {CONFIG: ("withheld/*.parquet", len(hidden))}, _section(hidden, shown))
    card = add_config(rest.text("README.md"), config)
    files: dict[str, Path | bytes] = {TABLE: table, ORIGINAL: orjson.dumps(original, option=orjson.OPT_INDENT_2)}
    return rest.with_files({**files, "README.md": card.encode()})


def text_digest(text: str) -> str:
    """Hash one text: SHA-256 of its UTF-8 bytes, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _digests(placed: PlacedRow) -> dict[str, Any]:
    row = placed.row.to_row()
    texts = {name: row.pop(name) for name in TEXTS}
    rejected = texts["rejected"] if isinstance(texts["rejected"], list) else [texts["rejected"]]
    row.update(
        {
            "config": placed.config,
            "split": placed.split,
            "position": placed.position,
            "prompt_sha256": text_digest(texts["prompt"]),
            "chosen_sha256": text_digest(texts["chosen"]),
            "rejected_sha256": [text_digest(text) for text in rejected],
            "words": sum(count_words(text) for text in (texts["chosen"], *rejected)),
        }
    )
    return row


def _features(dataset: Dataset) -> Features:
    """The dataset's columns, names instead of labels and digests instead of texts, and the row's place."""
    from datasets import ClassLabel, Features, Sequence, Value

    columns = import_module(f"storyalign.dataset_scripts.{dataset}").FEATURES
    text, number = Value("string"), Value("int64")
    kept = {
        name: text if isinstance(feature, ClassLabel) else feature
        for name, feature in columns.items()
        if name not in TEXTS
    }
    place = {"config": text, "split": text, "position": number}
    digests = {"prompt_sha256": text, "chosen_sha256": text, "rejected_sha256": Sequence(text), "words": number}
    return Features({**kept, **place, **digests})


def _section(hidden: list[dict[str, Any]], shown: int) -> str:
    licences = ", ".join(sorted({normal_name(row["license"]) for row in hidden}))
    return (
        "## Withheld rows\n\n"
        f"{len(hidden):,} of {shown + len(hidden):,} rows are under licences that do not let their texts be passed on "
        f"({licences}). The configuration `{CONFIG}` gives their ids, their other columns, and the SHA-256 of each "
        "text. Whoever has the sources fills them in:\n\n"
        "```sh\nstoryalign rehydrate ORG/NAME --source my_sources.jsonl --out full\n```"
    )
