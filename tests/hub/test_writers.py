"""Whose names leave the machine, and whose become keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.payload import Payload, collect
from storyalign.hub.release.people import without_names
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.hub.released_rows import read_rows
from tests.support.rows import pair_row, storyrmb_row, write_rows

said: list[str] = []


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    said.clear()


def keyed(tmp_path: Path, rows: list[dict[str, Any]], *people: str) -> tuple[Payload, list[tuple[str | None, ...]]]:
    dataset = "storyrmb" if "rejected_writers" in rows[0] else "story_preferences"
    build = build_storyrmb if dataset == "storyrmb" else build_story_preferences
    built = build([write_rows(tmp_path / "raw.jsonl", rows)], tmp_path / "built").path
    options = ReleaseOptions(say=said.append, salt=tmp_path / "salt", people=people)
    payload = without_names(collect(built, "dataset"), dataset, tmp_path, False, options)  # type: ignore[arg-type]
    found = {placed.row.id: placed.row for placed in read_rows(payload)}
    writers = [
        (row.chosen_writer, *(row.rejected_writers if hasattr(row, "rejected_writers") else (row.rejected_writer,)))
        for row in (found[row["id"]] for row in rows)
    ]
    return payload, writers


def test_a_name_without_any_sign_is_a_persons_where_people_wrote(tmp_path: Path) -> None:
    """``human_llm``: a person wrote the chosen story, whatever the name looks like; and it is hers in every row."""
    rows = [
        storyrmb_row(0, chosen_writer="Ada Lovelace"),
        storyrmb_row(1, chosen_writer="Claude Opus", rejected_writers=["Ada Lovelace", "gpt-4o", "model-c"]),
        storyrmb_row(2, chosen_writer="Human"),
    ]
    payload, writers = keyed(tmp_path, rows)
    key = writers[0][0]
    assert key and key.startswith("person-")
    assert writers == [
        (key, "model-b", "model-c", "model-d"),
        ("Claude Opus", key, "gpt-4o", "model-c"),
        ("Human", "model-b", "model-c", "model-d"),
    ]
    assert "Lovelace" not in "".join(payload.text("README.md")) + json.dumps(writers)
    assert said[0].endswith("writers that keep their names, as models: Claude Opus, gpt-4o, model-b, model-c, model-d")
    assert said[2].endswith("writers that are people, and get salted keys: Ada Lovelace")


def test_pairs_of_stories_by_people(tmp_path: Path) -> None:
    both = {"construction": "back_generation", "chosen_writer": "夜猫子", "rejected_writer": "anonymous"}
    _, writers = keyed(tmp_path, [pair_row(0, **both), pair_row(1, chosen_writer="model-b", rejected_writer=None)])
    assert writers[0][0] and writers[0][0].startswith("person-")
    assert writers[0][1] == "anonymous"
    assert writers[1] == ("model-b", None)


def test_whom_the_releaser_names(tmp_path: Path) -> None:
    rows = [pair_row(1, chosen_writer="grace", rejected_writer="model-a")]
    assert keyed(tmp_path, rows)[1] == [("grace", "model-a")]
    _, writers = keyed(tmp_path, rows, "grace")
    assert writers[0][0] and writers[0][0].startswith("person-")


def test_nobody_to_hide(tmp_path: Path) -> None:
    built = build_storyrmb([write_rows(tmp_path / "r.jsonl", [storyrmb_row(0)])], tmp_path / "built").path
    payload = collect(built, "dataset")
    options = ReleaseOptions(say=said.append, salt=tmp_path / "salt")
    assert without_names(payload, "storyrmb", tmp_path, False, options) is payload
    assert not (tmp_path / "salt").exists()
