"""The table of a dry run: calls, prompt tokens, and the most that replies and money can come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Protocol

from rich.text import Text

from storyalign.cli.terminal import new_table, open_console, say
from storyalign.llm.budget import dollars
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.estimate import (
    CountTokens,
    Estimate,
    corrected_count,
    counted_calls,
    estimate,
    plain_count,
    tokenizer_count,
)
from storyalign.llm.reply_log import ReplyLog
from storyalign.llm.steps import Row, Step
from storyalign.llm.wire import body_digest, body_of


class PlannedStep(Protocol):
    """A step that a construction will run; rows that have their reply are left out of the estimate."""

    @property
    def step(self) -> Step:
        """What is asked."""

    @property
    def endpoint(self) -> str:
        """The endpoint's name."""

    @property
    def rows(self) -> Iterable[Row]:
        """The rows, real or assumed."""

    @property
    def source(self) -> Path:
        """The file of the rows that earlier runs asked about."""

    @property
    def folder(self) -> Path:
        """The step's folder."""

    @property
    def assumed(self) -> bool:
        """Whether the rows stand for ones that are not made yet."""


def print_plan(planned: Iterable[PlannedStep], endpoints: Mapping[str, Endpoint]) -> None:
    """Print one row a step and endpoint, and one for each endpoint's sum."""
    out = open_console()
    table = new_table(
        "step: endpoint", "calls", "prompt tokens", "replies at most", "cost at most", "prompts counted by"
    )
    sums: dict[str, Estimate] = {}
    assumed = False
    for item in planned:
        endpoint = endpoints[item.endpoint]
        count, how = _counter(item, endpoint)
        figures = estimate(item.step, _unanswered(item, endpoint), endpoint, count)
        assumed |= item.assumed and figures.calls > 0
        table.add_row(
            Text(f"{item.step.name}: {item.endpoint}"), *_cells(figures), f"{how}{'*' if item.assumed else ''}"
        )
        sums[item.endpoint] = _added(sums.get(item.endpoint), figures)
    for name, figures in sums.items():
        table.add_row(Text(f"all: {name}"), *_cells(figures), "")
    known = [figures.cost_bound for figures in sums.values() if figures.cost_bound is not None]
    out.print(table)
    say(out, f"at most {dollars(sum(known))} at endpoints with a known price; {len(sums) - len(known)} without")
    say(out, "replies that have to be asked for again cost more; --cost-limit holds in any case")
    if assumed:
        say(out, "* rows that are not made yet: as many as there can be, of the length asked for or met in a trial")


def _counter(item: PlannedStep, endpoint: Endpoint) -> tuple[CountTokens, str]:
    """Choose the best count at hand: tokenizer, then the estimate as corrected by a trial, then the bare estimate."""
    if endpoint.tokenizer is not None:
        return tokenizer_count(endpoint.tokenizer), "tokenizer"
    if counted := counted_calls(item.step, item.source, endpoint, item.folder):
        return corrected_count(counted), f"estimate and {len(counted)} calls"
    return plain_count, "estimate"


def _unanswered(item: PlannedStep, endpoint: Endpoint) -> Iterable[Row]:
    log = ReplyLog(item.folder / "replies")
    if item.assumed:  # such rows have no replies, but a trial may have brought some of those that they stand for
        return islice(item.rows, log.finished_rows(), None)
    return (row for row in item.rows if not log.finished(row["id"], body_digest(body_of(item.step, row, endpoint))))


def _added(one: Estimate | None, other: Estimate) -> Estimate:
    if one is None:
        return other
    costs = (one.cost_bound, other.cost_bound)
    total = None if costs[0] is None or costs[1] is None else costs[0] + costs[1]
    return Estimate(
        one.calls + other.calls, one.prompt_tokens + other.prompt_tokens, one.reply_bound + other.reply_bound, total
    )


def _cells(figures: Estimate) -> tuple[str, str, str, str]:
    cost = "unknown" if figures.cost_bound is None else dollars(figures.cost_bound)
    return f"{figures.calls:,}", f"{figures.prompt_tokens:,}", f"{figures.reply_bound:,}", cost
