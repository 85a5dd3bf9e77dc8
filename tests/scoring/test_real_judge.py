"""A real model as a judge, behind a real server: SmolLM2-135M with ``transformers serve``, through the command line.

It writes badly, and on and on, so most replies are cut or cannot be read; what counts is that every story has a reward
or a reason.
"""

import json

import pytest
import yaml

from storyalign.files import read_jsonl
from tests.support.command import storyalign
from tests.support.rows import storyrmb_row, write_rows
from tests.support.transformers_serve import served_model

pytestmark = [pytest.mark.full, pytest.mark.timeout(1500)]

CALLS = 4
"""Two groups of two stories: each story alone, both rotations, or both orders."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Serve the model and name it in a file of scorers."""
    folder = tmp_path_factory.mktemp("serve")
    with served_model(folder / "log") as (url, model):
        entry = {"url": url, "model": model, "reply_format": "json_schema", "max_tokens": 96, "max_concurrency": 1}
        own = folder / "own.yaml"
        own.write_text(yaml.safe_dump({"judges": {"small": {**entry, "timeout": 300, "tries": 2}}}))
        yield str(own)


@pytest.mark.parametrize("mode", ["rate", "choose", "pairwise"])
def test_every_story_has_a_reward_or_a_reason(judge, mode, tmp_path):
    rows = [storyrmb_row(n, rejected=["The lamp was out."], rejected_writers=["model-b"]) for n in range(2)]
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "rewards.jsonl"
    arguments = ("score", "judge:small", data, "--out", out, "--mode", mode)
    done = storyalign(*arguments, STORYALIGN_SCORERS=judge)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    rewards = [line.row for line in read_jsonl(out)]
    assert [(row["id"], row["candidate"]) for row in rewards] == [(r["id"], c) for r in rows for c in (0, 1)]
    for row in rewards:
        assert (row["status"] == "scored") == (row["reward"] is not None)
        assert row["reward"] is not None or row["detail"]
    report = json.loads((tmp_path / "rewards.jsonl.scorer.json").read_text())["report"]
    lacking = report["unparsed_replies"] + report["this_run"]["failed"]
    assert report["valid_replies"] + lacking == report["this_run"]["asked"] - report["this_run"]["re_asked"] == CALLS
    assert report["this_run"]["prompt_tokens"] > 100  # the server's own counts

    again = storyalign(*arguments, STORYALIGN_SCORERS=judge)
    assert again.returncode == 0, again.stderr
    report_again = json.loads((tmp_path / "rewards.jsonl.scorer.json").read_text())["report"]
    took = report_again["this_run"]
    assert took["asked"] - took["re_asked"] == lacking  # what was read is not asked for again


def test_the_doctor_says_what_it_is_worth(judge, tmp_path):
    data = write_rows(tmp_path / "data.jsonl", [storyrmb_row(0)])
    done = storyalign("doctor", "judge:small", "--data", data, STORYALIGN_SCORERS=judge)
    print(done.stdout)
    assert done.returncode in (1, 2), done.stderr  # no judge to rely on
    assert " endpoint: " in done.stdout
