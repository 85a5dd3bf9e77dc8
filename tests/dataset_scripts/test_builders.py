from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from storyalign import records
from storyalign.dataset_scripts import story_preferences, storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows


def build(builder: Any, tmp_path: Path, **options: Any) -> Any:
    made = builder(cache_dir=str(tmp_path / "cache"), **options)
    made.download_and_prepare()
    return made


def test_names_agree_with_the_row_classes() -> None:
    assert tuple(storyrmb.DIMENSIONS) == records.DIMENSIONS
    assert tuple(storyrmb.SOURCES) == records.SOURCES
    assert tuple(story_preferences.CONSTRUCTIONS) == records.PAIR_LABELS
    assert {c.name for c in storyrmb.StoryRMB.BUILDER_CONFIGS} == {"default", *records.SOURCES}
    assert {c.name for c in story_preferences.StoryPreferences.BUILDER_CONFIGS} == {"default", *records.PAIR_LABELS}


def test_columns_agree_with_the_row_classes() -> None:
    instance = {field.name for field in dataclasses.fields(records.Instance)}
    pair = {field.name for field in dataclasses.fields(records.PreferencePair)}
    assert set(storyrmb.FEATURES) == instance
    assert set(story_preferences.FEATURES) == pair - {"split"}


@pytest.mark.parametrize(("config", "numbers"), [("default", [0, 1, 2]), ("human_llm", [0, 2]), ("llm_llm", [1])])
def test_storyrmb_configs(tmp_path: Path, config: str, numbers: list[int]) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n) for n in range(3)])
    built = build(storyrmb.StoryRMB, tmp_path, config_name=config, data_files=str(raw))
    rows = built.as_dataset(split="test")
    assert list(built.info.splits) == ["test"]
    assert rows["id"][:] == [f"rmb-{n:04d}" for n in numbers]
    assert rows.features["dimension"].int2str(rows[0]["dimension"]) == storyrmb_row(numbers[0])["dimension"]
    assert rows[0]["rejected"] == storyrmb_row(numbers[0])["rejected"]


def test_storyrmb_streams(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n) for n in range(4)])
    stream = storyrmb.StoryRMB(config_name="llm_llm", data_files=str(raw), cache_dir=str(tmp_path / "cache"))
    assert [row["id"] for row in stream.as_streaming_dataset(split="test")] == ["rmb-0001", "rmb-0003"]


def test_preference_splits_follow_the_rows(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [pair_row(n) for n in range(10)])
    default = build(story_preferences.StoryPreferences, tmp_path, data_files=str(raw)).as_dataset()
    assert {split: len(rows) for split, rows in default.items()} == {"train": 8, "validation": 2}
    rewriting = build(story_preferences.StoryPreferences, tmp_path, config_name="rewriting", data_files=str(raw))
    assert rewriting.as_dataset(split="validation")["id"][:] == ["pair-0004"]


def test_preference_splits_follow_the_files_where_rows_name_none(tmp_path: Path) -> None:
    files = {
        split: [str(write_rows(tmp_path / f"{split}.jsonl", [pair_row(n, split=None)]))]
        for n, split in enumerate(("train", "validation"))
    }
    rows = build(story_preferences.StoryPreferences, tmp_path, data_files=files).as_dataset()
    assert (rows["train"]["id"][:], rows["validation"]["id"][:]) == (["pair-0000"], ["pair-0001"])


def test_a_digest_as_hash_keeps_the_cache_fresh(tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    for chosen in ("The first ending.", "The second ending."):
        write_rows(raw, [storyrmb_row(0, chosen=chosen)])
        built = build(storyrmb.StoryRMB, tmp_path, data_files=str(raw), hash=records.row_digest({"chosen": chosen}))
        assert built.as_dataset(split="test")[0]["chosen"] == chosen


@pytest.mark.parametrize(
    ("module", "row", "problem"),
    [
        (storyrmb, storyrmb_row(0, id=None, prompt=None), "no id, prompt; `storyalign build storyrmb`"),
        (storyrmb, storyrmb_row(0, rejected=["one"]), "rejected must be a list of 3"),
        (storyrmb, storyrmb_row(0, rejected="abc"), "rejected must be a list of 3"),
        (story_preferences, pair_row(0, construction=None), "no construction; `storyalign build story_preferences`"),
    ],
)
def test_a_row_that_is_not_whole(module: Any, row: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        module.example(row, "raw.jsonl:7")


@pytest.mark.parametrize(
    ("line", "problem"), [("{", "raw.jsonl:2: not valid JSON"), ("3", "raw.jsonl:2: expected a JSON")]
)
def test_a_line_that_is_no_row(tmp_path: Path, line: str, problem: str) -> None:
    raw = tmp_path / "raw.jsonl"
    raw.write_text(json.dumps(storyrmb_row(0)) + f"\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        list(storyrmb.read(str(raw)))


def test_files_must_be_named(tmp_path: Path) -> None:
    for builder in (storyrmb.StoryRMB, story_preferences.StoryPreferences):
        with pytest.raises(ValueError, match="name the JSONL file"):
            build(builder, tmp_path)
