"""How construction commands make calls: a bar, a line of counts, the cost limit, the cluster."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from storyalign.errors import StoryAlignError
from storyalign.llm.budget import Budget, Purse, dollars
from storyalign.llm.clusters import Cluster
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import Outcome
from storyalign.llm.spending import note_endpoint, spent_in
from storyalign.llm.step_runs import StepCounts, run_step
from storyalign.llm.steps import Job, Step

NAMED_REASONS = 3


class CostLimitReached(StoryAlignError):
    """The run stopped before it would have spent more than was allowed."""


def where_to_run(name: str, entry: Mapping[str, Any]) -> Literal["local"] | Cluster:
    """Turn ``--executor`` and the recipe's ``cluster`` section into what ``Calls`` takes.

    Raises:
        RecipeError: the name or a field of the section is unknown.
    """
    return "local" if name == "local" else Cluster.from_recipe(name, entry)


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
        """Run one step at one endpoint and print its line; see ``together``."""
        [counts] = self.together([Job(step, source, endpoint_name, out)])
        return counts

    def together(self, jobs: Sequence[Job]) -> list[StepCounts]:
        """Run steps at several endpoints at the same time and print a line for each.

        A job that fails does not stop the others; its error is raised when all have ended.

        Raises:
            CostLimitReached: rows are left that the limit has no room for.
            EndpointError: no call can succeed.
        """
        left = None if self._limit is None else max(self._limit - self.spent(), 0.0)
        purse = Purse(left)
        with _bar() as bar:
            runs = [_Run(job, self._endpoints[job.endpoint], purse, self._executor, bar) for job in jobs]
            for run in runs:
                run.start()
            for run in runs:
                while run.is_alive():  # a wait without an end would not hear Ctrl-C
                    run.join(0.2)
        for run in runs:
            if run.counts is not None:
                typer.echo(_line(run.title, run.counts, run.endpoint))
        for run in runs:
            if run.error is not None:
                raise run.error
            self._stop(run)
        return [run.counts for run in runs if run.counts is not None]

    def spent(self) -> float:
        """Sum up what the folder has cost in all runs, where prices are known."""
        return sum(spent.cost or 0.0 for spent in spent_in(self._folder))

    def _stop(self, run: _Run) -> None:
        """End the construction where a job has left rows for later."""
        if run.counts is None or not run.counts.waiting:
            return
        if run.budget.used_up and self._limit is not None:
            raise CostLimitReached(
                f"{run.title}: the cost limit of {dollars(self._limit)} leaves no room for another call"
                f" ({dollars(self.spent())} spent, {run.counts.waiting:,} rows wait);"
                " run again with a higher --cost-limit"
            )
        if isinstance(self._executor, Cluster):
            waiting = f"{run.counts.waiting:,} rows are with the cluster"
            typer.echo(f"{run.title}: {waiting}; run again when its jobs have ended")
            raise typer.Exit


class _Run(threading.Thread):
    """One job in a thread that ends with the process: what it has written is whole at any moment."""

    def __init__(self, job: Job, endpoint: Endpoint, purse: Purse, executor: Literal["local"] | Cluster, bar: Progress):
        super().__init__(daemon=True)
        self.title, self.endpoint = f"{job.step.name}: {job.endpoint}", endpoint
        self.counts: StepCounts | None = None
        self.error: BaseException | None = None
        self.budget = Budget(None, endpoint.known_price, purse)
        self._job, self._executor, self._bar = job, executor, bar

    def run(self) -> None:
        """Run the job; an error is kept for the thread that waits."""
        task, failed = self._bar.add_task(self.title, total=None), 0

        def begin(pending: int, reused: int) -> None:
            self._bar.update(task, total=pending + reused, completed=reused)

        def advance(outcome: Outcome) -> None:
            nonlocal failed
            failed += outcome.failure is not None
            useless = f", {failed} without use" if failed else ""
            self._bar.update(task, advance=1, description=self.title + useless)

        step, source, name, out = self._job
        try:
            note_endpoint(out, step.name, name, self.endpoint)
            self.counts = run_step(
                step,
                source,
                self.endpoint,
                out,
                executor=self._executor,
                budget=self.budget,
                begin=begin,
                progress=advance,
            )
        except BaseException as error:
            self.error = error


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
