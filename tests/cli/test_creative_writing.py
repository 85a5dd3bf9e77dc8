"""The verb creative-writing: writer and judge are scripted, everything else is real."""

from __future__ import annotations

import json
import re

import pytest

from storyalign.llm.criteria_replies import CRITERIA
from tests.cli.test_evaluate import call
from tests.support.rows import storyrmb_row, write_rows
from tests.support.scripted_llm_server import prompt_of, scripted_server

__all__ = ["call"]

PROMPTS = {
    str(n): {
        "category": "c",
        "title": "t",
        "writing_prompt": f"Scene {n}. <SEED>",
        "seed_modifiers": ["Be brief.", "x"],
    }
    for n in range(1, 4)
}


def script(body, number):
    text = prompt_of(body)
    if body["model"] == "writer":
        assert re.fullmatch(r"Scene \d\. Be brief\.", text)  # the prompt as it is, with its first modifier
        return f"{text} " + "word " * (body["seed"] - 20)
    story = re.search(r"\[story begins (\w+)\]\n(.*?)\n\[story ends", text, re.S)[2]
    if "unreadable" in story:
        return "no"
    # A judge that likes short stories: 5 for the shortest, 2 for the longest of four.
    score = 5 if "lay under the lamp" in story else max(1, 6 - story.count("word")) if "word" in story else 3
    return json.dumps(dict.fromkeys(CRITERIA, score))


@pytest.fixture
def server(tmp_path, monkeypatch):
    with scripted_server(script) as running:
        judge = {"url": running.url, "model": "judge", "mode": "rate", "reply_format": "json_schema"}
        (tmp_path / "own.yaml").write_text(json.dumps({"judges": {"mine": judge}}))
        monkeypatch.setenv("STORYALIGN_SCORERS", str(tmp_path / "own.yaml"))
        (tmp_path / "prompts.json").write_text(json.dumps(PROMPTS))
        yield running


def test_table_10(call, tmp_path, server):
    write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(n) for n in range(4)])
    arguments = (
        *("creative-writing", "null:longest", "null:shortest", "prompts.json", "--judge", "judge:mine"),
        *("--out", "cw", "--url", server.url, "--model", "writer", "--n", "4", "--benchmark", "rmb.jsonl"),
    )
    code, out, err = call(*arguments)
    assert code == 0, err
    found = json.loads((tmp_path / "cw/creative_writing.json").read_text())
    # Seeds 21 to 24 give stories of 1 to 4 words; the judge gives 6 minus that.
    assert {row["name"]: row["score"] for row in found["scorers"]} == {"longest": 2.0, "shortest": 5.0}
    assert {row["n"] for row in found["scorers"]} == {3} and found["n"] == "4"
    # On the benchmark the judge prefers the chosen story of each of the 4 groups, 2 of each source.
    assert found["judge_on_benchmark"]["accuracy"] == 1.0
    assert {k: v["n"] for k, v in found["judge_on_benchmark"]["by_source"].items()} == {"human_llm": 2, "llm_llm": 2}
    assert "Human–LLM 100.0" in found["caveat"] and "76% over both" in out
    asked = len(server.requests)
    assert asked == 12 + 6 + 16  # stories, chosen ones to judge, the benchmark
    assert call(*arguments)[0] == 0 and len(server.requests) == asked


def test_what_the_judge_cannot_score_is_counted(call, tmp_path, server):
    groups = [
        {
            "id": f"g{n}",
            "premise": f"P{n}",
            "candidates": [{"story": s, "writer": "w"} for s in (f"word {n}", f"unreadable long story {n}")],
        }
        for n in range(3)
    ]
    write_rows(tmp_path / "c.jsonl", groups)
    code, _, err = call(
        "creative-writing", "null:longest", "null:shortest", "c.jsonl", "--judge", "judge:mine", "--out", "cw"
    )
    assert code == 0, err
    rows = {row["name"]: row for row in json.loads((tmp_path / "cw/creative_writing.json").read_text())["scorers"]}
    assert rows["longest"] == {"name": "longest", "score": None, "ci": None, "n": 0, "unscored": 3, "criteria": {}}
    assert (rows["shortest"]["score"], rows["shortest"]["n"]) == (5.0, 3)
    assert rows["shortest"]["criteria"] == dict.fromkeys(CRITERIA, 5.0)


def test_mistakes_are_one_line(call, tmp_path, server):
    for arguments in (
        ("null:longest", "prompts.json", "--judge", "mine", "--out", "cw"),
        ("prompts.json", "--judge", "judge:mine", "--out", "cw"),
        ("null:longest", "none.json", "--judge", "judge:mine", "--out", "cw"),
    ):
        code, _, err = call("creative-writing", *arguments)
        assert code == 2 and err.count("\n") == 1, err
