"""The rows of a built dataset folder, read back with the place where each stands, and built again after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.build.dataset_statistics import PEOPLE_FILE
from storyalign.hub.build.row_checks import KIT_AUTHOR
from storyalign.hub.hub_errors import hub_errors
from storyalign.hub.parquet_texts import read_batches
from storyalign.hub.payload import Payload, collect
from storyalign.records import BadRow, Instance, PreferencePair

Dataset = Literal["storyrmb", "story_preferences"]

SAMPLE_NAMES: dict[Dataset, str] = {"storyrmb": "storyrmb-sample", "story_preferences": "story_preferences-sample"}
"""The only names under which the synthetic sample is released."""


class PlacedRow(NamedTuple):
    """One row and its place."""

    config: str
    split: str
    position: int
    """Its number within the split of the configuration, counted from 0."""
    row: Instance | PreferencePair


def dataset_of(payload: Payload) -> Dataset | None:
    """Return which of the kit's datasets a folder holds; None for a dataset of another kind."""
    path = next((p for p in payload.files if p.startswith("data/") and p.endswith(".parquet")), None)
    if path is None:
        return None
    columns = set(pq.read_schema(payload.files[path]).names)
    if {"rejected_writers", "dimension"} <= columns:
        return "storyrmb"
    return "story_preferences" if {"rejected_writer", "construction"} <= columns else None


def read_rows(payload: Payload) -> Iterator[PlacedRow]:
    """Read all rows of a dataset of the kit, configuration by configuration and split by split.

    Raises:
        DataError: a row is none of the dataset's.
    """
    pairs = dataset_of(payload) == "story_preferences"
    counts: dict[tuple[str, str], int] = {}
    for path in sorted(p for p in payload.files if p.startswith("data/") and p.endswith(".parquet")):
        place = PurePosixPath(path)
        key = (place.parent.name, place.name.partition("-")[0])
        for batch in read_batches(_on_disk(payload, path)):
            for raw in batch.to_pylist():
                row: Instance | PreferencePair
                try:
                    row = PreferencePair.from_row({**raw, "split": key[1]}) if pairs else Instance.from_row(raw)
                except BadRow as error:
                    raise DataError(f"{payload.folder / path}: row {raw.get('id')}: {error}; build it again") from error
                counts[key] = counts.get(key, -1) + 1
                yield PlacedRow(*key, counts[key], row)


def is_sample(payload: Payload) -> bool:
    """Return whether any chosen story was written for the kit."""
    return any(placed.row.chosen_writer == KIT_AUTHOR for placed in read_rows(payload))


def rebuild(
    payload: Payload, dataset: Dataset, rows: Iterable[dict[str, Any]], out: Path, sample: bool
) -> tuple[Payload, str]:
    """Build a folder again from changed rows.

    Args:
        payload: the folder that the rows come from; what people said of it stays.
        dataset: which of the two.
        rows: JSON-ready, in the order in which they stand.
        out: the folder to write.
        sample: the rows are the kit's synthetic sample.

    Returns:
        Its files, and the digest over its rows.
    """
    raw = out.with_suffix(".jsonl")
    write_jsonl(raw, rows)
    if dataset == "storyrmb":
        built = build_storyrmb([raw], out, sample=sample, dimension_optional=True)  # checked when it was first built
    else:
        said = payload.files.get(PEOPLE_FILE)
        built = build_story_preferences([raw], out, sample=sample, people=said if isinstance(said, Path) else None)
    raw.unlink()
    return collect(built.path, "dataset"), built.digest


def _on_disk(payload: Payload, path: str) -> Path:
    source = payload.files[path]
    if isinstance(source, bytes):
        raise TypeError(f"{path} is made in memory")
    return source


def dataset_folder(name: str) -> Path:
    """Return the folder of a dataset: the one on disk, else the repository ``ORG/NAME[@REVISION]``, downloaded.

    Raises:
        HubError: there is no such repository, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    if Path(name).is_dir():
        return Path(name)
    repo, _, revision = name.partition("@")
    with hub_errors(repo):
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision or None))
