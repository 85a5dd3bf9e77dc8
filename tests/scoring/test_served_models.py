import json

import pytest

from storyalign.cli.main import app
from storyalign.errors import EndpointError, RecipeError
from storyalign.models.chat import TooLongError, render
from storyalign.models.loading import load_tokenizer
from storyalign.scoring.options import ScoringOptions
from storyalign.scoring.reward_models import load_scorer
from storyalign.scoring.reward_store import Request
from storyalign.scoring.served_models import TRIES, ServedModelScorer
from storyalign.scoring.systems import resolve
from tests.support.pooling_server import pooling_server
from tests.support.rows import storyrmb_row, write_rows
from tests.support.tiny_models import tiny_model_folder, words

PREMISE = "A keeper and the sea."
STORIES = [words(30, 1), words(200, 2), "A story with <|im_end|> in it.", words(90, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_model_folder(tmp_path_factory.mktemp("model"))


@pytest.fixture
def server(folder):
    with pooling_server(folder, "org/tiny") as running:
        yield running


def scorer(server, folder, context=None, **options):
    given = ScoringOptions(**options)
    return ServedModelScorer(server.url, "org/tiny", load_tokenizer(folder), given, context=context, first_pause=0.001)


def score(one, stories):
    rows = [row for rows in one.score(Request("i", n, PREMISE, s) for n, s in enumerate(stories)) for row in rows]
    return sorted(rows, key=lambda row: row.candidate)


def test_rewards_are_those_of_the_kit_for_the_kits_own_tokens(server, folder):
    rows = score(scorer(server, folder), STORIES)
    assert [row.reward for row in rows] == pytest.approx(load_scorer(folder).rank(PREMISE, STORIES), abs=1e-4)
    assert {row.status for row in rows} == {"scored"}
    [request] = server.requests
    tokens = [render(load_tokenizer(folder), PREMISE, story) for story in STORIES]
    assert sorted(request["input"]) == sorted(tokens)
    assert (request["use_activation"], request["task"]) == (False, "classify")


def test_what_the_server_refuses_is_named_and_the_others_are_scored(folder):
    """A limit that the server keeps to itself: only the long story has no reward."""
    with pooling_server(folder, "org/tiny", limit=150) as server:
        one = scorer(server, folder)
        one._conversations.max_length = None
        rows = score(one, STORIES)
    assert [row.status for row in rows] == ["scored", "failed", "scored", "scored"]
    assert "HTTP 400" in rows[1].detail and "maximum context length is 150" in rows[1].detail


def test_the_limit_is_the_smaller_one_of_entry_and_server(server, folder):
    assert scorer(server, folder).max_length == 16384
    assert scorer(server, folder, context=100).max_length == 100
    with pytest.raises(RecipeError, match="--max-length 200 is beyond the 100 tokens"):
        scorer(server, folder, context=100, max_length=200)
    with pytest.raises(TooLongError, match=r"i\[1\]"):
        scorer(server, folder, context=150).refuse_too_long([Request("i", 1, PREMISE, STORIES[1])])
    rows = score(scorer(server, folder, context=150, truncate="head"), STORIES)
    assert [row.truncated for row in rows] == [False, True, False, False]


def test_passing_faults_are_tried_again_and_lasting_ones_end_the_run(server, folder):
    one = scorer(server, folder)
    server.faults = [503, 429]
    assert score(one, STORIES)[0].status == "scored"
    assert len(server.requests) == 3
    server.faults = [500] * TRIES
    with pytest.raises(EndpointError, match=r"HTTP 500: .*not now.*is `vllm serve org/tiny` running there"):
        score(one, STORIES)
    assert len(server.requests) == 3 + TRIES
    server.faults = [404]
    with pytest.raises(EndpointError, match="HTTP 404"):
        score(one, STORIES)
    assert len(server.requests) == 4 + TRIES


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"data": [{"index": 0, "data": [[0.1], [0.2]]}]}, "more than one figure"),
        ({"data": [{"index": 0, "data": [0.1, 0.2]}]}, "more than one figure"),
        ({"data": []}, "0 rewards came back for 1 stories"),
        ({"data": [{"index": 1, "data": [0.1]}]}, "1 rewards came back"),
        ({"error": "?"}, "another form"),
        (["?"], "another form"),
    ],
)
def test_what_is_no_reward_is_an_error(server, folder, reply, message):
    one = scorer(server, folder)
    server.reply = reply
    with pytest.raises(EndpointError, match=message):
        score(one, STORIES[:1])


def test_no_number_is_unscored(server, folder):
    one = scorer(server, folder)
    server.reply = {"data": [{"index": 0, "data": [None]}]}
    [row] = score(one, STORIES[:1])
    assert (row.status, row.reward) == ("not_finite", None)


def test_another_model_or_no_server_is_refused(server, folder):
    with pytest.raises(EndpointError, match="serves org/tiny, not org/other; start it with --served-model-name"):
        ServedModelScorer(server.url, "org/other", load_tokenizer(folder), first_pause=0.001)
    with pytest.raises(EndpointError, match="is `vllm serve org/tiny` running there"):
        ServedModelScorer("http://127.0.0.1:9", "org/tiny", load_tokenizer(folder), first_pause=0.001)


def test_the_digest_follows_limit_and_cut_and_not_the_server_s_address(server, folder):
    with pooling_server(folder, "org/tiny") as other:
        options = [{}, {"max_length": 500}, {"truncate": "head"}, {"revision": "v2"}]
        digests = [scorer(server, folder, **option).digest for option in options]
        assert len(set(digests)) == 4 and scorer(other, folder).digest == digests[0]
        assert scorer(server, folder).digest == digests[0]


def test_by_name_from_the_command_line(folder, tmp_path, monkeypatch, capsys):
    data = write_rows(tmp_path / "data.jsonl", [storyrmb_row(n) for n in range(3)])
    with pooling_server(folder, str(folder)) as server:
        own = tmp_path / "own.yaml"
        own.write_text(json.dumps({"reward_models": {"far": {"model": str(folder), "url": server.url}}}))
        monkeypatch.setenv("STORYALIGN_SCORERS", str(own))
        out = tmp_path / "far.jsonl"
        app(["score", "far", str(data), "--out", str(out)], standalone_mode=False)
        asked = len(server.requests)
        app(["score", "far", str(data), "--out", str(out)], standalone_mode=False)
        assert len(server.requests) == asked  # all was there
        app(["evaluate", str(out), str(data)], standalone_mode=False)
        for options, message in (
            (["--dtype", "bf16"], "--dtype cannot be used: the server decides it"),
            (["--batch-tokens", "9"], "--batch-tokens cannot be used"),
        ):
            with pytest.raises(RecipeError, match=message):
                app(["score", "far", str(data), "--out", str(out), *options], standalone_mode=False)
        with pytest.raises(RecipeError, match="runs on the server"):
            app(["doctor", "far"], standalone_mode=False)
    assert "scored 12 | unscored 0" in capsys.readouterr().out


@pytest.mark.parametrize("fields", [{"head": "gated"}, {"url": "localhost:8000"}])
def test_entries_that_cannot_be_served_are_refused(tmp_path, fields):
    own = tmp_path / "own.yaml"
    own.write_text(json.dumps({"reward_models": {"far": {"model": "m", "url": "http://localhost:8000", **fields}}}))
    with pytest.raises(RecipeError, match="url is for models with a classification head behind http"):
        resolve("far", own_file=own)
