"""``score`` and ``doctor`` with a judge, as a user runs them: processes, files, HTTP."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.cli.main import app
from storyalign.errors import StoryAlignError
from tests.rows import storyrmb_row, write_rows
from tests.scoring.judging import names
from tests.scripted_llm_server import Said, scripted_server

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def here(tmp_path):
    write_rows(tmp_path / "data.jsonl", [storyrmb_row(i) for i in range(3)])
    return tmp_path


def storyalign(here, *arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    return subprocess.run(
        [sys.executable, "-m", "storyalign", *arguments],
        cwd=here,
        env={
            **kept,
            "PYTHONPATH": str(REPOSITORY / "src"),
            "STORYALIGN_SCORERS": str(here / "own.yaml"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=200,
    )


def write_judge(here, url, **fields):
    entry = {"url": url, "model": "scripted", "tries": 2, "first_pause": 0.01, **fields}
    (here / "own.yaml").write_text(json.dumps({"judges": {"mine": entry}}))  # JSON is YAML


def test_score_with_a_local_judge(here):
    with scripted_server(names("by its light")) as server:
        write_judge(here, server.url)
        done = storyalign(here, "score", "judge:mine", "data.jsonl", "--out", "rewards.jsonl")
    assert done.returncode == 0, done.stderr
    assert "judge:mine: 12 calls, about " in done.stderr
    assert "at most $0.00" in done.stderr
    assert "scored 12 | unscored 0" in done.stdout
    assert "calls 12 | answered before 0 | failed 0 | unread 0" in done.stdout
    assert "flip rate 0.0% (0 of 3 instances, 95% 0.0% to 56.1%)" in done.stdout  # Wilson: z²/(n+z²) = 3.841/6.841
    settings = json.loads((here / "rewards.jsonl.scorer.json").read_text())
    assert settings["scorer"]["name"] == "judge:mine"
    assert settings["report"]["flip_rate"] == 0.0


def test_evaluate_asks_a_judge_and_prints_its_accuracy_and_flips(here):
    with scripted_server(lambda *_: "The first one.") as server:
        write_judge(here, server.url)
        arguments = ("evaluate", "judge:mine", "data.jsonl", "--mode", "pairwise", "--json", "results.json")
        done = storyalign(here, *arguments)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 36
        assert storyalign(here, *arguments).returncode == 0
        assert len(server.requests) == 36  # the rewards file was found again
    [result] = [r for r in json.loads((here / "results.json").read_text())["scorers"] if r["kind"] == "judge"]
    assert (result["name"], result["accuracy"], result["n"], result["n_ties"]) == ("judge:mine (pairwise)", 0.25, 3, 3)
    assert "judge:mine (pairwise): flip rate 100.0% (n=18)" in done.stdout


def test_money_is_spent_only_with_consent_and_the_key_is_shown_nowhere(here):
    with scripted_server(lambda *_: Said("1", usage={"prompt_tokens": 10, "completion_tokens": 1})) as server:
        costly = {"price": {"prompt": 1, "reply": 1}, "max_concurrency": 1, "max_tokens": 500}
        write_judge(here, server.url, key_variable="MINE_API_KEY", **costly)
        arguments = ("score", "judge:mine", "data.jsonl", "--out", "r.jsonl")
        said = []

        def run(*more):
            done = storyalign(here, *arguments, *more, MINE_API_KEY="k-123")
            said.append(done.stdout + done.stderr)
            return done

        done = run()
        assert (done.returncode, "run again with --yes, or with --max-cost" in done.stderr) == (2, True)
        assert not server.requests
        done = run("--max-cost", "0.001")  # one bound of some 0.0009 at a time, 0.000011 spent on each
        assert (done.returncode, "the limit of $0.001 is reached" in done.stderr) == (2, True)
        first = len(server.requests)
        assert 0 < first < 12
        done = run("--yes")
        assert done.returncode == 0, done.stderr
    assert len(server.requests) == 12
    assert f"calls {12 - first} | " in done.stdout
    assert {h["authorization"] for h in server.headers} == {"Bearer k-123"}
    assert "k-123" not in "".join(said) + "".join(p.read_text() for p in here.iterdir() if p.is_file())


def test_fresh_asks_everything_again(here, monkeypatch):
    with scripted_server(lambda *_: "1") as server:
        write_judge(here, server.url)
        monkeypatch.setenv("STORYALIGN_SCORERS", str(here / "own.yaml"))
        arguments = ["score", "judge:mine", str(here / "data.jsonl"), "--out", str(here / "r.jsonl")]
        for more, asked in (([], 12), ([], 12), (["--fresh"], 24)):
            app([*arguments, *more], standalone_mode=False)
            assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("judge:mine", "--truncate", "head"), "--truncate cannot be used: a judge reads whole stories"),
        (("judge:mine", "--batch-tokens", "9"), "--batch-tokens cannot be used"),
        (("judge:mine", "--mode", "vote"), "--mode vote: unknown; choose rate, choose, pairwise or criteria"),
        (("judge:yours",), "judge:yours: no such judge"),
        ((".", "--mode", "rate"), "--mode cannot be used: only judges have it"),
    ],
)
def test_options_that_do_not_fit_are_refused(here, monkeypatch, arguments, message):
    write_judge(here, "http://127.0.0.1:9/v1")
    monkeypatch.setenv("STORYALIGN_SCORERS", str(here / "own.yaml"))
    command = ["score", arguments[0], str(here / "data.jsonl"), "--out", str(here / "r.jsonl"), *arguments[1:]]
    with pytest.raises(StoryAlignError, match=message):
        app(command, standalone_mode=False)


def test_doctor_finds_a_sound_judge_sound(here):
    with scripted_server(names("Mara held")) as server:
        write_judge(here, server.url, reply_format="json_schema")
        done = storyalign(here, "doctor", "judge:mine", "--data", "data.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok       replies: all 2 were read: the same story in both orders" in done.stdout
    assert "ok       run: 12 calls" in done.stdout
    assert done.stdout.endswith("sound\n")
    assert all("response_format" in body for body in server.requests)


def test_doctor_ends_with_2_and_one_line_where_there_is_nothing_to_examine(here):
    (here / "own.yaml").write_text("judges: {}")
    done = storyalign(here, "doctor", "./nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ./nothing: no such folder")


@pytest.mark.parametrize("verb", [("best-of-n", "--out", "bon"), ("head-to-head", "null:longest")])
def test_consent_reaches_the_judge_of_every_verb(here, verb):
    with scripted_server(lambda *_: "1") as server:
        write_judge(here, server.url, price={"prompt": 1, "reply": 1})
        arguments = (verb[0], "judge:mine", *verb[1:], "data.jsonl")
        done = storyalign(here, *arguments)
        assert (done.returncode, "run again with --yes" in done.stderr, len(server.requests)) == (2, True, 0)
        done = storyalign(here, *arguments, "--yes")
        assert done.returncode == 0, done.stderr
        assert server.requests
