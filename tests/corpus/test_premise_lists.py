"""Premises out of every file that has them."""

from __future__ import annotations

import json
import os

import pytest

from storyalign.corpus.premise_lists import Premise, read_premises
from storyalign.errors import DataError, RowError
from tests.support.rows import group_row, storyrmb_row, write_rows


def test_rows_groups_and_plain_lines(tmp_path):
    mops = write_rows(tmp_path / "mops.jsonl", [{"id": "m1", "premise": "A dog.", "theme": "x"}])
    rmb = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(1), storyrmb_row(1, id="again"), storyrmb_row(2)])
    judged = write_rows(tmp_path / "g.jsonl", [group_row(1, None, None)])
    lines = tmp_path / "mine.txt"
    lines.write_bytes(b"\xef\xbb\xbfA keeper.\r\n\r\n  A letter. \r\nA keeper.\r\n")
    assert read_premises(mops).premises == [Premise("m1", "A dog.")]
    found = read_premises(rmb)
    assert [p.id for p in found.premises] == ["rmb-0001", "rmb-0002"] and found.dropped.total() == 1
    assert read_premises(judged).premises[0].text == "Premise 1."
    assert [p.text for p in read_premises(lines).premises] == ["A keeper.", "A letter."]


def test_the_prompt_file_of_creative_writing_v3(tmp_path):
    entry = {
        "category": "romance",
        "title": "T",
        "writing_prompt": "Write a scene. <SEED> 1000 words.",
        "seed_modifiers": ["Name a {place}.", "Another."],
    }
    path = tmp_path / "prompts.json"
    path.write_text(json.dumps({"1": entry, "7": {"writing_prompt": "No mark."}}))
    assert read_premises(path).premises == [
        Premise("cw-1", "Write a scene. Name a {place}. 1000 words.", "romance"),
        Premise("cw-7", "No mark."),
    ]


@pytest.mark.parametrize(
    ("name", "content", "error", "complaint"),
    [
        ("a.json", "[1]", DataError, "one prompt under each number"),
        ("b.json", '{"1": {"title": "x"}}', DataError, "prompt 1 has no writing_prompt"),
        ("c.json", '{"1": {"writing_prompt": "a <SEED>"}}', DataError, "no seed_modifiers"),
        ("d.jsonl", '{"id": "x", "story": "y"}\n', RowError, "no premise"),
        ("e.txt", "\n\n", DataError, "holds no premises"),
        (
            "f.jsonl",
            '{"id": "x", "premise": "a"}\n{"id": "x", "premise": "b"}\n',
            DataError,
            "premises 1 and 2",
        ),
    ],
)
def test_files_without_premises_are_named(tmp_path, name, content, error, complaint):
    (tmp_path / name).write_text(content)
    with pytest.raises(error, match=name) as caught:
        read_premises(tmp_path / name)
    assert complaint in str(caught.value)


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_the_real_premises_of_mops():
    assert len(read_premises(f"{os.environ['STORYALIGN_REAL_DATA']}/mops/curated.jsonl").premises) == 100
