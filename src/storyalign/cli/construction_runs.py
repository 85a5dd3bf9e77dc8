"""Running constructions from the command line: costs first, a bar, and counts of everything that came to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from storyalign.llm.steps import Job
    from storyalign.preferences.making import Made, StepRun
    from storyalign.preferences.recipe import PreferenceRecipe


def load_recipe(path: Path) -> PreferenceRecipe:
    """Read and check a recipe.

    Raises:
        RecipeError: the file cannot be read, or something in it is unknown, missing or wrong.
    """
    from storyalign.preferences.recipe import PreferenceRecipe
    from storyalign.settings import read_recipe

    return read_recipe(path, PreferenceRecipe.from_mapping)


def run_constructions(
    names: Sequence[str],
    recipe: PreferenceRecipe,
    out: Path,
    *,
    limit: int | None,
    cost_limit: float | None,
    executor: str = "local",
) -> list[Made]:
    """Make constructions one after the other.

    Raises:
        CostLimitReached: rows are left that the limit has no room for; what was answered is kept.
        EndpointError: no call can succeed.
    """
    from storyalign.cli.construct_runs import Calls, where_to_run
    from storyalign.llm.steps import Job
    from storyalign.preferences.making import MAKERS

    calls = Calls(out, recipe.endpoints, cost_limit, where_to_run(executor, recipe.cluster))
    made: list[Made] = []
    for name in names:
        construction = MAKERS[name](recipe, out / name, limit)
        try:
            while True:
                jobs = [Job(run.step, run.source, run.endpoint, run.folder) for run in next(construction)]
                for turn in _turns(jobs) if executor == "local" else [jobs]:
                    calls.together(turn)
        except StopIteration as end:
            made.append(end.value)
            _print_made(end.value)
    return made


def _turns(jobs: Sequence[Job]) -> list[list[Job]]:
    """Deal jobs out to turns in which no endpoint stands twice: its rate limit is kept by one job at a time."""
    turns: list[list[Job]] = []
    for job in jobs:
        free = next((turn for turn in turns if all(other.endpoint != job.endpoint for other in turn)), None)
        if free is None:
            turns.append([job])
        else:
            free.append(job)
    return turns


def print_costs(names: Sequence[str], recipe: PreferenceRecipe, out: Path, limit: int | None) -> None:
    """Plan constructions and print what they would ask, and ask nothing."""
    from storyalign.cli.construct_costs import print_plan
    from storyalign.preferences.making import MAKERS, POOL, expect_premises, expect_verdicts

    planned: list[StepRun] = []
    for name in names:
        planned += next(MAKERS[name](recipe, out / name, limit), [])
        if name == "back_generation" and not (out / name / POOL).exists():
            recipe = expect_premises(recipe, out / name)
        if name == "llm_pairs":
            planned += expect_verdicts(recipe, out / name)
    print_plan(planned, recipe.endpoints)


def _print_made(made: Made) -> None:
    typer.echo(f"{made.construction}: {made.finished.kept:,} pairs in {made.pairs}")
    for what, tally in (("planning", made.planned), ("pairing", made.finished)):
        if tally.dropped or tally.rules:
            for line in tally.lines():
                typer.echo(f"  {what}: {line.strip()}")
