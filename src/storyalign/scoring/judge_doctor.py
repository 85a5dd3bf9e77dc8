"""Looks at a judge before a long run: key, address, reply format, and whether its replies can be read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from storyalign.errors import EndpointError
from storyalign.llm.budget import estimate_tokens
from storyalign.llm.client import Answer, Call, Client
from storyalign.llm.endpoint import Endpoint, ReplyFormat
from storyalign.llm.replies import UnparsedReply, final_answer
from storyalign.scoring.findings import Finding
from storyalign.scoring.judges import JudgeScorer
from storyalign.scoring.questions import question as ask_for
from storyalign.scoring.questions import read_vote, reply_form
from storyalign.scoring.reward_store import requests_of
from storyalign.scoring.systems import JudgeSystem
from storyalign.scoring.voting import RATED

if TYPE_CHECKING:
    from storyalign.records import Instance
    from storyalign.scoring.voting import Mode

PREMISE = "A lighthouse keeper finds a letter addressed to her under the lamp."
STORIES = (
    "Mara held the letter to the light. The hand was her own, and the date was tomorrow's.",
    "There was a letter. The keeper read the letter. It was a good letter. Then she slept.",
)
"""What the judge is shown: two stories, one of them plainly better."""


def examine_judge(
    system: JudgeSystem, mode: Mode, scorer: JudgeScorer | None, instances: Sequence[Instance] = ()
) -> Iterator[Finding]:
    """Ask a judge two short questions and look at what comes back; a paid endpoint charges for them.

    Args:
        system: the judge.
        mode: how the run will ask it.
        scorer: the judge as the run will use it, for the estimate; None where its key is missing.
        instances: the data that will be judged.
    """
    endpoint = system.endpoint
    try:
        endpoint.key()
    except EndpointError as error:
        yield Finding("fault", "key", str(error))
        return
    yield from _address(endpoint)
    questions = _questions(mode)
    probe = replace(endpoint, tries=min(endpoint.tries, 2), max_concurrency=2)
    started = time.monotonic()
    try:
        answers = _ask(probe, questions)
    except EndpointError as error:
        yield Finding("fault", "endpoint", str(error))
        return
    failures = [answer.failure for answer in answers if answer.failure]
    if failures:
        yield Finding("fault", "endpoint", f"{len(failures)} of {len(answers)} calls failed: {failures[0]}")
        if "HTTP 4" in failures[0] and endpoint.reply_format != "text":
            yield from _other_formats(probe, questions)
        return
    pace = (time.monotonic() - started) / len(answers)
    yield Finding("ok", "endpoint", f"{endpoint.model} answers, {pace:.1f} s a call with two at once")
    yield from _replies(mode, answers)
    yield from _counts(questions, answers)
    if endpoint.reply_format == "text":
        yield from _other_formats(probe, questions)
    elif all(_is_json(answer) for answer in answers):
        yield Finding("ok", "reply format", f"the endpoint takes {endpoint.reply_format}")
    else:
        text = f"the endpoint takes {endpoint.reply_format} and ignores it: not every reply is a JSON object"
        yield Finding("caution", "reply format", f"{text}; reply_format: text says the same")
    yield from _price(endpoint, scorer, instances)


def _address(endpoint: Endpoint) -> Iterator[Finding]:
    key = f"in {endpoint.key_variable}" if endpoint.key_variable else "none wanted"
    if endpoint.key_variable and endpoint.url.startswith("http://") and not endpoint.is_local:
        yield Finding("caution", "key", f"{key}, and sent unencrypted to {endpoint.url}")
    else:
        yield Finding("ok", "key", key)


def _questions(mode: Mode) -> list[Call]:
    shown = [[story] for story in STORIES] if mode in RATED else [STORIES, STORIES[::-1]]
    texts, form = [ask_for(mode, PREMISE, stories) for stories in shown], reply_form(mode)
    return [Call(str(number), [{"role": "user", "content": text}], form) for number, text in enumerate(texts)]


def _ask(endpoint: Endpoint, questions: list[Call]) -> list[Answer]:
    answers = {call.id: answer for call, answer in Client(endpoint).ask(questions)}
    return [answers[call.id] for call in questions]


def _replies(mode: Mode, answers: list[Answer]) -> Iterator[Finding]:
    values: list[float] = []
    for answer in answers:
        text = answer.reply.text if answer.reply else ""
        try:
            values.append(read_vote(mode, text, tuple(range(len(STORIES)))))
        except UnparsedReply as reason:
            shown = " ".join(text.split())[:80]
            yield Finding("fault", "replies", f"cannot be read ({reason}): {shown!r}")
    if len(values) < len(answers):
        yield Finding("note", "replies", f"{len(values)} of {len(answers)} were read")
    elif mode not in RATED and values[0] == values[1]:
        text = f"all were read, but both name place {values[0] + 1:g}: the order decides, not the stories"
        yield Finding("caution", "replies", text)
    elif mode in RATED and values[0] == values[1]:
        yield Finding("caution", "replies", f"all were read, but a good and a poor story both get {values[0]:g}")
    else:
        told = f"scores {values[0]:g} and {values[1]:g}" if mode in RATED else "the same story in both orders"
        yield Finding("ok", "replies", f"all {len(answers)} were read: {told}")


def _counts(questions: list[Call], answers: list[Answer]) -> Iterator[Finding]:
    """Compare the endpoint's count of the prompt with an estimate: some servers cut long prompts without a word."""
    for question, answer in zip(questions, answers, strict=True):
        counted = answer.reply.prompt_tokens if answer.reply else None
        expected = sum(estimate_tokens(message["content"]) for message in question.messages)
        if counted is None:
            yield Finding("note", "token counts", "the endpoint gives none; costs are counted by the estimate")
            return
        if counted < expected / 2:
            text = f"the endpoint counts {counted} tokens where about {expected} were sent: it may cut prompts silently"
            yield Finding("caution", "token counts", f"{text}; raise its context length")
            return
    yield Finding("ok", "token counts", "given, and as many as expected")


def _other_formats(endpoint: Endpoint, questions: list[Call]) -> Iterator[Finding]:
    """Find the best reply format that the endpoint takes."""
    formats: tuple[ReplyFormat, ...] = ("json_schema", "json_object", "text")
    for form in formats:
        try:
            [answer] = _ask(replace(endpoint, reply_format=form), questions[:1])
        except EndpointError:
            continue
        if answer.reply is None or (form != "text" and not _is_json(answer)):
            continue
        if form == endpoint.reply_format:
            yield Finding("ok", "reply format", f"{form}: the endpoint takes no stricter one")
        else:
            yield Finding(
                "note",
                "reply format",
                f"the endpoint takes reply_format: {form}; the entry says {endpoint.reply_format}",
            )
        return
    yield Finding("note", "reply format", "no reply format helped")


def _is_json(answer: Answer) -> bool:
    try:
        return answer.reply is not None and isinstance(json.loads(final_answer(answer.reply.text)), dict)
    except ValueError:  # an unparsed reply is one, too
        return False


def _price(endpoint: Endpoint, scorer: JudgeScorer | None, instances: Sequence[Instance]) -> Iterator[Finding]:
    if endpoint.known_price is None:
        yield Finding(
            "caution", "price", "unknown; add price: {prompt: ..., reply: ...} to have an estimate and a limit"
        )
    if scorer is not None and instances:
        estimate = scorer.estimate(requests_of(instances, with_rivals=scorer.sees_rivals))
        yield Finding("ok" if estimate.cost is not None else "note", "run", str(estimate))
