import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from storyalign.errors import DataError, EndpointError, RowError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.llm.budget import Budget
from storyalign.llm.endpoint import Endpoint, Price
from storyalign.llm.prompts import Prompt
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.step_runs import StepCounts, run_step
from storyalign.llm.steps import Request, Row, Step, user_message
from tests.support.command import environment
from tests.support.scripted_llm_server import Fault, Running, Said, Script, prompt_of, scripted_server

PROMPT = Prompt("shout", "Say it louder: {word}")


def request(row: Row) -> Request:
    return Request(user_message(PROMPT.fill(word=row["word"])), max_tokens=50, temperature=0.7, seed=11)


def read(row: Row, reply: str) -> Row:
    if not reply.isupper():
        raise UnparsedReply("not loud")
    return {**row, "loud": reply}


STEP = Step("shouting", PROMPT, request, read)


def endpoint(running: Running, **changes) -> Endpoint:
    fast = {"tries": 2, "first_pause": 0.01, "timeout": 60.0, "max_concurrency": 4}
    return Endpoint(running.url, "scripted", **{**fast, **changes})


def source(folder: Path, count: int) -> Path:
    path = folder / "words.jsonl"
    write_jsonl(path, ({"id": f"w{i}", "word": f"word {i}"} for i in range(count)))
    return path


def rows(path: Path) -> list[Row]:
    return [line.row for line in read_jsonl(path)]


def loud(body, _number) -> str:
    return prompt_of(body).removeprefix("Say it louder: ").upper()


def run(folder: Path, running: Running, count: int = 6, step: Step = STEP, **options) -> StepCounts:
    changes = options.pop("endpoint", {})
    return run_step(step, source(folder, count), endpoint(running, **changes), folder / "out", **options)


def test_every_row_becomes_the_next_row_in_the_order_of_the_source(tmp_path):
    with scripted_server(loud) as running:
        counts = run(tmp_path, running)
    made = {"step": "shouting", "model": "scripted", "prompt": "shout", "prompt_digest": PROMPT.digest}
    assert rows(tmp_path / "out/rows.jsonl") == [
        {
            "id": f"w{i}",
            "word": f"word {i}",
            "loud": f"WORD {i}",
            "made_by": {**made, "seed": 11, "temperature": 0.7},
        }
        for i in range(6)
    ]
    assert rows(tmp_path / "out/dropped.jsonl") == []
    # The scripted server counts a token for 4 characters of a prompt ("Say it louder: word 0": 5), and 5 for a reply.
    assert counts == StepCounts(6, 0, 0, 0, asked=6, reused=0, prompt_tokens=30, reply_tokens=30, reasons={})
    assert running.requests[0] == {
        "model": "scripted",
        "messages": [{"role": "user", "content": running.requests[0]["messages"][0]["content"]}],
        "max_tokens": 50,
        "temperature": 0.7,
        "seed": 11,
    }


def test_what_an_endpoint_refuses_is_left_out(tmp_path):
    with scripted_server(loud) as running:
        run(tmp_path, running, 1, endpoint={"temperature": None, "takes_seed": False})
    assert not {"temperature", "seed"} & set(running.requests[0])
    made = rows(tmp_path / "out/rows.jsonl")[0]["made_by"]
    assert (made["seed"], made["temperature"]) == (None, None)


def test_a_second_run_asks_only_for_what_failed(tmp_path):
    def script(body, number):
        if "word 2" in prompt_of(body) and number < 100:
            return Fault(500)
        return "quiet" if "word 4" in prompt_of(body) else loud(body, number)

    with scripted_server(script) as running:
        first = run(tmp_path, running)
        assert (first.rows, first.dropped, first.failed) == (4, 1, 1)
        assert rows(tmp_path / "out/dropped.jsonl") == [
            {"id": "w2", "reason": "HTTP 500: scripted fault", "again": True},
            {"id": "w4", "reason": "not loud", "again": False},
        ]
        before = len(running.requests)
        assert before == 7  # 6 rows, and a second try for the failing one
        running.requests.extend([{}] * 100)  # the server has recovered
        second = run(tmp_path, running)
        assert len(running.requests) == before + 100 + 1
    assert (second.rows, second.dropped, second.failed, second.asked, second.reused) == (5, 1, 0, 1, 5)
    assert [row["id"] for row in rows(tmp_path / "out/rows.jsonl")] == ["w0", "w1", "w2", "w3", "w5"]


def test_a_changed_row_alone_is_asked_again(tmp_path):
    with scripted_server(loud) as running:
        run(tmp_path, running, 3)
        path = tmp_path / "words.jsonl"
        write_jsonl(path, [{**row, "word": "new"} if row["id"] == "w1" else row for row in rows(path)])
        counts = run_step(STEP, path, endpoint(running), tmp_path / "out")
        assert (counts.asked, counts.reused) == (1, 2)
        assert len(running.requests) == 4
        assert [row["loud"] for row in rows(tmp_path / "out/rows.jsonl")] == ["WORD 0", "NEW", "WORD 2"]
        colder = Step("shouting", PROMPT, lambda row: Request(request(row).messages, 50, 0.0, 11), read)
        assert run_step(colder, path, endpoint(running), tmp_path / "out").asked == 3


def test_an_old_reply_in_another_process_s_file_hides_no_new_one(tmp_path):
    with scripted_server(loud) as running:
        run(tmp_path, running, 1)
        replies = tmp_path / "out/replies"
        (replies / "00000.jsonl").rename(replies / "00007.jsonl")  # as a cluster's eighth task wrote it; read last
        path = tmp_path / "words.jsonl"
        write_jsonl(path, [{"id": "w0", "word": "new"}])
        first, second = (run_step(STEP, path, endpoint(running), tmp_path / "out") for _ in range(2))
        assert (first.rows, first.asked, second.rows, second.asked) == (1, 1, 1, 0)
        assert [row["loud"] for row in rows(tmp_path / "out/rows.jsonl")] == ["NEW"]
        write_jsonl(path, [{"id": "w0", "word": "word 0"}])  # the old request again: its reply was paid for
        assert run_step(STEP, path, endpoint(running), tmp_path / "out").asked == 0
        assert len(running.requests) == 2


FAULTS: dict[str, tuple[Script, str]] = {
    "dropped connection": (lambda *_: Fault(drop=True), "the connection broke"),
    "429": (lambda *_: Fault(429, {"retry-after": "0"}), "HTTP 429"),
    "429 for an hour": (lambda *_: Fault(429, {"retry-after": "3600"}), "asks to wait 3600 s"),
    "500": (lambda *_: Fault(500), "HTTP 500"),
    "truncated JSON": (lambda *_: Fault(body=b'{"choices": [{"mess'), "no whole JSON"),
    "no choice": (lambda *_: Fault(body=b'{"choices": []}'), "no choice"),
    "empty choice": (lambda *_: Said(""), "the choice is empty"),
    "never": (lambda *_: Fault(delay=60), "no answer within 0.5 s"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_trial_19_a_fault_leaves_no_row_and_a_second_run_mends_it(tmp_path, name):
    fault, reason = FAULTS[name]
    broken = True

    def script(body, number):
        return fault(body, number) if broken and "word 1" in prompt_of(body) else loud(body, number)

    with scripted_server(script) as running:
        counts = run(tmp_path, running, 3, endpoint={"timeout": 0.5 if name == "never" else 30.0})
        assert (counts.rows, counts.failed, counts.dropped) == (2, 1, 0)
        [dropped] = rows(tmp_path / "out/dropped.jsonl")
        assert dropped["id"] == "w1"
        assert reason in dropped["reason"]
        if name != "never":  # where a busy machine may cost others their short time too
            assert len(running.requests) <= 4  # at most two tries
        broken, before = False, len(running.requests)
        counts = run(tmp_path, running, 3)
        assert (counts.rows, counts.failed, counts.asked) == (3, 0, 1)
        assert len(running.requests) == before + 1
    assert [row["loud"] for row in rows(tmp_path / "out/rows.jsonl")] == ["WORD 0", "WORD 1", "WORD 2"]


def test_useless_replies_are_asked_for_again_with_another_seed_so_many_times(tmp_path):
    seen: dict[str, list[int]] = {}

    def script(body, number):
        seeds = seen.setdefault(prompt_of(body), [])
        seeds.append(body["seed"])
        if "word 0" in prompt_of(body):
            return "quiet" if len(seeds) < 3 else loud(body, number)
        return Said("CUT", finish="length") if "word 1" in prompt_of(body) else loud(body, number)

    step = Step("shouting", PROMPT, request, read, tries=3)
    with scripted_server(script) as running:
        counts = run(tmp_path, running, 3, step=step)
        assert [seen[f"Say it louder: word {i}"] for i in range(3)] == [[11, 12, 13], [11, 12, 13], [11]]
        assert (counts.rows, counts.dropped, counts.failed) == (2, 1, 0)
        assert rows(tmp_path / "out/rows.jsonl")[0]["made_by"]["seed"] == 13
        [dropped] = rows(tmp_path / "out/dropped.jsonl")
        assert dropped == {"id": "w1", "reason": "the reply was cut at 50 tokens; raise max_tokens", "again": False}
        assert run(tmp_path, running, 3, step=step).asked == 0
    # 7 calls of 5 prompt and 5 reply tokens each; a cut reply is charged for what it counts, too.
    assert counts.reply_tokens == 7 * 5


def test_a_cost_limit_stops_cleanly_and_a_second_run_goes_on(tmp_path):
    price = Price(0.0, 1_000_000.0)  # a dollar for each token of a reply

    def limited(dollars):
        return {"budget": Budget(dollars, price), "endpoint": {"max_concurrency": 1}}

    with scripted_server(loud) as running:
        # A call is bounded by 50 dollars and then costs 5: 10 calls fit, then 50 + 50 > 95.
        first = run(tmp_path, running, 20, **limited(95.0))
        assert (first.rows, first.waiting, first.failed) == (10, 10, 0)
        assert len(rows(tmp_path / "out/rows.jsonl")) == 10
        second = run(tmp_path, running, 20, **limited(1000.0))
        assert (second.rows, second.waiting, second.asked, second.reused) == (20, 0, 10, 10)
    assert len(running.requests) == 20


def test_a_dead_end_is_an_error_and_keeps_what_was_answered(tmp_path):
    def script(body, number):
        return loud(body, number) if number < 3 else Fault(401)

    with scripted_server(script) as running:
        with pytest.raises(EndpointError, match="HTTP 401"):
            run(tmp_path, running, endpoint={"max_concurrency": 1})
        assert len(rows(tmp_path / "out/replies/00000.jsonl")) == 3


def test_a_broken_step_is_a_bug_not_a_dropped_row(tmp_path):
    def broken(row, reply):
        return row["no such field"]

    with scripted_server(loud) as running, pytest.raises(Exception, match="no such field"):
        run(tmp_path, running, 2, step=Step("broken", PROMPT, request, broken))


def test_ids_are_checked_before_anything_is_spent(tmp_path):
    path = tmp_path / "words.jsonl"
    with scripted_server(loud) as running:
        write_jsonl(path, [{"id": "a", "word": "x"}, {"id": "a", "word": "y"}])
        with pytest.raises(RowError, match=r"words\.jsonl:2 \(id a\): another row has this id"):
            run_step(STEP, path, endpoint(running), tmp_path / "out")
        write_jsonl(path, [{"word": "x"}])
        with pytest.raises(RowError, match="has no id"):
            run_step(STEP, path, endpoint(running), tmp_path / "out")
    assert not running.requests


def test_the_limit_takes_the_first_rows(tmp_path):
    with scripted_server(loud) as running:
        assert run(tmp_path, running, 6, limit=2).total == 2
        assert [row["id"] for row in rows(tmp_path / "out/rows.jsonl")] == ["w0", "w1"]
        assert run(tmp_path, running, 6).asked == 4


def test_the_key_is_nowhere_in_the_folder(tmp_path, monkeypatch):
    key = "key-" + "s3cret" * 3
    monkeypatch.setenv("SCRIPTED_KEY", key)
    echo = Fault(400, body=f'{{"error": {{"message": "bad key {key}"}}}}'.encode())
    with scripted_server(lambda body, n: echo if "word 1" in prompt_of(body) else loud(body, n)) as running:
        run(tmp_path, running, 3, endpoint={"key_variable": "SCRIPTED_KEY"})
    assert running.headers[0]["authorization"] == f"Bearer {key}"
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert not [path for path in files if key.encode() in path.read_bytes()]


def test_one_folder_one_run(tmp_path):
    from storyalign.files import held

    with scripted_server(loud) as running, held(tmp_path / "out"), pytest.raises(DataError, match="another process"):
        run(tmp_path, running)


SCRIPT = """
import sys
from pathlib import Path
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.step_runs import run_step
from tests.llm.test_step_runs import STEP
run_step(STEP, sys.argv[1], Endpoint(sys.argv[2], "scripted", max_concurrency=8), sys.argv[3])
"""


def test_killed_at_any_moment_and_resumed_the_rows_are_the_same(tmp_path):
    count = 300
    words = source(tmp_path, count)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with scripted_server(loud) as running:
        run_step(STEP, words, endpoint(running, max_concurrency=8), whole)
        before = len(running.requests)
        command = [sys.executable, "-c", SCRIPT, words, running.url, killed]
        root = Path(__file__).parents[2]
        for answered in (60, 170):
            process = subprocess.Popen(command, env=environment(PYTHONPATH=f"{root}/src{os.pathsep}{root}"))
            while len(running.requests) - before < answered:
                assert process.poll() is None
                time.sleep(0.002)
            assert psutil.Process(process.pid).children() == []  # a kill would leave them behind
            process.send_signal(signal.SIGKILL)
            process.wait()
        log = killed / "replies/00000.jsonl"
        log.write_bytes(log.read_bytes() + b'{"id": "w299", "requ')  # as if killed in the middle of a line
        counts = run_step(STEP, words, endpoint(running, max_concurrency=8), killed)
        asked = len(running.requests) - before
    assert counts.rows == count
    assert (killed / "rows.jsonl").read_bytes() == (whole / "rows.jsonl").read_bytes()
    assert asked <= count + 2 * 8  # a kill loses the calls under way, at most
    ids = [json.loads(line)["id"] for line in log.read_bytes().splitlines()]
    assert len(ids) == len(set(ids)) == count
