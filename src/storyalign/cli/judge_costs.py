"""What a judge will cost and what it did: the line before a run, the consent, the lines after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from storyalign.accuracy import wilson_interval
from storyalign.errors import RecipeError
from storyalign.llm.budget import dollars
from storyalign.scoring.reward_store import requests_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from storyalign.records import Instance
    from storyalign.scoring.judges import JudgeScorer
    from storyalign.scoring.reward_store import RewardStore


def agree_on_cost(scorer: JudgeScorer, instances: Sequence[Instance], store: RewardStore, *, yes: bool) -> None:
    """Print what the run will take at most; money is spent only with ``--yes`` or under ``--max-cost``.

    Raises:
        RecipeError: the run costs money, or nobody knows how much, and there is no consent.
    """
    requests = list(requests_of(instances, with_rivals=scorer.sees_rivals))
    known = store.known(scorer.digest, requests)
    estimate = scorer.estimate([r for r in requests if (r.id, r.candidate) not in known])
    typer.echo(f"judge:{scorer.name}: {estimate}", err=True)
    if estimate.calls and estimate.cost != 0.0 and not yes and scorer.client.budget.limit is None:
        raise RecipeError(
            f"judge:{scorer.name}: {estimate}; run again with --yes, or with --max-cost DOLLARS to set a limit"
        )


def say_what_it_took(report: dict[str, Any]) -> None:
    """Print a judge's own figures: calls, replies that could not be read, flips, tokens, money."""
    run = report["this_run"]
    cost = "" if run["cost"] is None else f", {dollars(run['cost'])}"
    typer.echo(
        f"calls {run['asked']} | answered before {run['reused']} | failed {run['failed']} | unread {run['unparsed']}"
        f" | re-asked {run['re_asked']}"
        f" | {run['prompt_tokens']:,} + {run['reply_tokens']:,} tokens{cost}"
    )
    changed, compared = report["flips"], report["flips_of"]
    if compared:
        rate = report["flip_rate"]
        low, high = wilson_interval(rate, compared)
        typer.echo(
            f"flip rate {rate:.1%} ({changed} of {compared} {report['flips_unit']},"
            f" 95% {low:.1%} to {high:.1%}): the winner changed with the order alone"
        )
