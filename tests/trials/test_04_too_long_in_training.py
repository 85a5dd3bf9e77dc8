"""Trial 4, in training: what is too long is refused by name, or cut or dropped and shown before the first step."""

from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.errors import DataError
from storyalign.files import read_jsonl, write_jsonl
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import run_here, write_pairs


def options(tmp_path: Path, *more: str) -> list[str]:
    if not (tmp_path / "base").is_dir():
        tiny_model_folder(tmp_path / "base", "llama-lm")
        pairs = write_pairs(tmp_path / "pairs.jsonl", 10)
        rows = [line.row for line in read_jsonl(pairs)]
        rows[3] |= {"id": "giant", "chosen": "sea " * 400, "construction": "llm_pairs"}
        write_jsonl(pairs, rows)
    return [
        "--model_name_or_path", str(tmp_path / "base"), "--dataset_name", str(tmp_path / "pairs.jsonl"),
        "--output_dir", str(tmp_path / "m"), "--max_length", "100", "--max_steps", "1", "--save_strategy", "no",
        "--disable_tqdm", "true", *more,
    ]  # fmt: skip


def test_refused_by_name_unless_told_otherwise(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 of 10 pairs are longer than 100 tokens, the first one id giant"):
        run_here(*options(tmp_path))


@pytest.mark.parametrize(("policy", "row"), [("drop", "0    0        1"), ("truncate", "0    1        0")])
def test_counted_per_construction_before_the_first_step(tmp_path: Path, policy: str, row: str) -> None:
    printed = run_here(*options(tmp_path, "--over_length", policy, "--max_lost_share", "0.1"))
    table, rest = printed.split("step 1/", 1)  # the first figures of training
    assert [line.split()[:4] for line in table.splitlines()[:3]] == [
        ["construction", "kept", "cut", "dropped"], ["llm_pairs", *row.split()], ["rewriting", "9", "0", "0"],
    ]  # fmt: skip
    assert "the finished model is in" in rest


def test_stops_where_too_much_would_be_lost(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"10\.0% of the pairs are cut or dropped, and max_lost_share is 5\.0%"):
        run_here(*options(tmp_path, "--over_length", "drop"))
    assert not (tmp_path / "m" / "training.json").exists()
