"""The verb stats, on a folder with two splits and with a real tokenizer."""

from __future__ import annotations

import json

import pytest

from storyalign.hub.build.dataset_folder import build_story_preferences
from storyalign.models.chat import render
from tests.cli.test_evaluate import call
from tests.support.rows import pair_row, storyrmb_row, write_rows
from tests.support.tiny_models import tiny_tokenizer

__all__ = ["call"]


def test_table_9(call, tmp_path):
    write_rows(tmp_path / "pairs.jsonl", [pair_row(n) for n in range(10)])
    build_story_preferences([tmp_path / "pairs.jsonl"], tmp_path / "story_preferences")
    code, _, err = call("stats", "story_preferences", "--json", "s.json", "--markdown", "t.md")
    assert code == 0, err
    (found,) = json.loads((tmp_path / "s.json").read_text())["datasets"]
    # "Flour hung in the air of day 3 like weather." has 10 words, "Flour was there on day 3 and it was flour." too;
    # both splits count: 8 pairs to train on, 2 for validation.
    assert (found["n_groups"], found["n_stories"]) == (10, 20)
    assert found["words"]["mean"] == 10.0 and found["words"]["median"] == 10.0
    assert "| story_preferences | 10 |" in (tmp_path / "t.md").read_text()
    code, _, err = call("stats", "story_preferences", "--split", "validation", "--json", "s.json")
    assert code == 0, err
    assert json.loads((tmp_path / "s.json").read_text())["datasets"][0]["n_groups"] == 2


@pytest.mark.parametrize("verb", [("stats",), ("linguistics", "--by-writer")])
def test_an_id_that_stands_twice_is_not_counted_twice(call, tmp_path, verb):
    write_rows(tmp_path / "d.jsonl", [storyrmb_row(0), storyrmb_row(1), storyrmb_row(0)])
    code, out, err = call(*verb, "d.jsonl")
    assert (code, out) == (2, "")
    assert err == "error: d.jsonl:3 (id rmb-0000): duplicate id rmb-0000: d.jsonl:1 has it, too\n"


NOTICED = [
    ("stats",),
    ("linguistics", "--by-writer"),
    ("linguistics",),
    ("evaluate", "null:longest"),
    ("best-of-n", "null:longest", "--out", "bon"),
    ("head-to-head", "null:longest", "null:first"),
]


@pytest.mark.parametrize("verb", NOTICED)
def test_candidates_that_are_notices_are_named_and_nothing_changes(call, tmp_path, verb):
    rows = [storyrmb_row(n) for n in range(3)]
    rows[0]["rejected"][1] = "[removed]"
    rows[2]["chosen"] = "I'm sorry, but I can't help with that."
    rows[2]["rejected"][0:2] = ["I cannot write this story.", "Error: 429 Too Many Requests"]
    write_rows(tmp_path / "d.jsonl", rows)
    code, _, err = call(*verb, "d.jsonl")
    assert code == 0, err
    assert err == (
        "warning: d.jsonl: 4 of 12 candidates are no stories (a model's refusal stored as a story 2, deleted by its"
        " author or a moderator 1, an API error stored as a story 1): rmb-0000 (story 3), rmb-0002 (story 1), rmb-0002"
        " (story 2), ...; nothing is left out, storyalign import drops them\n"
    )
    write_rows(tmp_path / "d.jsonl", [storyrmb_row(n) for n in range(3)])
    assert call(*verb, "d.jsonl")[2] == ""


def test_tokens_are_those_of_scoring(call, tmp_path):
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    row = storyrmb_row(1)
    write_rows(tmp_path / "d.jsonl", [row])
    lengths = [len(render(tokenizer, row["prompt"], story)) for story in (row["chosen"], *row["rejected"])]
    limit = sorted(lengths)[2]
    code, out, err = call("stats", "d.jsonl", "--tokenizer", "tokenizer", "--context", limit, "--json", "s.json")
    assert code == 0, err
    (found,) = json.loads((tmp_path / "s.json").read_text())["datasets"]
    assert found["tokens"]["total"] == sum(lengths)
    assert found["contexts"][0]["n_over"] == sum(n > limit for n in lengths)
    assert f"Over {limit:,}" in out
    for arguments in (("d.jsonl", "--context", "8"), ("d.jsonl", "--tokenizer", "none"), ("none.jsonl",)):
        code, _, err = call("stats", *arguments)
        assert code == 2 and err.count("\n") == 1, err
