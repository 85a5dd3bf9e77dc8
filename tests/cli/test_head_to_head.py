"""The verbs head-to-head and linguistics on files, and on real stories that people ranked."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.cli.test_evaluate import call, data, rewards, write_data
from tests.support.judging import shown_stories
from tests.support.rows import write_rows
from tests.support.scored import instance
from tests.support.scripted_llm_server import scripted_server

__all__ = ["call", "data", "rewards"]

real = pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")


def test_two_rewards_files_are_all_it_takes(call, data, rewards, tmp_path):
    begun = time.monotonic()
    a, b = rewards("a", 0.8), rewards("b", 0.5, seed=1)
    code, out, err = call("head-to-head", a, b, data, "--chart", "d.png", "--markdown", "d.md", "--json", "d.json")
    assert code == 0, err
    assert "60 groups with an order" in out and "reference: the order stored in the data\n" in out
    (duel,) = json.loads((tmp_path / "d.json").read_text())["duels"]
    assert sum(duel[name]["share"] for name in ("win", "tie", "even", "lose")) == pytest.approx(1.0)
    assert (tmp_path / "d.md").read_text().startswith("| First | Second |")
    assert (tmp_path / "d.png").stat().st_size > 5000
    code, out, err = call("linguistics", a, b, data, "--json", "l.json")
    assert code == 0, err
    rows = json.loads((tmp_path / "l.json").read_text())["rows"]
    assert [row["kind"] for row in rows[:4]] == ["gold", "all", "right", "wrong"]
    assert len(rows) == 1 + 3 * (2 + 6)
    assert time.monotonic() - begun < 60


def test_rankings_of_two_annotators(call, tmp_path):
    items = [instance(n, size=2) for n in range(4)]
    path = write_data(tmp_path / "d.jsonl", items)
    for name, order in (("ann", [2, 1]), ("bob", [1, 1])):  # the rejected story is ranked higher on the whole
        ranks = [{"id": item.id, "annotator": name, "ranks": order} for item in items]
        write_rows(tmp_path / f"{name}.jsonl", ranks)
    code, out, err = call(
        *("head-to-head", "null:longest", "null:shortest", path, "--ranks", "ann.jsonl", "--ranks", "bob.jsonl"),
        *("--json", "d.json"),
    )
    assert code == 0, err
    found = json.loads((tmp_path / "d.json").read_text())
    assert found["duels"][0]["n_lose"] == 4  # the chosen story is the longer one in each group
    assert "Krippendorff's alpha (ordinal)" in out and found["agreement"]["annotators"] == {"ann": 4, "bob": 4}


def test_groups_in_which_a_judge_s_reply_cannot_be_read_are_not_met(call, tmp_path, monkeypatch):
    items = [instance(n, size=2) for n in range(4)]  # the chosen story is the longer one
    data = write_data(tmp_path / "d.jsonl", items)

    def reply(body, _):
        shown = shown_stories(body)
        place = 1 + next(n for n, story in enumerate(shown) if "came home" in story)
        return "They are both lovely." if "Story 3" in shown[0] else f'{{"best": {place}}}'

    with scripted_server(reply) as server:
        judges = {"mine": {"url": server.url, "model": "m", "mode": "choose", "tries": 1}}
        (tmp_path / "own.yaml").write_text(json.dumps({"judges": judges}))
        monkeypatch.setenv("STORYALIGN_SCORERS", str(tmp_path / "own.yaml"))
        code, _, err = call("head-to-head", "judge:mine", "null:shortest", data, "--json", "d.json")
    assert code == 0, err
    [duel] = json.loads((tmp_path / "d.json").read_text())["duels"]
    assert (duel["n"], duel["n_left_out"], duel["n_win"]) == (3, 1, 3)
    assert len(server.requests) == 3 * 2 + 2 * 3  # both rotations; the unread ones three times


def test_mistakes_are_one_line(call, data, rewards):
    a = rewards("a", 0.8)
    for arguments in (
        ("head-to-head", a, data),
        ("head-to-head", a, "null:nothing", data),
        ("head-to-head", a, a, data, "--ranks", "none.jsonl"),
        ("linguistics", a, data, "--by-writer"),
        ("linguistics", "none.jsonl"),
    ):
        code, _, err = call(*arguments)
        assert code == 2 and err.count("\n") == 1, err


@real
@pytest.mark.real_data
def test_real_orders(call, tmp_path):
    folder = os.environ["STORYALIGN_REAL_DATA"]
    code, out, err = call(
        *("head-to-head", "null:longest", "null:most_bursty", f"{folder}/lamp_rank.jsonl"),
        *("--score-key", "ranks", "--lower-is-better"),
    )
    assert code == 0, err
    assert "44 groups with an order" in out and "3 annotators; Krippendorff's alpha (ordinal) 0.56" in out
    code, out, err = call("head-to-head", "null:longest", "null:most_bursty", f"{folder}/confederacy.jsonl")
    assert code == 0, err
    assert "26 stories of 2 groups" in out
    code, _, err = call("head-to-head", "null:longest", "null:first", f"{folder}/hanna.jsonl")
    assert code == 2 and "no order to measure choices against" in err
