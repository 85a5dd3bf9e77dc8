from __future__ import annotations

import pytest

from storyalign.annotation.tasks import Task
from storyalign.records import BadRow
from tests.support.annotated_groups import row


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({}, "rank"),
        ({"ranking": [1, 0, 3, 2]}, "confirm"),
        ({"human": 2}, "human-best"),
        ({"human": 2, "ranking": [1, 0, 3, 2]}, "human-best"),
        ({"mode": "best-of-n", "ranking": [1, 0, 3, 2]}, "best-of-n"),
    ],
)
def test_what_is_asked_follows_from_the_row(fields: dict, mode: str) -> None:
    task = Task.from_row(row(0, **fields))
    assert task.mode == mode
    assert Task.from_row(task.to_row()) == task


def test_a_writer_called_human_is_the_human_story() -> None:
    given = row(0)
    given["candidates"][3]["writer"] = "human"
    assert (Task.from_row(given).human, Task.from_row(given).mode) == (3, "human-best")


def test_the_option_goes_before_the_row() -> None:
    assert Task.from_row(row(0, ranking=[0, 1, 2, 3]), "rank").mode == "rank"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"id": None}, "id is missing"),
        ({"prompt": " "}, "prompt is missing or empty"),
        ({"candidates": [{"story": "one"}]}, "expected 2 to 16 candidates, found 1"),
        ({"candidates": [{"story": "a"}] * 17}, "expected 2 to 16 candidates, found 17"),
        ({"candidates": [{"story": "a"}, {"story": ""}]}, "candidate 1 has no story"),
        ({"candidates": [{"story": "a"}, {"story": "a"}]}, "candidates 0 and 1 are the same story"),
        ({"ranking": [0, 1, 2, 2]}, "expected each of 0 to 3 once"),
        ({"ranking": [True, 0, 2, 3]}, "expected each of 0 to 3 once"),
        ({"human": 4}, "expected 0 to 3"),
        ({"mode": "confirm"}, "needs a ranking to confirm"),
        ({"mode": "human-best"}, "needs human"),
        ({"mode": "guess"}, "unknown mode 'guess'"),
    ],
)
def test_broken_rows_are_named(fields: dict, said: str) -> None:
    with pytest.raises(BadRow, match=said):
        Task.from_row({**row(0), **fields})
