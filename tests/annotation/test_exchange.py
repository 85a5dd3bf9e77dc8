from __future__ import annotations

import csv
from pathlib import Path

import pytest

from storyalign.annotation.exchange import import_rows, read_rows, seats_of, sheet_rows, write_rows
from storyalign.annotation.store import Store
from storyalign.annotation.tasks import Task
from storyalign.errors import DataError, RowError
from tests.support.annotated_groups import ranked, row, task, unsure

ENDINGS = pytest.mark.parametrize("ending", ["jsonl", "csv"])
TASKS = [task(0), task(1, ranking=[2, 0, 1, 3]), task(2, human=1), task(3, n=5, mode="best-of-n")]


def filled(path: Path) -> Store:
    store = Store(path, create=True)
    store.add_tasks(TASKS)
    return store


@ENDINGS
def test_verdicts_go_to_another_store_and_back(tmp_path: Path, ending: str) -> None:
    given = [
        ranked(TASKS[0], "annotator-1", 3, 1, 0, 2),
        unsure(TASKS[1], "annotator-1"),
        ranked(TASKS[2], "annotator-2", 1, seconds=None),
        ranked(TASKS[3], "annotator-2", 4, 3, 2, 1, 0, kind="check", seconds=12.5),
        ranked(TASKS[0], "annotator-3", 0, 1, 2, 3, kind="senior"),
    ]
    source, target = filled(tmp_path / "a.sqlite"), filled(tmp_path / "b.sqlite")
    for verdict in given:
        source.give(verdict)
    write_rows(tmp_path / f"v.{ending}", [v.to_row() for v in source.verdicts()])
    target.name_senior("annotator-3")
    assert import_rows(target, read_rows(tmp_path / f"v.{ending}")) == (5, 0, 0)
    assert target.verdicts() == given
    assert import_rows(target, read_rows(tmp_path / f"v.{ending}")) == (0, 5, 0)
    assert target.verdicts() == given


def fill(path: Path, annotator: str, answers: dict[str, dict[str, str]]) -> None:
    """Write answers into a sheet, as a person would: letters of seats for candidates."""
    rows = [line.row for line in read_rows(path)]
    for one in rows:
        about = next(t for t in TASKS if t.id == one["id"])
        seats = seats_of(about, annotator, one["kind"])
        for name, value in answers.get(one["id"], {}).items():
            if name == "order":
                value = " > ".join("ABCDEFGH"[seats.index(int(c))] for c in value)
            if name.isdigit():
                name = f"score_{'ABCDEFGH'[seats.index(int(name))]}"
            one[name] = value
    write_rows(path, rows)


@ENDINGS
def test_a_sheet_is_blind_and_comes_back_filled_in(tmp_path: Path, ending: str) -> None:
    store = filled(tmp_path / "s.sqlite")
    ann = store.sign_in("Ann")
    path = tmp_path / f"ann.{ending}"
    write_rows(path, sheet_rows(store.claim_all(ann, 50)))
    text = path.read_text(encoding="utf-8-sig")
    assert "model-" not in text and "Ann" not in text and ann.key not in text
    fill(
        path,
        ann.key,
        {
            "g0": {"order": "3102", "0": "5", "1": "7", "2": "2", "3": "9", "seconds": "90"},
            "g1": {"verdict": "confirmed"},
            "g2": {"verdict": "unsure"},
        },
    )
    assert import_rows(store, read_rows(path), ann.key) == (3, 0, 1)
    first, second, third = store.verdicts()
    assert (first.verdict, first.ranking, first.scores, first.seconds) == ("reordered", (3, 1, 0, 2), (5, 7, 2, 9), 90)
    assert (second.verdict, second.ranking) == ("confirmed", (2, 0, 1, 3))
    assert (third.verdict, third.ranking) == ("unsure", None)
    assert store.claim_next(ann).task.id == "g3"  # the blank row stays hers


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"order": "A > B"}, "the order does not hold every story once"),
        ({"order": "A > B > C > X"}, "expected letters of the stories"),
        ({"order": "best is A"}, "expected letters of the stories"),
        ({"order": "A>B>C>D", "score_A": "nine"}, "score_A is 'nine'"),
        ({"order": "A>B>C>D", "score_A": "9"}, "score from 1 to 10"),
        ({"verdict": "maybe"}, "leave it empty"),
        ({"verdict": "confirmed"}, "belongs to mode confirm"),
        ({"verdict": "unsure", "seconds": "long"}, "seconds must be a finite number, got 'long'"),
    ],
)
def test_half_filled_rows_are_named_and_nothing_is_stored(tmp_path: Path, cells: dict, said: str) -> None:
    store = filled(tmp_path / "s.sqlite")
    ann = store.sign_in("Ann")
    path = tmp_path / "ann.csv"
    rows = sheet_rows(store.claim_all(ann, 50))
    rows[1]["verdict"] = "unsure"
    rows[0].update(cells)
    write_rows(path, rows)
    with pytest.raises(RowError, match=said) as error:
        import_rows(store, read_rows(path), ann.key)
    assert "id g0" in str(error.value)
    assert store.verdicts() == []


def test_another_verdict_of_the_same_person_is_refused(tmp_path: Path) -> None:
    store = filled(tmp_path / "s.sqlite")
    store.give(ranked(TASKS[0], "k", 0, 1, 2, 3))
    write_rows(tmp_path / "v.jsonl", [ranked(TASKS[0], "k", 1, 0, 2, 3).to_row()])
    with pytest.raises(RowError, match="another verdict on this group"):
        import_rows(store, read_rows(tmp_path / "v.jsonl"))
    write_rows(tmp_path / "w.jsonl", [{"id": "g9"}])
    with pytest.raises(RowError, match="no such group"):
        import_rows(store, read_rows(tmp_path / "w.jsonl"))


def test_a_spreadsheet_runs_no_story_and_stories_come_back_whole(tmp_path: Path) -> None:
    hostile = ['=HYPERLINK("http://x")', "'=1+1", "- a dash\nand a line", 'עולם \u200b«;», "quoted"']
    given = {**row(0), "candidates": [{"story": story} for story in hostile]}
    store = Store(tmp_path / "s.sqlite", create=True)
    store.add_tasks([Task.from_row(given)])
    write_rows(tmp_path / "s.csv", sheet_rows(store.claim_all(store.sign_in("Ann"), 5)))
    with (tmp_path / "s.csv").open(encoding="utf-8-sig", newline="") as file:
        (cells,) = csv.DictReader(file)
    assert not any(cells[f"story_{letter}"].startswith(("=", "-")) for letter in "ABCD")
    (line,) = read_rows(tmp_path / "s.csv")
    assert sorted(line.row[f"story_{letter}"] for letter in "ABCD") == sorted(hostile)


def test_spreadsheets_that_write_semicolons(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id;verdict\ng0;unsure\n", encoding="utf-8")
    assert [line.row for line in read_rows(tmp_path / "s.csv")] == [{"id": "g0", "verdict": "unsure"}]


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"jsonl or \.csv"):
        write_rows(tmp_path / "v.xlsx", [])
    with pytest.raises(DataError, match=r"jsonl or \.csv"):
        list(read_rows(tmp_path / "v.xlsx"))


def test_nobody_imports_herself_as_senior_nor_settles_her_own_dispute(tmp_path: Path) -> None:
    store = filled(tmp_path / "s.sqlite")
    store.give(ranked(TASKS[0], "ann", 0, 1, 2, 3))
    store.give(ranked(TASKS[0], "ben", 1, 0, 2, 3))
    write_rows(tmp_path / "v.jsonl", [ranked(TASKS[0], "cleo", 1, 0, 2, 3, kind="senior").to_row()])
    with pytest.raises(RowError, match="cleo is no senior of this store; name seniors with"):
        import_rows(store, read_rows(tmp_path / "v.jsonl"))
    store.name_senior("ann")
    write_rows(tmp_path / "w.jsonl", [ranked(TASKS[0], "ann", 0, 1, 2, 3, kind="senior").to_row()])
    with pytest.raises(RowError, match="nobody settles a dispute of her own"):
        import_rows(store, read_rows(tmp_path / "w.jsonl"))
    assert len(store.verdicts()) == 2
    store.name_senior("cleo")
    assert import_rows(store, read_rows(tmp_path / "v.jsonl")).stored == 1


@ENDINGS
def test_verdicts_and_sheets_meet_no_other_texts(tmp_path: Path, ending: str) -> None:
    store, other = filled(tmp_path / "s.sqlite"), Store(tmp_path / "o.sqlite", create=True)
    changed = row(0)
    changed["candidates"][2]["story"] += " And then it rained."
    other.add_tasks([Task.from_row(changed)])
    ann = store.sign_in("Ann")
    sheet = sheet_rows(store.claim_all(ann, 1))
    sheet[0]["verdict"] = "unsure"
    for name, rows, key in (("v", [unsure(TASKS[0], "k").to_row()], None), ("s", sheet, ann.key)):
        path = tmp_path / f"{name}.{ending}"
        write_rows(path, rows)
        with pytest.raises(RowError, match="given on another premise or other stories"):
            import_rows(other, read_rows(path), key)
        assert import_rows(store, read_rows(path), key).stored == 1
        write_rows(path, [{n: v for n, v in one.items() if n != "texts"} for one in rows])
        with pytest.raises(RowError, match="export the file again from its annotation store"):
            import_rows(store, read_rows(path), key)
