from __future__ import annotations

from typing import Any

import pytest

from storyalign.records import BadRow, Instance, PreferencePair
from tests.support.rows import pair_row, storyrmb_row


def test_names_that_are_numbers_are_strings() -> None:
    pair = PreferencePair.from_row(pair_row(1, id=7, chosen_writer=4, rejected_writer=3.5))
    assert (pair.id, pair.chosen_writer, pair.rejected_writer) == ("7", "4", "3.5")
    item = Instance.from_row(storyrmb_row(1, id=0, rejected_writers=[1, "b", 2]))
    assert (item.id, item.rejected_writers) == ("0", ("1", "b", "2"))


@pytest.mark.parametrize("value", [True, [1], {"a": 1}])
def test_what_is_no_name_is_refused(value: Any) -> None:
    with pytest.raises(BadRow, match="chosen_writer must be a string or a number"):
        PreferencePair.from_row(pair_row(1, chosen_writer=value))


def test_a_language_under_either_name_and_none() -> None:
    for read, row in ((PreferencePair.from_row, pair_row(1)), (Instance.from_row, storyrmb_row(1))):
        assert read({**row, "language": None, "lang": "zh"}).language == "zh"
        assert read({**row, "language": "ja", "lang": "zh"}).language == "ja"
        assert read({**row, "language": None}).language == "und"


def test_stories_that_differ_by_white_space_alone_are_one_story() -> None:
    row = pair_row(1)
    with pytest.raises(BadRow, match="chosen and rejected are the same text"):
        PreferencePair.from_row({**row, "rejected": row["chosen"].replace(" ", "\n") + "\n"})
    group = storyrmb_row(1)
    with pytest.raises(BadRow, match=r"rejected\[1\] is the chosen story"):
        Instance.from_row({**group, "rejected": ["a", group["chosen"] + "\n", "b"]})
