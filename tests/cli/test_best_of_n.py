"""The verb best-of-n: against a scripted endpoint over HTTP, killed in the middle, and on real ranked stories."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

from storyalign.corpus.premise_lists import Premise
from storyalign.evaluation.drafts import plan
from storyalign.evaluation.story_writers import TRIES, LocalWriter, seed_of
from tests.cli.test_evaluate import call
from tests.support.command import environment
from tests.support.judging import shown_stories
from tests.support.rows import group_row, write_rows
from tests.support.scripted_llm_server import Fault, prompt_of, scripted_server
from tests.support.tiny_models import tiny_model, tiny_model_folder, tiny_tokenizer

__all__ = ["call"]


def story_of(body, number):
    premise = re.search(r"\n([^\n]*keeper[^\n]*)\n", prompt_of(body))[1]
    return f"{premise} Seed {body['seed']}: " + "the lamp burned on. " * (1 + body["seed"] % 7)


def premises(tmp_path, n):
    path = tmp_path / "premises.txt"
    path.write_text("".join(f"A keeper of light {i}.\n" for i in range(n)))
    return path


def rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_stories_are_written_and_chosen(call, tmp_path):
    with scripted_server(story_of) as server:
        arguments = (
            *("best-of-n", "null:longest", "null:shortest", premises(tmp_path, 3), "--out", "bon"),
            *("--url", server.url, "--model", "tiny-writer", "--n", "4", "--words", "60"),
        )
        code, out, err = call(*arguments)
        assert code == 0, err
        assert len(server.requests) == 12
        # Each story of a premise has a seed of its own, at the recipe's temperature.
        assert sorted({body["seed"] for body in server.requests}) == [21, 22, 23, 24]
        assert {body["temperature"] for body in server.requests} == {1.0}
        assert "about 60 words" in prompt_of(server.requests[0])
        again = call(*arguments)
        assert again[0] == 0 and len(server.requests) == 12  # nothing is written twice
        more = call(*arguments[:-4], "--n", "6", "--words", "60")
        assert more[0] == 0 and len(server.requests) == 18
    assert "best of 4 stories for 3 premises" in out and "12 stories for 3 premises" in out
    choices = rows(tmp_path / "bon/choices.jsonl")
    assert len(choices) == 6 and {c["scorer"] for c in choices} == {"longest", "shortest"}
    by_scorer = {(c["id"], c["scorer"]): len(c["story"]) for c in choices}
    assert all(by_scorer[key, "longest"] > by_scorer[key, "shortest"] for key, _ in by_scorer)
    candidates = rows(tmp_path / "bon/candidates.jsonl")
    assert [len(group["candidates"]) for group in candidates] == [6, 6, 6]
    draft = rows(tmp_path / "bon/drafts.jsonl")[0]
    assert draft["writer"] == "tiny-writer" and draft["settings"]["prompt_digest"] and draft["seed"] in range(21, 27)


def test_failures_are_counted_and_asked_again(call, tmp_path):
    broken = {"on": True}

    def script(body, number):
        if broken["on"] and body["seed"] == 22:
            return Fault(status=400)
        return (
            "The same keeper."
            if body["seed"] == 23
            else story_of(body, number)
            if body["seed"] != 24
            else "The same keeper."
        )

    with scripted_server(script) as server:
        arguments = (
            *("best-of-n", "null:longest", premises(tmp_path, 2), "--out", "bon"),
            *("--url", server.url, "--model", "w", "--n", "4"),
        )
        code, out, err = call(*arguments)
        assert code == 0, err
        assert "(6 of 8 drafts written, 0 of them before)" in out and "not written: HTTP 400" in out
        assert "2 drafts repeat another one of their premise" in out
        assert [len(g["candidates"]) for g in rows(tmp_path / "bon/candidates.jsonl")] == [2, 2]
        broken["on"] = False
        code, out, _ = call(*arguments)
        assert code == 0 and "(8 of 8 drafts written, 6 of them before)" in out
        assert len(server.requests) == 10


def test_sigkill_loses_nothing_that_was_written(tmp_path):
    def slow(body, number):
        time.sleep(0.02)
        return story_of(body, number)

    drafts = tmp_path / "bon/drafts.jsonl"
    with scripted_server(slow) as server:
        command = [
            *(sys.executable, "-m", "storyalign", "best-of-n", "null:longest", str(premises(tmp_path, 6))),
            *("--out", "bon", "--url", server.url, "--model", "w", "--n", "8"),
        ]
        for wanted in (5, 20):  # killed twice, in the middle of the writing
            process = subprocess.Popen(
                command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while process.poll() is None and not (drafts.exists() and drafts.read_bytes().count(b"\n") >= wanted):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.wait()
    with drafts.open("ab") as handle:
        handle.write(b'{"id": "draft-half a li')  # as a kill within a write would leave it
    kept = {row["id"]: row["story"] for row in rows_whole(drafts)}
    assert len(kept) >= 20
    # The same address, and a server of its own: requests of a killed process may still reach the first one.
    with scripted_server(story_of, port=int(server.url.split(":")[-1].split("/")[0])) as server:
        done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 48 - len(kept)
    written = rows(drafts)
    assert Counter(row["id"] for row in written).most_common(1)[0][1] == 1 and len(written) == 48
    assert {row["id"]: row["story"] for row in written}.items() >= kept.items()
    groups = rows(tmp_path / "bon/candidates.jsonl")
    assert [len(group["candidates"]) for group in groups] == [8] * 6


def rows_whole(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()[:-1]]


def test_where_a_judge_s_reply_cannot_be_read_nothing_is_chosen(call, tmp_path, monkeypatch):
    data = write_rows(tmp_path / "groups.jsonl", [group_row(n, None, None) for n in range(2)])

    def reply(body, _):
        shown = shown_stories(body)
        place = 1 + next(n for n, story in enumerate(shown) if story.startswith("Story 1"))
        return "They are both lovely." if "group 1" in shown[0] else f'{{"best": {place}}}'

    with scripted_server(reply) as server:
        judges = {"mine": {"url": server.url, "model": "m", "mode": "choose", "tries": 1}}
        (tmp_path / "own.yaml").write_text(json.dumps({"judges": judges}))
        monkeypatch.setenv("STORYALIGN_SCORERS", str(tmp_path / "own.yaml"))
        code, _, err = call("best-of-n", "judge:mine", data, "--out", "bon")
    assert code == 0, err
    read, unread = rows(tmp_path / "bon/choices.jsonl")
    assert read["story"] == "Story 1 of group 0."
    assert unread["story"] is None, "an unread reply chooses nothing"
    [scorer] = json.loads((tmp_path / "bon/best_of_n.json").read_text())["scorers"]
    assert (scorer["n"], scorer["n_without"], scorer["n_unscored"]) == (1, 1, 2)
    # Two rotations of the group are asked for three times each; the readable ones once.
    assert len(server.requests) == 2 + 2 * 3


def test_money_is_spent_with_consent_only(call, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "n: 2\nwords: 50\nwriter: {url: 'http://127.0.0.1:9/v1', model: m, price: {prompt: 1, reply: 1000}}\n"
    )
    code, _, err = call("best-of-n", "null:longest", premises(tmp_path, 1), "--out", "bon", "--recipe", recipe)
    assert code == 2 and "run again with --yes" in err


def test_a_cost_limit_holds_and_what_it_left_out_is_counted(call, tmp_path):
    with scripted_server(story_of) as server:
        writer = {"url": server.url, "model": "m", "max_tokens": 10, "max_concurrency": 1, "seed": 20}
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(
            json.dumps({"n": 4, "words": 50, "writer": {**writer, "price": {"prompt": 0, "reply": 1000}}})
        )
        arguments = ("best-of-n", "null:longest", premises(tmp_path, 2), "--out", "bon", "--recipe", recipe)
        code, out, err = call(*arguments, "--max-cost", "0.025")
        # A story may cost 10 tokens, 1 cent, and does cost half of it: after the fourth, 2 cents are gone.
        assert code == 0, err
        assert len(server.requests) == 4 and "--max-cost leaves no money for it (4)" in out
        assert call(*arguments, "--yes")[0] == 0 and len(server.requests) == 8


def test_refusals_that_an_earlier_version_kept_are_written_again(call, tmp_path):
    with scripted_server(story_of) as server:
        arguments = (
            *("best-of-n", "null:longest", premises(tmp_path, 2), "--out", "bon"),
            *("--url", server.url, "--model", "w", "--n", "3"),
        )
        assert call(*arguments)[0] == 0
        drafts = tmp_path / "bon/drafts.jsonl"
        old = rows(drafts)
        told = old[2]["story"]
        old[0]["story"] = old[1]["story"] = "I'm sorry, but I can't help with that."
        old[2]["story"] = f"<think>A lamp, perhaps.</think>Sure! Here is the story:\n\n{told}"
        write_rows(drafts, old)
        code, out, err = call(*arguments)
        assert code == 0, err
        assert f"{Path('bon/drafts.jsonl')}: 2 stories of an earlier run are none (the writer refused)" in out
        assert "(6 of 6 drafts written, 4 of them before)" in out
        assert len(server.requests) == 8
        assert len(rows(drafts)) == 8  # what was kept is not rewritten
        code, out, _ = call(*arguments)
        assert "(6 of 6 drafts written, 6 of them before)" in out and "are none" not in out
    stories = [c["story"] for group in rows(tmp_path / "bon/candidates.jsonl") for c in group["candidates"]]
    assert (
        len(stories) == 6 and told in stories and not any("sorry" in story or "<think>" in story for story in stories)
    )


def test_a_local_model_that_refuses_has_written_nothing(call, tmp_path):
    """The model says one token, the whole refusal, and ends: what the last token is decides the next one alone."""
    refusal = "I'm sorry, but I can't help with that."
    tokenizer = tiny_tokenizer(added=(refusal,))
    model = tiny_model("llama-lm", len(tokenizer), eos_token_id=tokenizer.eos_token_id, tie_word_embeddings=False)
    said = tokenizer.convert_tokens_to_ids(refusal)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.zero_()[:, 0] = 1.0
        model.model.embed_tokens.weight[said] = torch.eye(48)[1]
        model.lm_head.weight.zero_()
        model.lm_head.weight[said, 0] = model.lm_head.weight[tokenizer.eos_token_id, 1] = 100.0
    model.save_pretrained(tmp_path / "refuser")
    tokenizer.save_pretrained(tmp_path / "refuser")
    writer = LocalWriter(str(tmp_path / "refuser"), 50, max_tokens=8)
    [written] = writer.write(plan([Premise("p", "A keeper of light.")], 1, writer.digest))
    assert (written.story, written.failure, written.reply_tokens) == (None, "the writer refused", 2)
    assert written.seed == seed_of(20, written.draft, TRIES - 1)  # three tries, each with a seed of its own


def test_a_local_model_writes(call, tmp_path):
    model = tiny_model_folder(tmp_path / "writer", "llama-lm")
    code, _, err = call(
        *("best-of-n", "null:longest", premises(tmp_path, 1), "--out", "bon", "--local", model),
        *("--n", "3", "--words", "5", "--max-tokens", "400"),
    )
    # A random model may never end its turn: then nothing is a story, and that is said instead of kept.
    drafts = rows(tmp_path / "bon/drafts.jsonl")
    assert len(drafts) == 3 and len({row["seed"] for row in drafts}) == 3
    assert all((row["story"] is None) == (row["failure"] is not None) for row in drafts)
    assert (code == 0) == (sum(row["story"] is not None for row in drafts) > 1), err


def test_a_reward_model_chooses(call, tmp_path):
    model = tiny_model_folder(tmp_path / "rm")
    write_rows(tmp_path / "g.jsonl", [group_row(n, None, None, None) for n in range(2)])
    code, out, err = call("best-of-n", model, "g.jsonl", "--out", "bon")
    assert code == 0, err
    assert "best of 3 stories for 2 premises" in out
    (rewards,) = (tmp_path / "bon/rewards").glob("*.jsonl")
    best = {}
    for row in rows(rewards):
        best[row["id"]] = max(best.get(row["id"], -1e9), row["reward"])
    assert {c["id"]: c["reward"] for c in rows(tmp_path / "bon/choices.jsonl")} == best
    assert call("head-to-head", rewards, "null:longest", "g.jsonl")[0] == 2  # nobody ranked them


def test_mistakes_are_one_line(call, tmp_path):
    path = premises(tmp_path, 1)
    for arguments in (
        ("best-of-n", path, "--out", "bon"),
        ("best-of-n", "null:longest", path, "--out", "bon", "--n", "4"),
        ("best-of-n", "null:longest", path, "--out", "bon", "--local", "m", "--url", "http://x/v1"),
        ("best-of-n", "null:longest", path, "--out", "bon", "--recipe", "none.yaml"),
        ("best-of-n", "null:longest", "none.txt", "--out", "bon"),
    ):
        code, _, err = call(*arguments)
        assert code == 2 and err.count("\n") == 1, err


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_best_of_13_and_best_of_3_with_human_orders(call, tmp_path):
    folder = os.environ["STORYALIGN_REAL_DATA"]
    code, out, err = call("best-of-n", "null:longest", "null:random", f"{folder}/confederacy.jsonl", "--out", "a")
    assert code == 0, err
    assert "best of 13 stories for 2 premises" in out and "mean place 7.00" in out
    ranks = ("--score-key", "ranks", "--lower-is-better")
    code, out, err = call("best-of-n", "null:longest", f"{folder}/lamp_rank.jsonl", *ranks, "--out", "b")
    assert code == 0, err
    assert "best of 3 stories for 44 premises" in out and "By chance: best one 33.3" in out
    found = json.loads((tmp_path / "b/best_of_n.json").read_text())["scorers"][0]
    assert found["n_ordered"] == 44


def test_every_reply_of_a_writer_is_read_and_refusals_are_asked_again(call, tmp_path):
    def script(body, number):
        if body["seed"] == 21:
            return "I’m sorry, but I can’t assist with that request."  # the first try; the next has another seed
        if body["seed"] % 1_000_003 == 22:
            return "[removed]"
        return f"<think>Plan it.</think>\nSure! Here is the story:\n\n{story_of(body, number)}"

    with scripted_server(script) as server:
        code, out, err = call(
            *("best-of-n", "null:longest", premises(tmp_path, 1), "--out", "bon"),
            *("--url", server.url, "--model", "w", "--n", "3"),
        )
        assert code == 0, err
        assert len(server.requests) == 3 + 2 + 1  # the second draft is asked for three times in all, then it failed
        assert len({body["seed"] for body in server.requests}) == 6
    assert "(2 of 3 drafts written" in out
    assert "not written: the reply is deleted by its author or a moderator (1)" in out
    stories = [row["story"] for row in rows(tmp_path / "bon/drafts.jsonl") if row["story"]]
    assert len(stories) == 2 and all(story.startswith("A keeper of light 0. Seed") for story in stories)
