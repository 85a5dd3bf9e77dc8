from __future__ import annotations

from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from storyalign.errors import DataError, RowError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.preferences.people_check import export_check, people_agree
from tests.support.rows import pair_row, write_rows


@pytest.fixture
def check(tmp_path: Path) -> Path:
    raw = write_rows(tmp_path / "pairs.jsonl", [pair_row(n) for n in range(300)])
    assert export_check([raw], tmp_path / "check") == 40
    return tmp_path / "check"


def judged(key: dict, annotator: str, best: int) -> dict:
    shared = {"id": key["id"], "texts": key["texts"], "annotator": annotator}
    return {**shared, "verdict": "reordered", "ranking": [best, 1 - best]}


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
        verdicts.append(judged(row, "a", best))
    verdicts[19] |= {"verdict": "unsure", "ranking": None}
    verdicts.append({**verdicts[16], "kind": "check"})
    write_jsonl(check / "verdicts.jsonl", verdicts)
    (found,) = people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    assert (found.construction, found.share, found.n, found.unsure) == ("rewriting", 15 / 19, 19, 1)
    assert [round(bound, 3) for bound in found.interval] == [0.567, 0.915]  # Wilson for 15 of 19, statsmodels


def test_pairs_are_counted_and_not_verdicts(check: Path) -> None:
    # 20 pairs, two annotators each: they agree with the key on 10, are divided over 6, and go against it on 4, so the
    # share is (10 + 6 / 2) / 20; the interval is Wilson's for 13 of 20 (statsmodels).
    key = [row for row in rows(check / "key.jsonl") if row["construction"] == "rewriting"]
    verdicts = []
    for n, row in enumerate(key):
        right, wrong = row["chosen"], 1 - row["chosen"]
        verdicts += [judged(row, "a", right if n < 16 else wrong), judged(row, "b", right if n < 10 else wrong)]
    write_jsonl(check / "verdicts.jsonl", verdicts)
    (found,) = people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    assert (found.share, found.n, found.verdicts, found.unsure) == (pytest.approx(0.65), 20, 40, 0)
    assert found.interval == pytest.approx(proportion_confint(13, 20, method="wilson"))
    senior = {**judged(key[10], "s", key[10]["chosen"]), "kind": "senior"}  # one of the divided pairs
    write_jsonl(check / "verdicts.jsonl", [*verdicts, senior])
    (found,) = people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    assert (found.share, found.n, found.verdicts) == (pytest.approx(13.5 / 20), 20, 39)
    write_jsonl(check / "verdicts.jsonl", [verdicts[0], verdicts[0]])
    with pytest.raises(RowError, match=r"verdicts\.jsonl:2 .*second verdict of a on this pair"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")


def test_verdicts_on_other_texts_are_refused(check: Path) -> None:
    row = rows(check / "key.jsonl")[0]
    write_jsonl(check / "verdicts.jsonl", [judged({**row, "texts": "0" * 64}, "a", 0)])
    with pytest.raises(RowError, match="given on another premise or other stories"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    write_jsonl(check / "verdicts.jsonl", [{"id": row["id"], "verdict": "reordered", "ranking": [0, 1]}])
    with pytest.raises(RowError, match="export the file again from its annotation store"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")


def test_verdicts_of_other_pairs_are_refused(check: Path) -> None:
    write_jsonl(check / "verdicts.jsonl", [{"id": "x", "verdict": "reordered", "ranking": [0, 1]}])
    with pytest.raises(RowError, match=r"verdicts\.jsonl:1 \(id x\): no such pair"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")
    write_jsonl(check / "verdicts.jsonl", [])
    with pytest.raises(DataError, match="no verdict names a best story"):
        people_agree(check / "key.jsonl", check / "verdicts.jsonl")
