"""The verb ``score``: a reward for every story of a dataset."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storyalign.cli.data_options import Config, Split
from storyalign.cli.model_options import with_scoring_options
from storyalign.cli.outputs import keep_inputs
from storyalign.cli.progress import ScoringProgress
from storyalign.errors import RecipeError
from storyalign.scoring.options import DEFAULTS, ScoringOptions
from storyalign.text import TEXT_RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from storyalign.records import Instance
    from storyalign.scoring.processes import Processes
    from storyalign.scoring.reward_store import Counts, RewardStore

_EXAMPLES = """
Score every story of DATA with MODEL: a reward model, or an LLM judge behind an endpoint.

Examples:

  storyalign score runs/demo/model ./storyrmb --out rewards.jsonl

  storyalign score Skywork/Skywork-Reward-Llama-3.1-8B-v0.2 ./storyrmb --out skywork.jsonl --dtype bf16

  accelerate launch --num_processes 8 -m storyalign score MODEL DATA --out rewards.jsonl

  storyalign score judge:GPT-4o ./storyrmb --out gpt4o.jsonl --mode choose --max-cost 60

A run that was stopped goes on where it was; stories that changed are scored again.
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("score", help=_EXAMPLES, no_args_is_help=True)(with_scoring_options(score))


def score(
    model: Annotated[
        str,
        typer.Argument(
            help="A model folder, adapter folder or Hub id, a name from recipes/scorers.yaml, or judge:NAME."
        ),
    ],
    data: Annotated[str, typer.Argument(help="A dataset folder, a JSONL file, or a Hub dataset.")],
    out: Annotated[Path, typer.Option(help="The rewards file to write, one row a story.")],
    config: Config = None,
    split: Split = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what is in --out and score everything.")] = False,
    options: ScoringOptions = DEFAULTS,
) -> None:
    """Score a dataset; the help text stands in ``register``."""
    if out.suffix != ".jsonl" and not out.is_dir():
        raise RecipeError(f"--out {out}: the name of a rewards file must end in .jsonl, as {out.name}.jsonl does")
    keep_inputs([data, model], out)

    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.models.allocator import keep_freed_memory
    from storyalign.scoring.processes import join_processes, leave_processes
    from storyalign.scoring.reward_store import RewardStore, open_store
    from storyalign.scoring.run import score_instances
    from storyalign.scoring.scorers import open_scorer

    keep_freed_memory()
    processes = join_processes()
    try:
        with ExitStack() as stack:
            held = processes.together(lambda: stack.enter_context(open_store(out, fresh=fresh)), only_main=True)
            store = held or RewardStore(out)
            evaluation_set = load_evaluation_set(data, config=config, split=split, needs_gold=False, every_story=True)
            scorer = open_scorer(model, out, options, device=processes.device, fresh=fresh)
            if is_judge := scorer.signature["kind"] == "judge":
                _prepare_judge(scorer, evaluation_set.instances, store, processes, options.yes)
            if processes.is_main:
                _say_what_is_replaced(store, scorer.digest)
            with ScoringProgress(visible=processes.is_main) as bar:
                counts = score_instances(
                    scorer,
                    evaluation_set.instances,
                    store,
                    {"name": evaluation_set.name, "digest": evaluation_set.digest},
                    processes=processes,
                    begin=bar.begin,
                    progress=bar.advance,
                )
    finally:
        leave_processes()
    if processes.is_main:
        _report(out, counts, bar.speed)
        if is_judge:
            from storyalign.cli.judge_costs import say_what_it_took

            say_what_it_took((store.settings() or {})["report"])


def _prepare_judge(
    judge: Any, instances: Sequence[Instance], store: RewardStore, processes: Processes, yes: bool
) -> None:
    from storyalign.cli.judge_costs import agree_on_cost

    if processes.size > 1:
        raise RecipeError(f"judge:{judge.name}: is asked by one process; raise max_concurrency in its entry instead")
    agree_on_cost(judge, instances, store, yes=yes)


def _say_what_is_replaced(store: RewardStore, scorer: str) -> None:
    if before := store.settings():
        other = None
        if (before.get("scorer") or {}).get("text_rule") != TEXT_RULE:
            other = f"texts that were read by another rule than {TEXT_RULE} (docs/rewards.md)"
        elif before.get("digest") != scorer:
            other = "other settings"
        if other:
            typer.echo(f"{store.path}: holds rewards of {other}; they are replaced when this run ends", err=True)
    if changed := store.changed_rows():
        typer.echo(
            f"{store.path}: {changed} rows were changed after they were written, or have no check; scored again",
            err=True,
        )


def _report(out: Path, counts: Counts, speed: float) -> None:
    new = counts.scored + counts.unscored - counts.reused
    pace = f" at {speed:,.0f} tokens/s" if new and speed else ""
    typer.echo(f"{out}: {counts.scored + counts.unscored} stories ({new} new{pace}, {counts.reused} from before)")
    typer.echo(f"scored {counts.scored} | unscored {counts.unscored} | truncated {counts.truncated}")
