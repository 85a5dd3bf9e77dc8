"""The writers of a dataset on its way out: people's names become salted keys, models and the kit keep theirs."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from storyalign.hub.payload import Payload
from storyalign.hub.person_keys import is_handle, load_person_keys
from storyalign.hub.release_options import ReleaseOptions
from storyalign.hub.released_rows import Dataset, read_rows, rebuild
from storyalign.hub.row_checks import KIT_AUTHOR, KIT_EDIT
from storyalign.records import Instance, PreferencePair

NOBODY = re.compile(rf"(?i:human|unknown|anonymous)|person-[0-9a-f]{{12}}|{KIT_AUTHOR}|{KIT_EDIT}.*")
"""Writers that name no person, whoever they stand for."""

SHOWN = 12


def without_names(payload: Payload, dataset: Dataset, work: Path, sample: bool, options: ReleaseOptions) -> Payload:
    """Replace people among the writers by keys, build again where there were any, and list the writers that stay.

    A writer is a person whose name is a handle, a mail address or a profile, who wrote what people write by the
    dataset's own rule, or whom the releaser names.

    Args:
        payload: a built folder.
        dataset: which of the two.
        work: a folder for what is built.
        sample: the rows are the kit's synthetic sample.
        options: the releaser's decisions.
    """
    people, others = set(options.people), set[str]()
    for placed in read_rows(payload):
        people |= {writer for writer in _human_places(placed.row) if not NOBODY.fullmatch(writer)}
        for writer in _writers(placed.row):
            (people if is_handle(writer) else others).add(writer)
    others = {writer for writer in others - people if not NOBODY.fullmatch(writer)}
    if others:
        options.say(f"{payload.folder}: writers that keep their names, as models: {_listed(others)}")
        options.say("  if there are people among them, name each with --person")
    if not people:
        return payload
    options.say(f"{payload.folder}: writers that are people, and get salted keys: {_listed(people)}")
    keys = load_person_keys(options.salt)

    def hidden(writer: object) -> object:
        return keys.key(writer) if isinstance(writer, str) and writer in people else writer

    def renamed(row: dict[str, object]) -> dict[str, object]:
        for name in ("chosen_writer", "rejected_writer"):
            if name in row:
                row[name] = hidden(row[name])
        if isinstance(writers := row.get("rejected_writers"), list | tuple):
            row["rejected_writers"] = [hidden(writer) for writer in writers]
        return row

    rows = (renamed(placed.row.to_row()) for placed in read_rows(payload))
    return rebuild(payload, dataset, rows, work / "keyed", sample)[0]


def _human_places(row: Instance | PreferencePair) -> tuple[str, ...]:
    """Give the writers who are people by the dataset's own rule (sections 2.1 and 3.1)."""
    writers: tuple[str | None, ...] = ()
    if isinstance(row, Instance):
        if row.source == "human_llm":
            writers = (row.chosen_writer,)
    elif row.construction == "back_generation":
        writers = (row.chosen_writer, row.rejected_writer)
    return tuple(writer for writer in writers if writer)


def _writers(row: Instance | PreferencePair) -> tuple[str, ...]:
    rejected = row.rejected_writers if isinstance(row, Instance) else (row.rejected_writer,)
    return tuple(writer for writer in (row.chosen_writer, *rejected) if writer)


def _listed(names: Collection[str]) -> str:
    some = sorted(names)[:SHOWN]
    return ", ".join(some) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
