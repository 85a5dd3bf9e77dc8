"""Mail addresses, telephone numbers and profiles are listed; what only looks a little like them is not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.errors import DataError
from storyalign.hub.payload import Payload
from storyalign.hub.release.people import find_personal_data, require_review

YES = {
    "Write to ada.lovelace+tales@mail.example.org today.": ("mail address", "ada.lovelace+tales@mail.example.org"),
    "Call +44 20 7946 0958 at night.": ("telephone number", "+44 20 7946 0958"),
    "Call (555) 123-4567 at night.": ("telephone number", "(555) 123-4567"),
    "Call 555-123-4567.": ("telephone number", "555-123-4567"),
    "电话13912345678。": ("telephone number", "13912345678"),
    "Posted by https://www.reddit.com/user/night_owl there": ("link to a profile", "www.reddit.com/user/night_owl"),
    "写信给 ada@mail.example.org。": ("mail address", "ada@mail.example.org"),
    "see douban.com/people/4711/": ("link to a profile", "douban.com/people/4711"),
    "thanks to u/night_owl for the prompt": ("user handle", "u/night_owl"),
}
NO = [
    "It was 1914-1918, and 12,000 men had gone; 3.14159 and 2024-01-02 are no numbers to call.",
    "She paid 555 for 123 and got 4567.",
    "He whispered: meet me @ the pier.",
    "and/or, his/her, I/we, menu/u",
    "Chapter 1-800, verse 12.",
]


def payload(tmp_path: Path, texts: list[str]) -> Payload:
    pq.write_table(pa.table({"id": [f"r{i}" for i in range(len(texts))], "chosen": texts}), tmp_path / "x.parquet")
    return Payload("dataset", tmp_path, {"data/x.parquet": tmp_path / "x.parquet"})


@pytest.mark.parametrize("text", YES)
def test_found(tmp_path: Path, text: str) -> None:
    kind, excerpt = YES[text]
    assert list(find_personal_data(payload(tmp_path, ["calm", text]))) == [
        ("data/x.parquet, row r1, chosen", kind, excerpt)
    ]


def test_not_found(tmp_path: Path) -> None:
    assert not list(find_personal_data(payload(tmp_path, NO)))


def test_a_contact_in_a_card_is_there_on_purpose(tmp_path: Path) -> None:
    card = Payload("dataset", tmp_path, {"README.md": b"Contact: team@example.org\n\nThanks, u/night_owl\n"})
    assert list(find_personal_data(card)) == [("README.md:3", "user handle", "u/night_owl")]


def test_somebody_has_to_look(tmp_path: Path) -> None:
    found = list(find_personal_data(payload(tmp_path, list(YES))))
    with pytest.raises(DataError, match=f"{len(YES)} places look like personal data"):
        require_review(payload(tmp_path, []), found)
