import email.utils
import time

import pytest

from storyalign.errors import EndpointError
from storyalign.llm.budget import Budget
from storyalign.llm.client import Answer, Call, Client
from storyalign.llm.endpoint import Endpoint, Price
from tests.support.scripted_llm_server import Fault, Running, Said, Script, prompt_of, scripted_server


def endpoint(running: Running, **changes) -> Endpoint:
    fast = {"tries": 3, "first_pause": 0.01, "timeout": 5.0, "max_concurrency": 4}
    return Endpoint(running.url, "scripted", **{**fast, **changes})


def calls(count: int) -> list[Call]:
    return [Call(f"c{i}", [{"role": "user", "content": f"question {i}"}]) for i in range(count)]


def ask(script: Script, count: int = 1, budget: Budget | None = None, **changes) -> tuple[dict[str, Answer], Running]:
    answers: dict[str, Answer] = {}
    with scripted_server(script) as running:
        for call, answer in Client(endpoint(running, **changes), budget).ask(calls(count)):
            answers[call.id] = answer
    return answers, running


def test_replies_come_back_under_their_ids_and_concurrency_is_bounded():
    answers, running = ask(lambda body, _: prompt_of(body).upper(), count=30, max_concurrency=3)
    assert {k: a.reply.text for k, a in answers.items()} == {f"c{i}": f"QUESTION {i}" for i in range(30)}
    assert {a.tries for a in answers.values()} == {1}
    assert 2 <= running.most_at_once <= 3


def test_the_request_holds_what_the_recipe_says_and_nothing_else():
    _, running = ask(
        lambda *_: "ok", temperature=0.3, seed=7, max_tokens=99, max_tokens_field="max_completion_tokens",
        extra={"reasoning_effort": "low"},
    )  # fmt: skip
    assert running.requests == [
        {
            "model": "scripted",
            "messages": [{"role": "user", "content": "question 0"}],
            "max_completion_tokens": 99,
            "temperature": 0.3,
            "seed": 7,
            "reasoning_effort": "low",
        }
    ]
    assert "authorization" not in running.headers[0]


@pytest.mark.parametrize("reply_format", ["json_schema", "json_object", "text"])
def test_the_reply_format_is_asked_for_only_where_the_endpoint_takes_it(reply_format):
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    call = Call("c", [{"role": "user", "content": "q"}], schema)
    with scripted_server(lambda *_: "ok") as running:
        list(Client(endpoint(running, reply_format=reply_format)).ask([call]))
    expected = {"json_schema": schema, "json_object": {"type": "json_object"}, "text": None}[reply_format]
    assert running.requests[0].get("response_format") == expected


RECOVERS = {
    "500": Fault(500),
    "503": Fault(503),
    "429": Fault(429, {"retry-after": "0"}),
    "dropped": Fault(drop=True),
    "truncated": Fault(body=b'{"choices": [{"message": {"cont'),
    "no choice": Fault(body=b'{"choices": []}'),
    "not an object": Fault(body=b"[1, 2]"),
    "empty": Said(""),
    "blank": Said(" \n"),
    "null": Said(None),
}


@pytest.mark.parametrize("fault", RECOVERS.values(), ids=RECOVERS)
def test_passing_faults_are_tried_again(fault):
    answers, running = ask(lambda _, number: fault if number < 2 else "fine")
    assert answers["c0"].reply.text == "fine"
    assert answers["c0"].tries == len(running.requests) == 3


@pytest.mark.parametrize("fault", RECOVERS.values(), ids=RECOVERS)
def test_tries_are_bounded_and_the_failure_keeps_its_reason(fault):
    answers, running = ask(lambda *_: fault)
    assert answers["c0"].reply is None
    assert answers["c0"].failure
    assert len(running.requests) == 3


FINAL = {
    "cut": (Said("8", finish="length"), "cut at 256 tokens"),
    "filter": (Said("", finish="content_filter"), "content filter"),
    "refusal": (Said(None, message={"refusal": "I will not."}), "refused: I will not."),
    "lone surrogate": (
        Fault(body=b'{"choices": [{"message": {"content": "A rose\\ud83c."}, "finish_reason": "stop"}]}'),
        "the reply holds a lone surrogate, U+D83C, at character 7",
    ),
    "surrogate in bytes": (
        Fault(body=b'{"choices": [{"message": {"content": "\xed\xb0\x80"}, "finish_reason": "stop"}]}'),
        "U+DC00, at character 1",
    ),
    "surrogate in an error": (Fault(400, body=b'{"error": {"message": "bad \\ud800"}}'), "HTTP 400: bad \ufffd"),
    "bad request": (Fault(400, body=b'{"error": {"message": "context too long"}}'), "HTTP 400: context too long"),
    "forbidden": (Fault(403), "HTTP 403"),
}


@pytest.mark.parametrize(("fault", "reason"), FINAL.values(), ids=FINAL)
def test_final_failures_are_not_tried_again(fault, reason):
    answers, running = ask(lambda *_: fault)
    assert reason in answers["c0"].failure
    assert len(running.requests) == 1


def test_an_endpoint_that_hangs_costs_a_bounded_time():
    answers, running = ask(lambda *_: Fault(delay=60), timeout=0.2, tries=2)  # or the test itself times out
    assert answers["c0"].failure == "no answer within 0.2 s"
    assert len(running.requests) == 2


def test_an_endpoint_that_drips_is_cut_off_too():
    answers, _ = ask(lambda _, number: Fault(drip=True) if number == 0 else "fine", timeout=0.4)
    assert answers["c0"].reply.text == "fine"
    assert answers["c0"].tries == 2


def test_retry_after_is_honoured_by_every_worker():
    answers, running = ask(
        lambda _, number: Fault(429, {"retry-after": "0.6"}) if number == 0 else "fine", count=12, max_concurrency=1
    )
    assert all(a.reply for a in answers.values())
    assert running.times[1] - running.times[0] >= 0.6


def test_retry_after_as_a_date():
    def later(_, number):
        return (
            Fault(429, {"retry-after": email.utils.formatdate(time.time() + 2, usegmt=True)}) if number == 0 else "fine"
        )

    answers, running = ask(later, timeout=30.0)
    assert answers["c0"].reply.text == "fine"
    assert running.times[1] - running.times[0] >= 0.9  # dates have no fractions of a second


def test_a_server_that_asks_for_a_longer_wait_than_allowed_is_left_alone():
    answers, running = ask(lambda *_: Fault(429, {"retry-after": "3600"}))
    assert answers["c0"].failure == "HTTP 429: scripted fault; the server asks to wait 3600 s"
    assert len(running.requests) == 1


@pytest.mark.parametrize("value", ["soon", "nan", ""])
def test_a_senseless_retry_after_is_ignored(value):
    answers, _ = ask(lambda _, number: Fault(429, {"retry-after": value}) if number == 0 else "fine")
    assert answers["c0"].reply.text == "fine"


@pytest.mark.parametrize("status", [401, 402, 404, 307])
def test_a_dead_end_stops_the_run_at_once(status):
    kept = []
    with (
        scripted_server(lambda *_: Fault(status, {"location": "/elsewhere"})) as running,
        pytest.raises(EndpointError, match=f"scripted: HTTP {status}.*doctor"),
    ):
        kept.extend(Client(endpoint(running, max_concurrency=2)).ask(calls(50)))
    assert len(running.requests) <= 2
    assert not kept


def test_many_failures_in_a_row_that_may_pass_stop_the_run_and_a_success_between_them_does_not():
    kept = []
    with scripted_server(lambda *_: Fault(500)) as running:
        with pytest.raises(EndpointError, match="16 calls in a row failed"):
            for pair in Client(endpoint(running, tries=1)).ask(calls(100)):
                kept.append(pair)
        assert 16 <= len(kept) <= 20
    answers, _ = ask(lambda _, number: "fine" if number % 10 == 9 else Fault(500), count=60, max_concurrency=1, tries=1)
    assert len(answers) == 60


@pytest.mark.parametrize("fault", [Fault(400), Said("", finish="content_filter"), Said("8", finish="length")])
def test_what_is_never_answered_stops_no_run(fault):
    answers, _ = ask(lambda *_: fault, count=40)
    assert len(answers) == 40
    assert not any(answer.may_pass for answer in answers.values())


def test_a_server_that_is_not_there():
    dead = Endpoint("http://127.0.0.1:9/v1", "nobody", tries=2, first_pause=0.01)
    [(_, answer)] = Client(dead).ask(calls(1))
    assert answer.failure == "cannot connect to http://127.0.0.1:9/v1"


def test_the_key_travels_in_the_header_and_is_seen_nowhere_else(monkeypatch, caplog):
    key = "key-" + "s3cret" * 3
    monkeypatch.setenv("SCRIPTED_KEY", key)
    echo = Fault(400, body=f'{{"error": {{"message": "bad key {key}"}}}}'.encode())
    caplog.set_level("DEBUG")
    answers, running = ask(lambda *_: echo, key_variable="SCRIPTED_KEY")
    assert running.headers[0]["authorization"] == f"Bearer {key}"
    assert "bad key ***" in answers["c0"].failure
    assert key not in caplog.text + repr(Client(endpoint(running, key_variable="SCRIPTED_KEY")).endpoint)
    with scripted_server(lambda *_: Fault(401, body=echo.body)) as running, pytest.raises(EndpointError) as error:
        list(Client(endpoint(running, key_variable="SCRIPTED_KEY")).ask(calls(1)))
    assert key not in str(error.value)


def test_a_missing_key_is_an_error_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("SCRIPTED_KEY", raising=False)
    with pytest.raises(EndpointError, match="SCRIPTED_KEY is not set"):
        Client(Endpoint("https://example.org/v1", "m", key_variable="SCRIPTED_KEY"))


def test_requests_are_spaced():
    _, running = ask(lambda *_: "fine", count=4, requests_per_minute=600)
    assert running.times[-1] - running.times[0] >= 0.2  # three gaps of 0.1 s, the first maybe shortened by connecting


def test_the_cost_limit_is_never_passed_and_stops_the_run():
    # A call is bounded by 4 + round(10 / 3.5) = 7 prompt tokens and 10 reply tokens: 17 dollars at a dollar a token.
    budget = Budget(60.0, Price(1e6, 1e6))
    used = {"prompt_tokens": 7, "completion_tokens": 10}
    with scripted_server(lambda *_: Said("fine", usage=used)) as running:
        answers = list(Client(endpoint(running, max_tokens=10), budget).ask(calls(20)))
    assert budget.used_up
    assert len(answers) == len(running.requests) == 3  # 51 dollars; a fourth call could pass 60
    assert budget.spent == 51.0


def test_cost_counts_what_the_endpoint_says_and_the_bound_where_it_says_nothing():
    budget = Budget(None, Price(1e6, 2e6))
    ask(lambda *_: Said("fine", usage={"prompt_tokens": 3, "completion_tokens": 2}), budget=budget)
    assert budget.spent == 3 + 2 * 2
    budget = Budget(None, Price(1e6, 2e6))
    ask(lambda *_: Fault(body=b'{"choices": [{"message": {"content": "ok"}}]}'), budget=budget, max_tokens=10)
    assert budget.spent == 7 + 2 * 10


@pytest.mark.parametrize(
    "useless",
    [{"content": "8", "finish": "length"}, {"content": "", "finish": "content_filter"},
     {"content": None, "message": {"refusal": "no"}}, {"content": "x\ud800"}],
)  # fmt: skip
def test_a_useless_reply_costs_what_the_endpoint_counted(useless):
    budget = Budget(None, Price(1e6, 2e6))
    said = Said(**useless, usage={"prompt_tokens": 3, "completion_tokens": 2})
    answers, _ = ask(lambda *_: said, budget=budget, max_tokens=10)
    assert budget.spent == 3 + 2 * 2
    assert (answers["c0"].prompt_tokens, answers["c0"].reply_tokens) == (3, 2)


def test_an_empty_choice_costs_what_was_counted_at_each_try():
    budget = Budget(None, Price(1e6, 2e6))
    ask(lambda *_: Said("", usage={"prompt_tokens": 3, "completion_tokens": 0}), budget=budget, max_tokens=10)
    assert budget.spent == 3 * 3


def test_it_works_inside_a_running_loop():
    import asyncio

    async def notebook() -> dict[str, Answer]:
        return ask(lambda *_: "fine")[0]

    assert asyncio.run(notebook())["c0"].reply.text == "fine"


def test_closing_early_drops_the_calls_under_way_and_asks_no_more():
    with scripted_server(lambda *_: Fault(delay=0.05, body=b"{}")) as running:
        answers = Client(endpoint(running, tries=1, max_concurrency=2)).ask(calls(1000))
        next(answers)
        answers.close()
        seen = len(running.requests)
        time.sleep(0.2)
        assert len(running.requests) <= seen + 2 < 20


def test_calls_are_drawn_only_as_they_are_sent():
    drawn = []

    def endless():
        for i in range(10**9):
            drawn.append(i)
            yield calls(1)[0]

    with scripted_server(lambda *_: "fine") as running:
        answers = Client(endpoint(running, max_concurrency=2)).ask(endless())
        next(answers)
        answers.close()
    assert len(drawn) < 200


def test_an_error_while_drawing_reaches_the_caller():
    def broken():
        yield from calls(1)
        raise ValueError("no such story")

    with scripted_server(lambda *_: "fine") as running, pytest.raises(ValueError, match="no such story"):
        list(Client(endpoint(running, max_concurrency=1)).ask(broken()))
