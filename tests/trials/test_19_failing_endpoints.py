"""Endpoints that fail in every way: bounded tries, then unscored with the reason; the next run asks for that alone."""

from collections import Counter

import pytest

from storyalign.errors import EndpointError
from tests.support.judging import instances, judge, names, shown_stories
from tests.support.scripted_llm_server import Fault, Said, prompt_of

USED = {"prompt_tokens": 3, "completion_tokens": 2}

FAULTS = {
    "drops the connection": (Fault(drop=True), "the connection broke"),
    "429 with Retry-After": (Fault(429, {"retry-after": "0"}), "HTTP 429"),
    "429 with a long Retry-After": (Fault(429, {"retry-after": "7200"}), "asks to wait 7200 s"),
    "500": (Fault(500), "HTTP 500"),
    "truncated JSON": (
        Fault(body=b'{"choices": [{"message": {"role": "assistant", "content": "{\\"best'),
        "no whole JSON",
    ),
    "an HTML page": (Fault(body=b"<html>Bad gateway</html>"), "no whole JSON"),
    "an empty choice": (Said(""), "the choice is empty"),
    "no choices": (Fault(body=b'{"choices": [], "error": {"message": "overloaded"}}'), "no choice: overloaded"),
    "a cut reply": (Said('{"best": 1', finish="length"), "cut at"),
    "never": (Fault(delay=60), "no answer within"),
}


@pytest.mark.parametrize(("fault", "reason"), FAULTS.values(), ids=FAULTS)
def test_bounded_then_unscored_then_asked_again(tmp_path, fault, reason):
    """The endpoint fails on one story of one group until it is mended."""
    out = tmp_path / "rewards.jsonl"
    mended = False
    tries: Counter[str] = Counter()

    def script(body, number):
        tries[prompt_of(body)] += 1
        if not mended and "letter 1." in prompt_of(body) and "was burnt" in shown_stories(body)[0]:
            return fault
        return names("by its light")(body, number)

    first = judge(script, instances(3), out, timeout=0.5)
    assert max(tries.values()) <= 2  # tries=2
    unscored = [row for row in first.rows if row.reward is None]
    assert {row.id for row in unscored} == {"rmb-0001"}
    assert {row.status for row in unscored} == {"failed"}
    assert all(reason in row.detail for row in unscored)
    assert len(first.rows) == 12

    mended = True
    second = judge(script, instances(3), out, port=first.port, timeout=0.5)
    assert len(second.server.requests) == 1
    assert second.by_instance() == {f"rmb-{i:04d}": [1.0, 0.0, 0.0, 0.0] for i in range(3)}


def test_an_endpoint_that_never_answers_at_all_ends_the_run(tmp_path):
    with pytest.raises(EndpointError, match="calls in a row failed, the last with: no answer within"):
        judge(lambda *_: Fault(delay=60), instances(20), tmp_path / "rewards.jsonl", timeout=0.1, max_concurrency=8)


NEVER = {
    "too long": (
        Fault(400, body=b'{"error": {"message": "context length exceeded"}}'),
        "HTTP 400: context length exceeded",
    ),
    "content filter": (Said("", finish="content_filter", usage=USED), "content filter stopped the reply"),
    "refusal": (Said(None, message={"refusal": "I will not."}, usage=USED), "refused: I will not."),
    "lone surrogate": (
        Said('{"best": 1}\ud800', usage=USED),
        "the reply holds a lone surrogate, U+D800, at character 12",
    ),
}


@pytest.mark.parametrize(("fault", "reason"), NEVER.values(), ids=NEVER)
def test_what_is_never_answered_is_unscored_by_name_and_the_file_comes(tmp_path, fault, reason):
    """Six groups of twelve, 24 calls in a row, get no reply; each is charged by the endpoint's own counts."""

    def script(body, number):
        unlucky = any(f"letter {i}." in prompt_of(body) for i in range(3, 9))
        return fault if unlucky else Said(names("by its light")(body, number), usage=USED)

    run = judge(script, instances(12), tmp_path / "rewards.jsonl", max_concurrency=1)
    scores = run.by_instance()
    assert len(scores) == 12
    assert [scores[f"rmb-{i:04d}"][0] for i in range(12)] == [1.0] * 3 + [None] * 6 + [1.0] * 3
    assert all(reason in row.detail for row in run.rows if row.reward is None)
    assert len(run.server.requests) == 48  # none is asked for twice
    assert run.report["this_run"]["failed"] == 24
    assert run.report["this_run"]["reply_tokens"] == 24 * 2 + (24 * 2 if isinstance(fault, Said) else 0)
