"""Asking an endpoint about the rows of a step; every outcome is on its way to the disk before the next call ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from storyalign.files import appending
from storyalign.llm.budget import Budget
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.reply_log import Outcome
from storyalign.llm.session import Answer, Session, open_session
from storyalign.llm.steps import Row, Step
from storyalign.llm.wire import body_of


async def ask_rows(
    step: Step,
    rows: Iterable[tuple[Row, str]],
    endpoint: Endpoint,
    log: Path,
    budget: Budget,
    kept: Callable[[Outcome], None] | None = None,
) -> None:
    """Ask about rows, ``max_concurrency`` at once, and append each outcome to the log.

    Args:
        step: what to ask and how to read the reply.
        rows: rows that need a call, each with the digest of its request; drawn only as they are sent.
        endpoint: whom to ask.
        log: a file of a reply log that nobody else writes.
        budget: the run ends early when it leaves no room for another call.
        kept: called with each outcome once it is written.

    Raises:
        EndpointError: no call can succeed, or too many failed in a row. What was answered is kept.
    """
    waiting = iter(rows)

    async def work(session: Session) -> None:
        for row, request in waiting:
            outcome, answers = await _ask_row(session, step, row, request)
            if outcome is None:
                return
            write([outcome._asdict()])
            if kept is not None:
                kept(outcome)
            for answer in answers:
                session.count(answer)

    with appending(log) as write:
        async with open_session(endpoint, budget, endpoint.key()) as session:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(endpoint.max_concurrency):
                        group.create_task(work(session))
            except BaseExceptionGroup as failures:
                raise failures.exceptions[0] from None


async def _ask_row(session: Session, step: Step, row: Row, request: str) -> tuple[Outcome | None, list[Answer]]:
    """Ask until a reply is of use, at most ``step.tries`` times; no outcome where the budget allows no first try."""
    answers: list[Answer] = []
    text = failure = seed = counted = None
    again = False
    for attempt in range(step.tries):
        body = body_of(step, row, session.endpoint, attempt)
        answer = await session.answer(body)
        if answer is None:
            if attempt == 0:
                return None, []
            failure, again = f"{failure}; no room under the cost limit", True
            break
        answers.append(answer)
        seed, text = body.get("seed"), None
        if answer.reply is None:
            failure, again = answer.failure, not answer.unusable
        else:
            text, failure, counted = answer.reply.text, None, answer.reply.prompt_tokens
            try:
                step.read(row, text)
            except UnparsedReply as useless:
                failure = str(useless)
        if failure is None or again:
            break
    charged = sum(answer.prompt_tokens for answer in answers), sum(answer.reply_tokens for answer in answers)
    return Outcome(row["id"], request, text, failure, again, seed, len(answers), *charged, counted), answers
