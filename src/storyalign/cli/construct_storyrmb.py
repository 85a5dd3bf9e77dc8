"""``storyalign construct storyrmb`` and its steps: from themes to instances that people have verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from storyalign.benchmark.construction import Construction, Kept
    from storyalign.benchmark.premises import Themes
    from storyalign.benchmark.recipe import Recipe
    from storyalign.files import Line

RecipeFile = Annotated[Path, typer.Option("--recipe", help="The recipe, a YAML file.")]
Out = Annotated[Path, typer.Option("--out", help="Folder of the construction; a second run goes on there.")]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="A trial: so many calls for seeds, so many premises a source.")
]
CostLimit = Annotated[
    float | None,
    typer.Option("--cost-limit", min=0, help="Stop before the folder has cost so many US dollars, all runs together."),
]
Executor = Annotated[str, typer.Option("--executor", help="Where calls run: local, slurm or ray.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print calls, tokens and the most it can cost; ask for nothing.")
]
Verdicts = Annotated[
    list[Path] | None,
    typer.Option("--verdicts", help="Settled verdicts of annotators, JSONL; may be given several times."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (storyrmb, premises, candidates, ratings, agreement, dimension, assemble):
        app.command(command.__name__)(command)


def storyrmb(
    recipe: RecipeFile,
    out: Out = Path("runs/storyrmb"),
    dry_run: DryRun = False,
    limit: Limit = None,
    cost_limit: CostLimit = None,
    executor: Executor = "local",
    verdicts: Verdicts = None,
) -> None:
    """Build StoryRMB: premises, stories, ratings, agreement, verdicts of people, dimensions, instances.

    Examples:

      storyalign construct storyrmb --recipe recipes/storyrmb.yaml --dry-run

      storyalign construct storyrmb --recipe recipes/storyrmb.yaml --limit 5 --cost-limit 2

      storyalign construct storyrmb --recipe recipes/storyrmb.yaml --verdicts settled.jsonl

    It can be stopped and run again at any time; only what is missing is asked for. Groups wait for annotators after the
    ratings: give tasks.jsonl to `storyalign annotate`, and run again with the settled verdicts.
    """
    settings = _read_recipe(recipe)
    if dry_run:
        _print_plan(recipe, settings, out, limit)
        return
    work = _construction(settings, out, limit, cost_limit, executor)
    _premises(work, recipe, settings)
    _say(work.candidates(), out)
    _say(work.ratings(), out)
    _say(work.agreement(), out)
    _finish(work, verdicts, out)


def premises(
    recipe: RecipeFile,
    out: Out = Path("runs/storyrmb"),
    limit: Limit = None,
    cost_limit: CostLimit = None,
    executor: Executor = "local",
    reviewed: Annotated[
        Path | None, typer.Option("--reviewed", help="premises/to_review.csv with keep filled in: yes or no.")
    ] = None,
) -> None:
    """Fill the pool of premises, with filters; people may look through them in between.

    Example: storyalign construct premises --recipe recipes/storyrmb.yaml --reviewed reviewed.csv
    """
    settings = _read_recipe(recipe)
    work = _construction(settings, out, limit, cost_limit, executor)
    if reviewed is not None:
        from storyalign.cli.import_steps import encoding_lines
        from storyalign.corpus.encodings import read_whole
        from storyalign.files import write_text

        write_text(out / "premises/reviewed.csv", read_whole(reviewed))
        for line in encoding_lines([reviewed]):
            typer.echo(line)
    _premises(work, recipe, settings)
    typer.echo(f"{out / 'premises/to_review.csv'}: fill in keep (yes, no) and give it back with --reviewed")


def candidates(
    recipe: RecipeFile,
    out: Out = Path("runs/storyrmb"),
    cost_limit: CostLimit = None,
    executor: Executor = "local",
) -> None:
    """Have the stories written: four for each premise, or three against the human one.

    Example: storyalign construct candidates --recipe recipes/storyrmb.yaml --cost-limit 300
    """
    _say(_construction(_read_recipe(recipe), out, None, cost_limit, executor).candidates(), out)


def ratings(
    recipe: RecipeFile,
    out: Out = Path("runs/storyrmb"),
    cost_limit: CostLimit = None,
    executor: Executor = "local",
) -> None:
    """Have every group rated by every judge.

    Example: storyalign construct ratings --recipe recipes/storyrmb.yaml --cost-limit 200
    """
    _say(_construction(_read_recipe(recipe), out, None, cost_limit, executor).ratings(), out)


def agreement(recipe: RecipeFile, out: Out = Path("runs/storyrmb")) -> None:
    """Compute how far the judges agree, and write the tasks for annotators.

    Example: storyalign construct agreement --recipe recipes/storyrmb.yaml
    """
    _say(_construction(_read_recipe(recipe), out, None, None, "local").agreement(), out)
    typer.echo(f"{out / 'tasks.jsonl'}: what annotators are asked")


def dimension(recipe: RecipeFile, out: Out = Path("runs/storyrmb"), verdicts: Verdicts = None) -> None:
    """Settle the rankings with the annotators' verdicts, and name each group's dimension.

    Example: storyalign construct dimension --recipe recipes/storyrmb.yaml --verdicts settled.jsonl
    """
    work = _construction(_read_recipe(recipe), out, None, None, "local")
    _take(work, verdicts)
    _say(work.settle(), out)


def assemble(recipe: RecipeFile, out: Out = Path("runs/storyrmb")) -> None:
    """Write the instances and the construction report.

    Example: storyalign construct assemble --recipe recipes/storyrmb.yaml
    """
    _assemble(_construction(_read_recipe(recipe), out, None, None, "local"), out)


def _read_recipe(path: Path) -> Recipe:
    from storyalign.benchmark.recipe import Recipe
    from storyalign.settings import read_recipe

    return read_recipe(path, Recipe.from_mapping)


def _themes(recipe: Path, settings: Recipe) -> Themes | None:
    from storyalign.benchmark.premises import Themes
    from storyalign.settings import read_recipe

    if settings.premises.endpoint is None:
        return None
    return read_recipe(recipe.parent / settings.premises.themes, Themes.from_mapping)


def _construction(
    settings: Recipe, out: Path, limit: int | None, cost_limit: float | None, executor: str
) -> Construction:
    from storyalign.benchmark.construction import Construction
    from storyalign.cli.construct_runs import Calls, where_to_run

    calls = Calls(out, settings.endpoints, cost_limit, where_to_run(executor, settings.cluster))
    return Construction(out, settings, calls.together, limit)


def _file_lines(recipe: Path, files: tuple[str, ...]) -> Iterator[Line]:
    """Read the recipe's files; a relative path starts at the recipe's folder, or else here."""
    from storyalign.files import read_jsonl

    for name in files:
        beside = recipe.parent / name
        yield from read_jsonl(beside if beside.is_file() else Path(name))


def _checked(lines: Iterable[Line], check: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    from storyalign.records import BadRow

    for line in lines:
        try:
            yield check(line.row)
        except BadRow as error:
            raise line.error(str(error)) from error


def _human_rows(recipe: Path, settings: Recipe) -> Iterator[dict[str, Any]]:
    from storyalign.corpus.human_story import HumanStory

    lines = _file_lines(recipe, settings.human_premises.files)
    return _checked(lines, lambda row: HumanStory.from_row(row).to_row())


def _premises(work: Construction, recipe: Path, settings: Recipe) -> None:
    from storyalign.benchmark.plan import SIZE_NOTE, size_note
    from storyalign.benchmark.premise_pool import own_premise
    from storyalign.files import write_text

    note = work.folder / SIZE_NOTE
    if not note.is_file() or note.read_text("utf-8") != size_note(work.limit):
        write_text(note, size_note(work.limit))
    own = _checked(_file_lines(recipe, settings.premises.files), own_premise)
    _say(work.premises(_themes(recipe, settings), own, lambda: _human_rows(recipe, settings)), work.folder)


def _take(work: Construction, verdicts: list[Path] | None) -> None:
    from storyalign.files import read_jsonl

    for path in verdicts or ():
        taken = work.take_verdicts(read_jsonl(path))
        typer.echo(f"{path}: {taken.known:,} verdicts in the folder now")
        if taken.about_others:
            typer.echo(
                f"{path}: {len(taken.about_others):,} verdicts not taken, given on another premise or other "
                f"stories than their group has now: {', '.join(taken.about_others)}"
            )


def _finish(work: Construction, verdicts: list[Path] | None, out: Path) -> None:
    _take(work, verdicts)
    settled = work.settle()
    _say(settled, out)
    if settled.waiting:
        typer.echo(
            f"{settled.waiting:,} groups wait for annotators: give {out / 'tasks.jsonl'} to `storyalign annotate`,"
            " then run again with --verdicts"
        )
    _assemble(work, out)


def _assemble(work: Construction, out: Path) -> None:
    from storyalign.benchmark.construction_report import construction_report, report_lines
    from storyalign.files import write_json, write_text

    _say(work.assemble(), out)
    report = construction_report(out)
    write_json(out / "report.json", report)
    write_text(out / "report.md", "\n".join(report_lines(report)) + "\n")
    typer.echo(f"{out / 'report.md'}: counts, agreement, dimensions, writers, costs")
    if report["n_instances"]:
        typer.echo(f"next: storyalign build storyrmb --raw {out / 'instances.jsonl'} --out storyrmb")


def _say(kept: Kept, out: Path) -> None:
    waiting = f" | not yet {kept.waiting:,}" if kept.waiting else ""
    typer.echo(f"{out / kept.name}.jsonl: {kept.kept:,} rows | dropped {kept.dropped:,}{waiting}")
    if kept.about_others:
        typer.echo(f"answers of the review not used: {kept.about_others:,} (their premises have other texts now)")


def _print_plan(recipe: Path, settings: Recipe, out: Path, limit: int | None) -> None:
    from storyalign.benchmark.plan import plan
    from storyalign.cli.construct_costs import print_plan

    human = settings.human_premises
    planned = plan(
        out,
        settings,
        _themes(recipe, settings),
        own=_count_rows(recipe, settings.premises.files, None),
        human=_count_rows(recipe, human.files, human.wanted),
        limit=limit,
    )
    print_plan(planned, settings.endpoints)


def _count_rows(recipe: Path, files: tuple[str, ...], wanted: int | None) -> int:
    """Count the rows of the recipe's files; where human stories are missing, as many as are wanted are assumed."""
    missing = [name for name in files if not (recipe.parent / name).is_file() and not Path(name).is_file()]
    if wanted is not None and missing:
        typer.echo(
            f"assumption: {', '.join(missing)} (human_premises.files in {recipe}) is not there yet, so this plan takes "
            f"{wanted:,} human stories (human_premises.wanted) for given; set both in the recipe, and make the file "
            "with storyalign import stories",
            err=True,
        )
        return wanted
    return sum(1 for _ in _file_lines(recipe, files))
