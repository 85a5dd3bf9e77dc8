"""The verb group audit: a planted shortcut is flagged, a clean set is not."""

from __future__ import annotations

import json

import pytest

from tests.audit.test_shortcuts import benchmark, by_length
from tests.cli.test_evaluate import call, write_data
from tests.support.scored import rewards_rows, write_rewards

__all__ = ["call"]


def test_clean_set(call, tmp_path):
    code, out, err = call("audit", "shortcuts", write_data(tmp_path / "d.jsonl", benchmark()), "--json", "s.json")
    assert code == 0, err
    assert "no shortcut found" in out and "flag:" not in out
    for name in ("random", "first", "longest", "shortest", "most bursty", "most prompt overlap"):
        assert name in out
    assert json.loads((tmp_path / "s.json").read_text())["flags"] == []


def test_planted_length_shortcut(call, tmp_path):
    code, out, _ = call("audit", "shortcuts", write_data(tmp_path / "d.jsonl", benchmark(chosen_length=150)))
    assert code == 0
    assert "flag: the null scorer 'longest' reaches 100.0% where chance is 25.0%" in out


def test_scorer_that_counts_words(call, tmp_path):
    items = benchmark()
    rewards = write_rewards(tmp_path / "r.jsonl", rewards_rows(items, by_length, "a" * 64), "a" * 64, model="counter")
    data = write_data(tmp_path / "d.jsonl", items)
    code, out, err = call("audit", "shortcuts", data, rewards, "--json", "s.json")
    assert code == 0, err
    assert "flag: counter: reward and length correlate at 1.00" in out
    assert "rejected story longer" in out and "reward and burstiness" in out
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["scorer"]["correlation"]["length"]["rho"] == pytest.approx(1.0)


def test_foreign_rewards_are_refused(call, tmp_path):
    rewards = write_rewards(tmp_path / "r.jsonl", rewards_rows(benchmark(seed=9), by_length, "a" * 64), "a" * 64)
    code, _, err = call("audit", "shortcuts", write_data(tmp_path / "d.jsonl", benchmark()), rewards)
    assert code == 2 and err.count("\n") == 1


def test_tables(call, tmp_path):
    code, out, err = call("audit", "table", "paper:1", "--json", "t.json")
    assert code == 0, err
    assert "15 averages: 12 fit the mean over groups (micro), 2 the mean over columns (macro), 2 of them both" in out
    assert "3 neither; 10 of 75 cells are no k/N" in out
    assert len(json.loads((tmp_path / "t.json").read_text())["impossible"]) == 10
    (tmp_path / "mine.csv").write_text("model,fluency,mean\nx,33.3,33.3\n")
    assert call("audit", "table", "mine.csv", "--groups", "fluency=3")[0] == 0
    assert call("audit", "table", "paper:1", "--groups", "storyrmb")[0] == 0
    (tmp_path / "blank.csv").write_text("model,fluency,relevance,mean\nx,33.3,,33.3\n")
    code, out, _ = call("audit", "table", "blank.csv", "--groups", "fluency=3,relevance=4")
    assert code == 0 and "not checked: blank cells" in out
    code, _, err = call("audit", "table", "mine.csv", "--groups", "fluency=3,Fluency=4")
    assert code == 2 and "names Fluency twice" in err
    for arguments in (("mine.csv",), ("mine.csv", "--groups", "fluency=0"), ("none.csv", "--groups", "a=1")):
        code, _, err = call("audit", "table", *arguments)
        assert code == 2 and err.count("\n") == 1
