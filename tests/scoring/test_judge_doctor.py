"""Each fault is planted in the endpoint or its entry; a sound judge passes (tests/cli/test_judges.py)."""

import pytest

from storyalign.llm.endpoint import Endpoint, Price
from storyalign.scoring.findings import exit_code
from storyalign.scoring.judge_doctor import examine_judge
from storyalign.scoring.systems import JudgeSystem
from tests.support.judging import names, shown_stories
from tests.support.scripted_llm_server import Fault, Said, scripted_server


def examine(script, mode="choose", **fields):
    with scripted_server(script) as server:
        endpoint = Endpoint(server.url, "scripted", **{"tries": 1, "timeout": 5.0, **fields})
        return list(examine_judge(JudgeSystem("mine", endpoint, mode), mode, None))


def schema_refused(body, number):
    if body.get("response_format", {}).get("type") == "json_schema":
        return Fault(400, body=b'{"error": "no response_format"}')
    return names("Mara held")(body, number)


def short_count(body, number):
    return Said(names("Mara held")(body, number), usage={"prompt_tokens": 20, "completion_tokens": 5})


PLANTED = {
    "no key": (lambda *_: "1", {"key_variable": "NO_SUCH_API_KEY"}, 2, "key", "NO_SUCH_API_KEY is not set"),
    "bad key": (lambda *_: Fault(401), {}, 2, "endpoint", "scripted: HTTP 401"),
    "no such model": (lambda *_: Fault(404), {}, 2, "endpoint", "scripted: HTTP 404"),
    "failing": (lambda *_: Fault(500), {}, 2, "endpoint", "2 of 2 calls failed: HTTP 500"),
    "hanging": (lambda *_: Fault(delay=30), {"timeout": 0.2}, 2, "endpoint", "no answer within 0.2 s"),
    "cut replies": (lambda *_: Said("hm", finish="length"), {"max_tokens": 5}, 2, "endpoint", "cut at 5 tokens"),
    "schema refused": (
        schema_refused, {"reply_format": "json_schema"}, 2, "reply format", "takes reply_format: json_object; the",
    ),
    "unreadable": (lambda *_: "Both are lovely.", {}, 2, "replies", "cannot be read (the reply names no story)"),
    "position bias": (lambda *_: "1", {}, 1, "replies", "both name place 1"),
    "silent cut": (short_count, {}, 1, "token counts", "it may cut prompts silently"),
}  # fmt: skip


@pytest.mark.parametrize(("script", "fields", "code", "subject", "text"), PLANTED.values(), ids=PLANTED)
def test_planted_faults_are_found(script, fields, code, subject, text):
    findings = examine(script, **fields)
    assert any(f.subject == subject and text in f.text for f in findings), findings
    assert exit_code(findings) == code


def test_a_rater_that_sees_no_difference():
    findings = examine(lambda *_: "7", "rate")
    assert any("a good and a poor story both get 7" in f.text for f in findings)
    assert exit_code(findings) == 1


def test_a_rater_that_sees_a_difference():
    findings = examine(lambda body, _: "8" if "Mara" in shown_stories(body)[0] else "3/10", "rate")
    assert any(f.text == "all 2 were read: scores 8 and 3" for f in findings)
    assert exit_code(findings) == 0


def test_a_reply_format_that_is_taken_and_ignored_is_a_caution():
    findings = examine(lambda body, n: "Story " + names("Mara held")(body, n)[9], reply_format="json_schema")
    assert any("takes json_schema and ignores it" in f.text for f in findings), findings
    assert exit_code(findings) == 1


def test_a_stricter_reply_format_is_pointed_out():
    findings = examine(names("Mara held"))
    assert any("takes reply_format: json_schema; the entry says text" in f.text for f in findings)
    assert exit_code(findings) == 0


def test_a_key_in_the_clear_is_a_caution(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "k")
    away = Endpoint("http://192.0.2.1/v1", "m", key_variable="SOME_API_KEY", timeout=0.2, tries=1)
    findings = list(examine_judge(JudgeSystem("m", away, "rate"), "rate", None))
    assert any(f.level == "caution" and "sent unencrypted" in f.text for f in findings)


def test_an_unknown_price_is_a_caution(monkeypatch):
    monkeypatch.setattr("storyalign.llm.endpoint._LOCAL_HOSTS", ())  # as if the scripted server stood far away
    assert exit_code(examine(names("Mara held"))) == 1
    assert exit_code(examine(names("Mara held"), price=Price(1, 1))) == 0
