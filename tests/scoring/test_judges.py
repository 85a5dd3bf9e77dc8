import json

import pytest

from storyalign.errors import EndpointError
from storyalign.llm.endpoint import Price
from storyalign.scoring.judges import CostLimitError, JudgeScorer
from tests.support.judging import instances, judge, names, read_rewards, shown_stories
from tests.support.rows import storyrmb_row
from tests.support.scripted_llm_server import Fault, Said, free_port, prompt_of


@pytest.fixture
def out(tmp_path):
    return tmp_path / "rewards.jsonl"


def test_a_judge_that_knows_the_best_story_finds_it_in_every_place(out):
    run = judge(names("by its light"), instances(3), out)
    assert run.by_instance() == {f"rmb-{i:04d}": [1.0, 0.0, 0.0, 0.0] for i in range(3)}
    assert run.report["flip_rate"] == 0.0
    assert run.report["this_run"]["asked"] == len(run.server.requests) == 12
    places = [next(i for i, s in enumerate(shown_stories(r)) if "by its light" in s) for r in run.server.requests]
    assert [places.count(p) for p in range(4)] == [3, 3, 3, 3]


def test_pairwise_counts_wins(out):
    strength = {"by its light": 3, "was lost": 2, "was burnt": 1, "was eaten": 0}

    def stronger(body, _):
        first, second = (next(v for k, v in strength.items() if k in story) for story in shown_stories(body))
        return "Story 1" if first > second else "Story 2"

    run = judge(stronger, instances(2), out, "pairwise")
    assert run.by_instance() == {f"rmb-{i:04d}": [6.0, 4.0, 2.0, 0.0] for i in range(2)}
    assert len(run.server.requests) == 24
    assert (run.report["flip_rate"], run.report["flips_of"], run.report["flips_unit"]) == (0.0, 12, "pairs")


def test_rate_shows_each_story_alone(out):
    scores = {"by its light": "9", "was lost": "Score: 4/10", "was burnt": '{"score": 6.5}', "was eaten": "**3**"}

    def rating(body, _):
        [story] = shown_stories(body)
        return next(reply for text, reply in scores.items() if text in story)

    run = judge(rating, instances(2), out, "rate")
    assert run.by_instance() == {f"rmb-{i:04d}": [9.0, 4.0, 6.5, 3.0] for i in range(2)}
    assert run.report["flip_rate"] is None


def test_groups_of_other_sizes(out):
    from storyalign.records import Instance

    rows = [storyrmb_row(0, id="two", rejected=["b"], rejected_writers=[]),
            storyrmb_row(1, id="five", rejected=list("bcde"), rejected_writers=[])]  # fmt: skip
    run = judge(lambda *_: "1", [Instance.from_row(r) for r in rows], out)
    assert run.by_instance() == {"two": [0.5] * 2, "five": [0.2] * 5}


def test_failed_calls_leave_the_group_unscored_with_its_reason_and_the_next_run_asks_only_for_them(out):
    broken = {"on": True}

    def script(body, number):
        if broken["on"] and "letter 1." in prompt_of(body) and "by its light" in shown_stories(body)[0]:
            return Fault(500)
        return names("by its light")(body, number)

    first = judge(script, instances(3), out)
    assert first.by_instance()["rmb-0001"] == [None] * 4
    assert {r.status for r in first.rows if r.id == "rmb-0001"} == {"failed"}
    assert {r.detail for r in first.rows if r.id == "rmb-0001"} == {"1 of 4 calls failed: HTTP 500: scripted fault"}
    assert first.by_instance()["rmb-0000"] == [1.0, 0.0, 0.0, 0.0]
    broken["on"] = False
    second = judge(script, instances(3), out, port=first.port)
    assert len(second.server.requests) == 1
    assert second.by_instance() == {f"rmb-{i:04d}": [1.0, 0.0, 0.0, 0.0] for i in range(3)}
    assert second.counts.reused == 8
    assert (second.report["this_run"]["asked"], second.report["this_run"]["reused"]) == (1, 3)
    third = judge(script, instances(3), out, port=first.port)
    assert not third.server.requests
    assert third.rows == second.rows


def requests_by_text(run):
    by_text: dict[str, list[dict]] = {}
    for body in run.server.requests:
        by_text.setdefault(prompt_of(body), []).append(body)
    return by_text


@pytest.mark.parametrize(("mode", "calls"), [("choose", 4), ("pairwise", 12)])
def test_a_group_with_an_unread_vote_is_unscored_after_bounded_re_asks(out, mode, calls):
    """The judge always prefers the chosen story; where that stands last, nobody can read its reply."""

    def script(body, number):
        stories = shown_stories(body)
        if "by its light" in stories[-1]:
            return "They are all fine."
        found = [i for i, story in enumerate(stories) if "by its light" in story]
        return f'{{"best": {1 + found[0] if found else 1}}}'

    run = judge(script, instances(1), out, mode)
    unread = 1 if mode == "choose" else 3
    assert run.by_instance() == {"rmb-0000": [None] * 4}
    reason = f"{unread} of {calls} replies unread, asked for 3 times: the reply names no story"
    assert {(row.status, row.detail) for row in run.rows} == {("failed", reason)}
    assert sorted(map(len, requests_by_text(run).values())) == [1] * (calls - unread) + [3] * unread
    assert (run.report["valid_replies"], run.report["unparsed_replies"]) == (calls - unread, unread)
    took = run.report["this_run"]
    assert (took["asked"], took["re_asked"], took["unparsed"]) == (calls + 2 * unread, 2 * unread, 3 * unread)
    assert (run.report["flip_rate"], run.report["flips_of"]) == (None, 0)
    second = judge(script, instances(1), out, mode, port=run.port)
    assert len(second.server.requests) == 3 * unread  # what was read is not asked for again
    assert second.by_instance() == {"rmb-0000": [None] * 4}
    if mode == "choose":
        third = judge(names("by its light"), instances(1), out, mode, port=run.port)
        assert third.by_instance() == {"rmb-0000": [1.0, 0.0, 0.0, 0.0]}
        assert len(third.server.requests) == 1


def test_a_re_ask_has_another_seed_and_its_vote_counts(out):
    seen: dict[str, int] = {}

    def script(body, number):
        times = seen[prompt_of(body)] = seen.get(prompt_of(body), 0) + 1
        return names("was lost")(body, number) if times == 5 else "I cannot give this story a score of 10"

    first = judge(script, instances(1), out, seed=7)
    assert first.by_instance() == {"rmb-0000": [None] * 4}
    assert [[body["seed"] for body in bodies] for bodies in requests_by_text(first).values()] == [[7, 8, 9]] * 4
    second = judge(script, instances(1), out, seed=7, port=first.port)
    assert [[body["seed"] for body in bodies] for bodies in requests_by_text(second).values()] == [[10, 11]] * 4
    assert second.by_instance() == {"rmb-0000": [0.0, 1.0, 0.0, 0.0]}
    log = [json.loads(line) for line in out.with_name("rewards.jsonl.calls.jsonl").read_text("utf-8").splitlines()]
    assert sorted(row["seed"] for row in log) == sorted([7, 8, 9, 10, 11] * 4)


def test_a_rated_story_alone_is_unscored(out):
    def script(body, number):
        return "Score: 6 to 8" if "was burnt" in shown_stories(body)[0] else "7"

    run = judge(script, instances(2), out, "rate")
    assert run.by_instance() == {f"rmb-{i:04d}": [7.0, 7.0, None, 7.0] for i in range(2)}
    assert len(run.server.requests) == 8 + 2 * 2


def test_re_asks_stay_under_the_cost_limit(out):
    price, said = Price(0.0, 1e6), Said("Both.", usage={"prompt_tokens": 50, "completion_tokens": 10})
    with pytest.raises(CostLimitError, match=r"\$60.00 spent\) with 1 of 1 groups to go"):
        judge(lambda *_: said, instances(1), out, max_cost=65.0, price=price, max_tokens=10, max_concurrency=1)


def test_a_changed_story_is_judged_again_with_its_group_alone(out):
    first = judge(names("by its light"), instances(3), out)
    changed = instances(3)
    from dataclasses import replace

    changed[1] = replace(changed[1], rejected=("A new story.", *changed[1].rejected[1:]))
    second = judge(names("by its light"), changed, out, port=first.port)
    assert len(second.server.requests) == 4
    assert all("A new story." in shown_stories(r) for r in second.server.requests)
    assert second.counts.reused == 8
    third = judge(names("by its light"), instances(3), out, port=first.port)
    assert not third.server.requests  # the log still has the answers for the old story
    assert third.rows == first.rows


def test_a_changed_story_alone_is_rated_again(out):
    from dataclasses import replace

    first = judge(lambda *_: "7", instances(2), out, "rate")
    changed = instances(2)
    changed[1] = replace(changed[1], rejected=("A new story.", *changed[1].rejected[1:]))
    second = judge(lambda *_: "8", changed, out, "rate", port=first.port)
    assert [shown_stories(r) for r in second.server.requests] == [["A new story."]]
    assert second.by_instance() == {"rmb-0000": [7.0] * 4, "rmb-0001": [7.0, 8.0, 7.0, 7.0]}


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0.7}, {"max_tokens": 99}, {"seed": 3}, {"extra": {"top_p": 0.9}}, {"reply_format": "json_object"}],
)
def test_other_settings_never_meet_an_old_answer(out, change):
    first = judge(lambda *_: "1", instances(1), out)
    second = judge(lambda *_: "2", instances(1), out, port=first.port, **change)
    assert len(second.server.requests) == 4
    assert {r.signature for r in first.rows}.isdisjoint({r.signature for r in second.rows})


def test_the_prompt_is_part_of_the_settings(out, monkeypatch):
    from storyalign.llm import prompts

    first = judge(lambda *_: "1", instances(1), out)
    changed = prompts.Prompt("choose_best_story", prompts.load_prompt("choose_best_story").template + " ")
    monkeypatch.setattr("storyalign.llm.prompts.load_prompt", lambda name: changed)
    monkeypatch.setattr("storyalign.scoring.questions.load_prompt", lambda name: changed)
    assert len(judge(lambda *_: "1", instances(1), out, port=first.port).server.requests) == 4


def test_a_torn_log_loses_only_its_last_line(out):
    first = judge(names("by its light"), instances(2), out)
    log = out.with_name("rewards.jsonl.calls.jsonl")
    out.unlink()
    log.write_bytes(log.read_bytes()[:-20])
    second = judge(names("by its light"), instances(2), out, port=first.port)
    assert len(second.server.requests) == 1
    assert second.rows == first.rows
    assert all(json.loads(line) for line in log.read_text("utf-8").splitlines())


def test_a_dead_endpoint_ends_the_run_and_keeps_what_was_answered(out):
    def script(body, number):
        return names("by its light")(body, number) if number < 6 else Fault(401)

    with pytest.raises(EndpointError, match="HTTP 401"):
        judge(script, instances(3), out, max_concurrency=1)
    log = [json.loads(line) for line in out.with_name("rewards.jsonl.calls.jsonl").read_text("utf-8").splitlines()]
    assert len(log) == 6
    assert {row["instance"] for row in log} == {"rmb-0000", "rmb-0001"}
    assert not out.exists()


def test_the_cost_limit_stops_cleanly_and_a_second_run_goes_on(out):
    items = instances(4)
    price = Price(0.0, 1e6)  # a dollar a reply token; each call may take 10 and takes 10
    port = free_port()
    said = Said("1", usage={"prompt_tokens": 50, "completion_tokens": 10})
    with pytest.raises(CostLimitError, match=r"limit of \$85.00 is reached \(\$80.00 spent\) with 2 of 4 groups to go"):
        judge(lambda *_: said, items, out, max_cost=85.0, price=price, max_tokens=10, max_concurrency=1, port=port)
    second = judge(lambda *_: said, items, out, max_cost=80.0, price=price, max_tokens=10, port=port)
    assert len(second.server.requests) == 8
    assert second.by_instance() == {f"rmb-{i:04d}": [0.25] * 4 for i in range(4)}
    assert second.report["this_run"]["cost"] == 80.0


def test_the_log_keeps_what_was_said_and_no_key(out, monkeypatch):
    monkeypatch.setenv("SCRIPTED_KEY", "s3cret-key")
    run = judge(lambda *_: "<think>hm</think>Story 2", instances(1), out, key_variable="SCRIPTED_KEY")
    text = "".join(p.read_text("utf-8") for p in out.parent.iterdir() if p.is_file())
    assert "s3cret-key" not in text
    rows = [json.loads(line) for line in out.with_name("rewards.jsonl.calls.jsonl").read_text("utf-8").splitlines()]
    assert sorted(tuple(row["order"]) for row in rows) == [(0, 1, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)]
    assert {row["reply"] for row in rows} == {"<think>hm</think>Story 2"}
    assert run.server.headers[0]["authorization"] == "Bearer s3cret-key"


def test_the_estimate_counts_calls_tokens_and_money(out):
    from storyalign.llm.budget import dollars, estimate_tokens
    from storyalign.llm.endpoint import Endpoint
    from storyalign.llm.prompts import rating_request
    from storyalign.scoring.call_log import CallLog
    from storyalign.scoring.reward_store import requests_of

    items = instances(2)
    endpoint = Endpoint("https://example.org/v1", "m", price=Price(2.0, 10.0), max_tokens=50)
    scorer = JudgeScorer("m", endpoint, "rate", CallLog(out))
    estimate = scorer.estimate(requests_of(items))
    tokens = sum(estimate_tokens(rating_request(i.prompt, s)) + 4 for i in items for s in i.stories)
    assert (estimate.calls, estimate.prompt_tokens, estimate.reply_tokens) == (8, tokens, 400)
    assert estimate.cost == pytest.approx((tokens * 2 + 400 * 10) / 1e6)
    assert str(estimate).startswith("8 calls, about ")
    assert str(estimate).endswith(f"with which it is at most {dollars(3 * estimate.cost)}")
    calls = {m: JudgeScorer("m", endpoint, m, CallLog(out)).estimate(requests_of(items, with_rivals=True)).calls
             for m in ("choose", "pairwise")}  # fmt: skip
    assert calls == {"choose": 8, "pairwise": 24}


def test_rows_are_those_of_every_rewards_file(out):
    run = judge(lambda *_: "1", instances(1), out)
    assert run.rows == read_rewards(out)
    assert [(r.id, r.candidate, r.status, r.n_tokens, r.truncated) for r in run.rows] == [
        ("rmb-0000", i, "scored", 0, False) for i in range(4)
    ]
