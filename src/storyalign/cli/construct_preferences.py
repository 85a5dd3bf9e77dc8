"""``storyalign construct preferences`` and its parts: the four constructions, the mix, and the check by people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from storyalign.errors import DataError, RecipeError
from storyalign.records import CONSTRUCTIONS

RecipeFile = Annotated[Path, typer.Option("--recipe", help="The recipe, a YAML file.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of the run; the same command goes on where it stopped.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="A trial: so many rows of each construction.")]
CostLimit = Annotated[
    float | None,
    typer.Option("--cost-limit", min=0, help="Stop before the folder has cost so many US dollars, all runs together."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print calls, tokens and the most it can cost; ask for nothing.")
]
Executor = Annotated[str, typer.Option("--executor", help="Where calls run: local, slurm or ray.")]

_PREFERENCES = """
Make preference pairs by all constructions of a recipe, and mix them.

Example:

  storyalign construct preferences --recipe recipes/preferences.yaml --out runs/preferences --limit 20 --dry-run

recipes/preferences.yaml is the paper's recipe. Writes OUT/<construction>/pairs.jsonl for each construction,
OUT/pairs.jsonl (the mix) with OUT/report.json, and OUT/check/ with pairs for people. Then: storyalign build
story_preferences --raw OUT/pairs.jsonl
"""

_ONE = """
Make the pairs of one construction, {name}, and do not mix.

Example:

  storyalign construct {name} --recipe recipes/preferences.yaml --out runs/preferences
"""

_MIX = """
Mix pairs that are made: repetitions and leaks out, targets, two splits that share nothing, surface cues counted.

Without files of its own it mixes what the constructions left in OUT.

Example:

  storyalign construct mix --recipe recipes/preferences.yaml --out runs/preferences
"""

_CHECK = """
Draw pairs for a check by people, blind: OUT/pairs.jsonl goes to storyalign annotate, OUT/key.jsonl stays with you.

Example:

  storyalign construct people-check runs/preferences/pairs.jsonl --out runs/preferences/check
"""

_AGREEMENT = """
Compare the verdicts of people with the key of a check: the share that agrees with each construction.

Example:

  storyalign construct people-agreement runs/preferences/check verdicts.jsonl
"""


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("preferences", help=_PREFERENCES)(preferences)
    for name in CONSTRUCTIONS:
        group.command(name, help=_ONE.format(name=name))(_one(name))
    group.command("mix", help=_MIX)(mix)
    group.command("people-check", help=_CHECK)(people_check)
    group.command("people-agreement", help=_AGREEMENT)(people_agreement)


def preferences(
    recipe: RecipeFile,
    out: Out,
    limit: Limit = None,
    cost_limit: CostLimit = None,
    executor: Executor = "local",
    dry_run: DryRun = False,
) -> None:
    """Make all constructions and mix; the help text stands in ``_PREFERENCES``."""
    from storyalign.cli.construction_runs import load_recipe, print_costs, run_constructions

    loaded = load_recipe(recipe)
    names = [name for name in CONSTRUCTIONS if getattr(loaded, name) is not None]
    if not names:
        raise RecipeError(f"{recipe}: no construction; expected a section {', '.join(CONSTRUCTIONS)}")
    if dry_run:
        print_costs(names, loaded, out, limit)
        return
    made = run_constructions(names, loaded, out, limit=limit, cost_limit=cost_limit, executor=executor)
    _mix(recipe, out, [item.pairs for item in made])
    _export([out / "pairs.jsonl"], out / "check", 20, 0)


def mix(
    recipe: RecipeFile,
    out: Out,
    pairs: Annotated[list[Path] | None, typer.Argument(help="JSONL files of pairs.")] = None,
) -> None:
    """Mix; the help text stands in ``_MIX``."""
    files = pairs or [p for name in CONSTRUCTIONS if (p := out / name / "pairs.jsonl").exists()]
    _mix(recipe, out, files)


def people_check(
    pairs: Annotated[list[Path], typer.Argument(help="JSONL files of pairs.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the tasks and the key.")],
    count: Annotated[int, typer.Option(min=1, help="Pairs of each construction.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the draw and the order.")] = 0,
) -> None:
    """Export a check; the help text stands in ``_CHECK``."""
    _export(pairs, out, count, seed)


def people_agreement(
    folder: Annotated[Path, typer.Argument(help="Folder of the check, with key.jsonl.")],
    verdicts: Annotated[Path, typer.Argument(help="Verdicts that storyalign annotate wrote.")],
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
) -> None:
    """Compare verdicts with the key; the help text stands in ``_AGREEMENT``."""
    from storyalign.files import write_json
    from storyalign.preferences.people_check import KEY, people_agree

    found = people_agree(folder / KEY, verdicts)
    for item in found:
        low, high = item.interval
        typer.echo(
            f"{item.construction}: people agree with {item.share:.1%} of the pairs "
            f"(95% interval {low:.1%} to {high:.1%}, n = {item.n} pairs with {item.verdicts} verdicts, "
            f"unsure about {item.unsure})"
        )
    if json_file:
        write_json(
            json_file,
            {
                i.construction: {
                    "share": i.share,
                    "ci": list(i.interval),
                    "n": i.n,
                    "unsure": i.unsure,
                    "verdicts": i.verdicts,
                }
                for i in found
            },
        )


def _one(name: str) -> Callable[..., None]:
    def construction(
        recipe: RecipeFile,
        out: Out,
        limit: Limit = None,
        cost_limit: CostLimit = None,
        executor: Executor = "local",
        dry_run: DryRun = False,
    ) -> None:
        from storyalign.cli.construction_runs import load_recipe, print_costs, run_constructions

        loaded = load_recipe(recipe)
        if dry_run:
            print_costs([name], loaded, out, limit)
        else:
            run_constructions([name], loaded, out, limit=limit, cost_limit=cost_limit, executor=executor)

    return construction


def _mix(recipe: Path, out: Path, files: Sequence[Path]) -> None:
    from storyalign.cli.construction_runs import load_recipe
    from storyalign.cli.mixing import mix_and_print

    loaded = load_recipe(recipe)
    if loaded.mix is None:
        raise RecipeError(f"{recipe}: no section mix")
    every = [*files, *map(Path, loaded.also)]
    if not every:
        raise DataError(f"{out}: no pairs to mix; make a construction first, or name files")
    mix_and_print(loaded.mix, loaded.against, every, out)


def _export(pairs: Sequence[Path], out: Path, count: int, seed: int) -> None:
    from storyalign.preferences.people_check import TASKS, export_check

    n = export_check(pairs, out, count, seed)
    typer.echo(
        f"{n} pairs for people: storyalign annotate {out / TASKS}; then storyalign construct people-agreement {out} ..."
    )
