"""``score`` and ``doctor`` with a judge, as a user runs them: processes, files, HTTP."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from storyalign.cli.main import app
from storyalign.errors import StoryAlignError
from storyalign.llm.criteria_replies import CRITERIA
from tests.support.judging import names
from tests.support.rows import group_row, storyrmb_row, write_rows
from tests.support.scripted_llm_server import Said, scripted_server

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


JUDGING = [
    ("score", "judge:mine", "data.jsonl", "--out", "r.jsonl"),
    ("evaluate", "judge:mine", "data.jsonl"),
    ("compare", "judge:mine", "null:longest", "data.jsonl"),
    ("head-to-head", "judge:mine", "null:longest", "data.jsonl"),
    ("linguistics", "judge:mine", "data.jsonl"),
    ("audit", "shortcuts", "data.jsonl", "judge:mine"),
    ("best-of-n", "judge:mine", "data.jsonl", "--out", "bon"),
    ("creative-writing", "judge:mine", "groups.jsonl", "--judge", "judge:mine", "--out", "cw"),
]
BAD = [
    (("--mode", "vote"), "--mode vote: unknown; choose rate, choose, pairwise or criteria"),
    (("--dtype", "int3"), "--dtype int3: unknown; choose fp32 or bf16"),
    (("--truncate", "half"), "--truncate half: unknown; choose head, tail or middle"),
    (("--truncate", "head"), "--truncate cannot be used: a judge reads whole stories"),
    (("--max-length", "9"), "--max-length cannot be used"),
    (("--dtype", "bf16", "--trust-remote-code"), "--dtype, --trust-remote-code cannot be used"),
]


@pytest.fixture
def judged(here, monkeypatch):
    """A paid judge that rates every story 3, and a call of the command line beside its data."""
    monkeypatch.chdir(here)
    monkeypatch.setenv("STORYALIGN_SCORERS", str(here / "own.yaml"))
    write_rows(here / "groups.jsonl", [group_row(n, {"q": 1}, {"q": 2}) for n in range(2)])
    six = ", ".join(f'"{name}": 3' for name in CRITERIA)
    with scripted_server(lambda *_: f"{{{six}}}") as server:
        write_judge(here, server.url, price={"prompt": 1, "reply": 1}, mode="criteria")
        yield lambda *arguments: app(list(arguments), standalone_mode=False), server


@pytest.mark.parametrize("verb", JUDGING, ids=lambda verb: verb[0])
def test_every_verb_checks_its_options_before_the_first_paid_call(judged, verb):
    call, server = judged
    for bad, message in BAD:
        with pytest.raises(StoryAlignError, match=re.escape(message)):
            call(*verb, *bad, "--yes")
    with pytest.raises(StoryAlignError, match="run again with --yes"):
        call(*verb)
    assert not server.requests
    call(*verb, "--yes")
    asked = len(server.requests)
    assert asked > 0
    if verb[0] != "score":  # the mode reaches the judge: other questions
        call(*verb, "--mode", "rate", "--yes")
        assert len(server.requests) > asked


@pytest.mark.parametrize("verb", JUDGING[1:5], ids=lambda verb: verb[0])
@pytest.mark.parametrize("other", ["null:nothing", "none.jsonl", "judge:unknown", "judge:unpriced"])
def test_no_judge_is_paid_beside_a_scorer_that_cannot_be_had(here, judged, verb, other):
    call, server = judged
    judges = json.loads((here / "own.yaml").read_text())["judges"]
    judges["unpriced"] = {"url": "http://192.0.2.1/v1", "model": "far"}
    (here / "own.yaml").write_text(json.dumps({"judges": judges}))
    name, first, *rest = verb
    with pytest.raises(StoryAlignError, match=other):
        call(name, first, other, *rest, "--max-cost", "9")
    assert not server.requests


def test_what_comes_after_the_judge_is_checked_before_it_is_paid(here, judged):
    call, server = judged
    cw = ("creative-writing", "judge:mine", "groups.jsonl", "--judge", "judge:mine", "--out", "cw", "--yes")
    for arguments, message in (
        ((*cw, "--benchmark", "none"), "none"),
        ((*cw, "--n", "4"), "holds stories; leave out"),
        (
            ("best-of-n", "judge:mine", "data.jsonl", "--out", "b", "--yes", "--ranks", "x.jsonl"),
            "no such file",
        ),
        (("head-to-head", "judge:mine", "null:first", "data.jsonl", "--yes", "--chart", "d.bmp"), "as .png or .svg"),
        (("head-to-head", "judge:mine", "null:first", "data.jsonl", "--yes", "--focus", "first"), "add --chart"),
        (("linguistics", "data.jsonl", "--by-writer", "--mode", "rate"), "leave scorers, their options"),
        (("audit", "shortcuts", "data.jsonl", "--mode", "rate"), "no scorer: --mode cannot be used: none is named"),
        (("evaluate", "null:longest", "data.jsonl", "--yes"), "--yes cannot be used: a null scorer reads nothing"),
    ):
        with pytest.raises(StoryAlignError, match=re.escape(message)):
            call(*arguments)
    assert not server.requests


def test_each_scorer_gets_the_options_that_it_takes(here, judged, tmp_path):
    call, server = judged
    from tests.support.tiny_models import tiny_model_folder

    tiny_model_folder(tmp_path / "model")
    call(
        *(
            "head-to-head",
            "judge:mine",
            "model",
            "data.jsonl",
            "--mode",
            "rate",
            "--dtype",
            "bf16",
            "--max-length",
            "99",
        ),
        *("--yes",),
    )
    assert server.requests
    settings = [json.loads(path.read_text())["scorer"] for path in (here / "runs").rglob("*.scorer.json")]
    found = {one["kind"]: (one.get("mode"), one.get("dtype"), one.get("max_length")) for one in settings}
    assert found == {"judge": ("rate", None, None), "reward_model": (None, "bf16", 99)}
