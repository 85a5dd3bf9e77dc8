"""Running constructions from the command line: costs first, a bar, and counts of everything that came to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
import yaml

from storyalign.errors import RecipeError, StoryAlignError

if TYPE_CHECKING:
    from storyalign.corpus.tally import Tally
    from storyalign.llm.endpoint import Endpoint
    from storyalign.llm.steps import Row, Step
    from storyalign.preferences.making import Made, StepRun
    from storyalign.preferences.recipe import PreferenceRecipe


def load_recipe(path: Path) -> PreferenceRecipe:
    """Read and check a recipe.

    Raises:
        RecipeError: the file cannot be read, or something in it is unknown, missing or wrong.
    """
    from storyalign.preferences.recipe import PreferenceRecipe

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML in UTF-8 ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict):
        raise RecipeError(f"{path}: expected sections such as endpoints and rewriting")
    try:
        return PreferenceRecipe.from_mapping(content)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from error


def run_constructions(
    names: Sequence[str],
    recipe: PreferenceRecipe,
    out: Path,
    *,
    limit: int | None,
    cost_limit: float | None,
    dry_run: bool,
) -> list[Made]:
    """Make constructions one after the other, or only say what they would cost.

    Raises:
        StoryAlignError: the cost limit left rows unasked, or calls failed; what was answered is kept.
    """
    from storyalign.preferences.making import MAKERS, POOL, expect_premises

    made: list[Made] = []
    spent, waiting = 0.0, 0
    for name in names:
        construction = MAKERS[name](recipe, out / name, limit)
        while True:
            try:
                runs = next(construction)
            except StopIteration as end:
                made.append(end.value)
                _print_made(end.value)
                break
            for run in runs:
                if dry_run:
                    _print_estimate(name, run, recipe.endpoints[run.endpoint], _pending(run, recipe))
                else:
                    left = None if cost_limit is None else max(0.0, cost_limit - spent)
                    cost, unasked = _run(name, run, recipe.endpoints[run.endpoint], left)
                    spent, waiting = spent + cost, waiting + unasked
            if dry_run:
                _print_verdicts(name, recipe, out / name)
                if name == "back_generation" and not (out / name / POOL).exists():
                    recipe = expect_premises(recipe, out / name)
                break
        if waiting:
            raise StoryAlignError(
                f"the cost limit is reached: {waiting:,} rows of {name} were not asked; raise --cost-limit to go on"
            )
    return made


def _run(name: str, run: StepRun, endpoint: Endpoint, cost_limit: float | None) -> tuple[float, int]:
    from tqdm import tqdm

    from storyalign.llm.budget import Budget, dollars
    from storyalign.llm.step_runs import run_step

    total = sum(1 for _ in run.source.open("rb"))
    budget = Budget(cost_limit, endpoint.known_price)
    with tqdm(total=total, unit=" rows", desc=f"{name} {run.step.name} {run.endpoint}", disable=None) as bar:
        counts = run_step(
            run.step, run.source, endpoint, run.folder, budget=budget, progress=lambda _: bar.update() and None
        )
    cost = budget.spent or 0.0
    typer.echo(
        f"{name} {run.step.name} {run.endpoint}: {counts.rows:,} of {counts.total:,} rows "
        f"({counts.asked:,} asked, {counts.reused:,} from earlier), {counts.dropped:,} dropped, "
        f"{counts.failed:,} failed, {counts.waiting:,} not asked; this run {dollars(cost)}"
    )
    for reason, n in counts.reasons.items():
        typer.echo(f"  {n:,}: {reason}")
    return cost, counts.waiting


def _pending(run: StepRun, recipe: PreferenceRecipe) -> Iterator[Row]:
    from storyalign.llm.reply_log import ReplyLog
    from storyalign.llm.step_runs import requests_of

    replies = run.folder / "replies"
    log = ReplyLog(replies) if replies.exists() else None
    for row, request in requests_of(run.step, run.source, recipe.endpoints[run.endpoint], None, set()):
        if log is None or not log.finished(row["id"], request):
            yield row


def _print_estimate(name: str, run: StepRun, endpoint: Endpoint, rows: Iterator[Row]) -> None:
    _estimate(name, run.step, run.endpoint, endpoint, rows)


def _print_verdicts(name: str, recipe: PreferenceRecipe, out: Path) -> None:
    from storyalign.preferences.llm_pairs import judging_step
    from storyalign.preferences.making import stand_in_verdicts

    if name == "llm_pairs" and recipe.llm_pairs is not None:
        for judge, rows in stand_in_verdicts(recipe, out).items():
            _estimate(name, judging_step(recipe.llm_pairs), judge, recipe.endpoints[judge], iter(rows))


def _estimate(name: str, step: Step, endpoint_name: str, endpoint: Endpoint, rows: Iterator[Row]) -> None:
    from storyalign.llm.budget import dollars
    from storyalign.llm.estimate import estimate, plain_count

    bound = estimate(step, rows, endpoint, plain_count)
    cost = "price unknown" if bound.cost_bound is None else f"at most about {dollars(bound.cost_bound)}"
    typer.echo(
        f"{name} {step.name} {endpoint_name}: {bound.calls:,} calls, about {bound.prompt_tokens:,} prompt tokens, "
        f"replies of at most {bound.reply_bound:,} tokens, {cost}"
    )


def _print_made(made: Made) -> None:
    typer.echo(f"{made.construction}: {made.finished.kept:,} pairs in {made.pairs}")
    for what, tally in (("planning", made.planned), ("pairing", made.finished)):
        _print_tally(what, tally)


def _print_tally(what: str, tally: Tally) -> None:
    if tally.dropped or tally.rules:
        for line in tally.lines():
            typer.echo(f"  {what}: {line.strip()}")
