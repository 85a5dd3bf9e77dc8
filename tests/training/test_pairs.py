from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Dataset, Features, Value

from storyalign.errors import DataError, RowError
from storyalign.files import write_jsonl
from storyalign.records import BadRow
from storyalign.training.pairs import PairSource, load_pairs, read_pair
from tests.support.rows import write_rows

ROW = {"prompt": "p", "chosen": "good", "rejected": "bad"}


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        {"prompt": [user("p")], "chosen": [assistant("good")], "rejected": [assistant("bad")]},
        {"chosen": [user("p"), assistant("good")], "rejected": [user("p"), assistant("bad")]},
        # UltraFeedback's form: the prompt beside whole conversations
        {"prompt": "p", "chosen": [user("p"), assistant("good")], "rejected": [user("p"), assistant("bad")]},
    ],
    ids=["texts", "explicit prompt", "implicit prompt", "both"],
)
def test_all_forms_of_a_pair_are_the_same_pair(row: dict[str, Any]) -> None:
    pair = read_pair(row)
    assert (pair.prompt, pair.chosen, pair.rejected, pair.construction) == ("p", "good", "bad", "unknown")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**ROW, "rejected": "good"}, "same text"),
        ({**ROW, "chosen": "  "}, "chosen is empty"),
        ({**ROW, "rejected": None}, "rejected is missing"),
        ({"chosen": "good", "rejected": "bad"}, "prompt is missing"),
        ({"chosen": [user("p"), assistant("a")], "rejected": [user("q"), assistant("b")]}, "different user turns"),
        ({**ROW, "chosen": [user("q"), assistant("good")]}, "another user turn than prompt"),
        ({"chosen": [user("p"), assistant("a"), user("p")], "rejected": [user("p"), assistant("b")]}, "one user turn"),
        ({**ROW, "prompt": [assistant("p")]}, "expected 'user'"),
        ({**ROW, "chosen": {"role": "assistant", "content": None}}, "neither a text nor"),
        ({**ROW, "construction": 7}, "construction 7 has no name"),
    ],
)
def test_broken_rows_are_named(row: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadRow, match=problem):
        read_pair(row)


@pytest.mark.parametrize("engagement", [-1.0, math.nan, "many"])
def test_an_engagement_that_is_no_count_matters_only_where_it_is_used(tmp_path: Path, engagement: Any) -> None:
    row = {**ROW, "chosen_engagement": engagement, "rejected_engagement": 2.0}
    assert read_pair(row).engagement_ratio is None
    with pytest.raises(BadRow, match="expected a count from 0 up"):
        read_pair(row, needs_engagement=True)
    if engagement == -1.0:
        path = write_rows(tmp_path / "pairs.jsonl", [row, {**ROW, "chosen_engagement": 3, "rejected_engagement": 2.5}])
        assert len(load_pairs(PairSource(str(path))).rows) == 2
        with pytest.raises(RowError, match=r"pairs\.jsonl:1: engagement is -1\.0"):
            load_pairs(PairSource(str(path)), needs_engagement=True)


def test_ids_writers_and_constructions_that_are_numbers_are_strings(tmp_path: Path) -> None:
    named = [
        {"id": 1, "chosen_writer": "a", "construction": "rewriting"},
        {"id": "b2", "chosen_writer": 7, "construction": 0},
        {"id": 3.5, "chosen_writer": 0},
    ]
    path = write_rows(tmp_path / "pairs.jsonl", [{**ROW, **names} for names in named])
    loaded = load_pairs(PairSource(str(path)))
    assert list(loaded.rows["id"]) == ["1", "b2", "3.5"]
    assert loaded.writers == {"a": 1, "7": 1, "0": 1}
    # 0 is the first name of the column's labels
    assert loaded.counts == {"back_generation": 1, "rewriting": 1, "unknown": 1}


def test_engagement_is_a_ratio_and_never_speaks_for_the_rejected_story() -> None:
    pair = read_pair({**ROW, "chosen_engagement": 19, "rejected_engagement": 4})
    assert pair.engagement_ratio == pytest.approx(math.log(20 / 5))
    assert read_pair({**ROW, "chosen_engagement": 4, "rejected_engagement": 19}).engagement_ratio == 0.0
    assert read_pair({**ROW, "chosen_engagement": 4}).engagement_ratio is None


def test_jsonl_takes_the_rows_of_the_split(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {**ROW, "construction": "rewriting"},
        {**ROW, "prompt": "q", "split": "validation", "construction": " Llm_Pairs "},
        {"chosen": [user("r"), assistant("good")], "rejected": [user("r"), assistant("bad")], "split": "train"},
    ]
    write_jsonl(path, rows)
    train, validation = load_pairs(PairSource(str(path))), load_pairs(PairSource(str(path), split="validation"))
    assert train.counts == {"rewriting": 1, "unknown": 1}
    assert validation.counts == {"llm_pairs": 1}
    assert train.digest != validation.digest
    with pytest.raises(DataError, match="no pairs"):
        load_pairs(PairSource(str(path), split="test"))


def test_broken_line_is_named_with_file_line_and_id(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        '{"prompt":"p","chosen":"a","rejected":"b"}\n\n{"id":"x9","prompt":"p","chosen":"a","rejected":"a"}\n'
    )
    with pytest.raises(RowError, match=r"pairs\.jsonl:3 \(id x9\): chosen and rejected are the same text"):
        load_pairs(PairSource(str(path)))


def test_folder_of_parquet_with_class_labels(tmp_path: Path) -> None:
    names = ["back_generation", "rewriting"]
    features = Features(
        {**{n: Value("string") for n in ROW}, "construction": ClassLabel(names=names), "x": Value("int8")}
    )
    rows = Dataset.from_list([{**ROW, "construction": i % 2, "x": i} for i in range(3)], features=features)
    folder = tmp_path / "set"
    folder.mkdir()
    rows.to_parquet(str(folder / "train-00000.parquet"))
    loaded = load_pairs(PairSource(str(folder)))
    # Read back without the card the column holds plain integers or labels; both name the same construction.
    assert loaded.counts == {"back_generation": 2, "rewriting": 1}
    assert "x" not in loaded.rows.column_names


def test_row_of_a_dataset_is_named_by_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    Dataset.from_list([ROW, {**ROW, "chosen": ""}]).to_parquet(str(folder / "train.parquet"))
    with pytest.raises(DataError, match="row 1: chosen is empty"):
        load_pairs(PairSource(str(folder)))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (PairSource("no/such/folder"), "cannot be loaded|no such folder"),
        (PairSource("nowhere.jsonl"), "cannot be read"),
    ],
)
def test_missing_sets_are_refused(source: PairSource, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_pairs(source)
