"""Make a dataset folder ready for release: its name, its licences, its people, and what is added for other tools."""

from __future__ import annotations

import re
from pathlib import Path

from storyalign.errors import DataError
from storyalign.hub.card_front import front_matter
from storyalign.hub.croissant import with_croissant
from storyalign.hub.licences import count_licences
from storyalign.hub.multiple_choice import add_benchmark_task
from storyalign.hub.payload import Payload, collect
from storyalign.hub.person_keys import is_handle, load_person_keys
from storyalign.hub.release_options import ReleaseOptions
from storyalign.hub.released_rows import Dataset, dataset_of, is_sample, read_rows, rebuild
from storyalign.hub.withholding import withhold
from storyalign.records import Instance

SAMPLE_NAMES: dict[Dataset, str] = {"storyrmb": "storyrmb-sample", "story_preferences": "story_preferences-sample"}
"""The only names under which the synthetic sample is released."""


def prepare_dataset(folder: Path, repo: str, work: Path, options: ReleaseOptions) -> Payload:
    """Collect a dataset folder and bring it into the form that leaves the machine.

    Args:
        folder: a built dataset, or any folder of Parquet files with a card and a ``license`` column.
        repo: ``ORG/NAME``.
        work: an empty folder for what is written on the way.
        options: the releaser's decisions.

    Raises:
        DataError: the sample under another name, rows without a licence, closed licences without ``withhold``.
    """
    payload = collect(folder, "dataset")
    dataset = dataset_of(payload)
    sample = dataset is not None and is_sample(payload)
    if dataset is not None and sample and repo.rpartition("/")[2] != SAMPLE_NAMES[dataset]:
        raise DataError(
            f"{folder}: this is the synthetic sample; it is released as {SAMPLE_NAMES[dataset]} and under no other name"
        )
    if dataset is not None:
        payload = _without_names(payload, dataset, work, sample, options)
    payload = _licensed(payload, dataset, work, sample, options)
    if dataset == "storyrmb":
        payload = add_benchmark_task(payload, work)
    if dataset is not None:
        payload = _named(payload, repo)
    return with_croissant(payload, repo, options.version)


def _named(payload: Payload, repo: str) -> Payload:
    """Write the repository's id into the code of the card, where the folder's name stands."""
    card = re.sub(r'load_dataset\("[^"]+"', f'load_dataset("{repo}"', payload.text("README.md"))
    return payload.with_files({"README.md": card.replace("ORG/NAME", repo).encode()})


def _without_names(payload: Payload, dataset: Dataset, work: Path, sample: bool, options: ReleaseOptions) -> Payload:
    """Replace handles of people among the writers by keys, and build again where there were any."""
    people = {writer for placed in read_rows(payload) for writer in _writers(placed.row) if is_handle(writer)}
    if not people:
        return payload
    keys = load_person_keys(options.salt)
    options.say(f"{payload.folder}: {len(people)} writers are people's handles; salted keys take their place")

    def renamed(row: dict[str, object]) -> dict[str, object]:
        for name in ("chosen_writer", "rejected_writer"):
            if name in row:
                row[name] = keys.writer(row[name])  # type: ignore[arg-type]
        if "rejected_writers" in row:
            row["rejected_writers"] = [keys.writer(writer) for writer in row["rejected_writers"]]  # type: ignore[attr-defined]
        return row

    rows = (renamed(placed.row.to_row()) for placed in read_rows(payload))
    return rebuild(dataset, rows, work / "keyed", sample)[0]


def _writers(row: object) -> tuple[str | None, ...]:
    rejected = row.rejected_writers if isinstance(row, Instance) else (getattr(row, "rejected_writer", None),)
    return (getattr(row, "chosen_writer", None), *rejected)


def _licensed(payload: Payload, dataset: Dataset | None, work: Path, sample: bool, options: ReleaseOptions) -> Payload:
    licences = count_licences(payload)
    if unknown := licences.unknown():
        raise DataError(
            f"{payload.folder}: {unknown} rows name no licence; every row needs one in `license` before it is passed on"
        )
    closed = licences.closed(options.may_pass_on)
    if not closed:
        return payload
    listed = ", ".join(f"{name} ({rows} rows)" for name, rows in closed.items())
    if dataset is None or not options.withhold:
        raise DataError(
            f"{payload.folder}: not known to allow passing texts on: {listed}; run again with --withhold to publish "
            "ids and digests instead, or with --may-pass-on LICENCE if you know that it does"
        )
    options.say(f"{payload.folder}: texts withheld, ids and digests published: {listed}")
    digest = str(next(c["description"] for c in front_matter(payload)["configs"] if c["config_name"] == "default"))
    return withhold(payload, dataset, closed, digest, work, sample)
