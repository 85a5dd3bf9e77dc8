from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.errors import DataError, RowError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.preferences.people_check import export_check, people_agree
from tests.rows import pair_row, write_rows


@pytest.fixture
def check(tmp_path: Path) -> Path:
    raw = write_rows(tmp_path / "pairs.jsonl", [pair_row(n) for n in range(300)])
    assert export_check([raw], tmp_path / "check") == 40
    return tmp_path / "check"


def rows(path: Path) -> list[dict]:
    return [line.row for line in read_jsonl(path)]


def test_twenty_of_each_construction_with_nothing_that_tells_which_was_chosen(check: Path) -> None:
    tasks, key = rows(check / "pairs.jsonl"), {row["id"]: row for row in rows(check / "key.jsonl")}
    assert sorted(row["construction"] for row in key.values()) == ["llm_pairs"] * 20 + ["rewriting"] * 20
    assert {frozenset(task) for task in tasks} == {frozenset({"id", "prompt", "candidates", "mode"})}
    for task in tasks:
        source = pair_row(int(task["id"].removeprefix("pair-")))
        stories = [candidate["story"] for candidate in task["candidates"]]
        assert stories[key[task["id"]]["chosen"]] == source["chosen"]
        assert set(stories) == {source["chosen"], source["rejected"]}
    assert 8 <= sum(row["chosen"] for row in key.values()) <= 32


def test_the_share_that_agrees_has_its_interval(check: Path) -> None:
    key = rows(check / "key.jsonl")
    verdicts = []
    for n, row in enumerate(row for row in key if row["construction"] == "rewriting"):
        best = row["chosen"] if n < 15 else 1 - row["chosen"]
        verdicts.append({"id": row["id"], "annotator": "a", "verdict": "reordered", "ranking": [best, 1 - best]})
    verdicts[19] |= {"verdict": "unsure", "ranking": None}
    verdicts.append({**verdicts[16], "kind": "check"})
    write_jsonl(check / "verdicts.jsonl", verdicts)
    (found,) = people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    assert (found.construction, found.agree, found.n, found.unsure) == ("rewriting", 15, 19, 1)
    assert [round(bound, 3) for bound in found.interval] == [0.567, 0.915]  # Wilson for 15 of 19, statsmodels


def test_verdicts_of_other_pairs_are_refused(check: Path) -> None:
    write_jsonl(check / "verdicts.jsonl", [{"id": "x", "verdict": "reordered", "ranking": [0, 1]}])
    with pytest.raises(RowError, match=r"verdicts\.jsonl:1 \(id x\): no such pair"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    write_jsonl(check / "verdicts.jsonl", [])
    with pytest.raises(DataError, match="no verdict names a best story"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")
