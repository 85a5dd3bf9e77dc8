"""How construction commands make calls: a bar, a line of counts, the cost limit, the cluster."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from storyalign.errors import StoryAlignError
from storyalign.llm.budget import Budget, dollars
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import Outcome
from storyalign.llm.spending import note_endpoint, spent_in
from storyalign.llm.step_runs import StepCounts, run_step
from storyalign.llm.steps import Step

NAMED_REASONS = 3


class CostLimitReached(StoryAlignError):
    """The run stopped before it would have spent more than was allowed."""


class Calls:
    """Makes the calls of a construction, step by step.

    Args:
        folder: the construction's folder; what earlier runs spent in it counts.
        endpoints: by name.
        cost_limit: US dollars for the whole folder; None for no limit.
        executor: ``local`` or a cluster.
    """

    def __init__(
        self,
        folder: Path,
        endpoints: Mapping[str, Endpoint],
        cost_limit: float | None = None,
        executor: Literal["local"] | Cluster = "local",
    ):
        self._folder, self._endpoints = folder, endpoints
        self._limit, self._executor = cost_limit, executor

    def __call__(self, step: Step, source: Path, endpoint_name: str, out: Path) -> StepCounts:
        """Run one step at one endpoint and print its line.

        Raises:
            CostLimitReached: rows are left that the limit has no room for.
            EndpointError: no call can succeed.
        """
        endpoint = self._endpoints[endpoint_name]
        left = None if self._limit is None else self._limit - self.spent()
        note_endpoint(out, step.name, endpoint_name, endpoint)
        budget = Budget(None if left is None else max(left, 0.0), endpoint.known_price)
        title = f"{step.name}: {endpoint_name}"
        with _bar() as bar:
            task = bar.add_task(title, total=None)
            failed = 0

            def begin(pending: int, reused: int) -> None:
                bar.update(task, total=pending + reused, completed=reused)

            def advance(outcome: Outcome) -> None:
                nonlocal failed
                failed += outcome.failure is not None
                bar.update(task, advance=1, description=f"{title}, {failed} without use" if failed else title)

            counts = run_step(
                step, source, endpoint, out, executor=self._executor, budget=budget, begin=begin, progress=advance
            )
        typer.echo(_line(title, counts, endpoint))
        if counts.waiting:
            self._stop(title, counts, budget)
        return counts

    def spent(self) -> float:
        """Sum up what the folder has cost in all runs, where prices are known."""
        return sum(spent.cost or 0.0 for spent in spent_in(self._folder))

    def _stop(self, title: str, counts: StepCounts, budget: Budget) -> None:
        if budget.used_up and self._limit is not None:
            raise CostLimitReached(
                f"{title}: the cost limit of {dollars(self._limit)} leaves no room for another call"
                f" ({dollars(self.spent())} spent, {counts.waiting:,} rows wait); run again with a higher --cost-limit"
            )
        if isinstance(self._executor, Cluster):
            typer.echo(f"{title}: {counts.waiting:,} rows are with the cluster; run again when its jobs have ended")
            raise typer.Exit


def _line(title: str, counts: StepCounts, endpoint: Endpoint) -> str:
    price = endpoint.known_price
    cost = "" if price is None else f", {dollars(price.cost(counts.prompt_tokens, counts.reply_tokens))}"
    reasons = list(counts.reasons.items())
    shown = "; ".join(f"{n:,}x {reason}" for reason, n in reasons[:NAMED_REASONS])
    more = f"; {len(reasons) - NAMED_REASONS} more reasons" if len(reasons) > NAMED_REASONS else ""
    return (
        f"{title}: {counts.rows:,} rows ({counts.asked:,} asked, {counts.reused:,} from before)"
        f" | dropped {counts.dropped:,} | failed {counts.failed:,}"
        f" | {counts.prompt_tokens:,} + {counts.reply_tokens:,} tokens{cost}" + (f" | {shown}{more}" if shown else "")
    )


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
