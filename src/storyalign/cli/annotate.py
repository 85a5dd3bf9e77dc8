"""``storyalign annotate``: people judge groups of stories in a local web app, or elsewhere in sheets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from storyalign.errors import DataError, MissingExtraError, RecipeError

if TYPE_CHECKING:
    from storyalign.annotation.annotator_agreement import Figure
    from storyalign.annotation.store import Store

_GROUP = """
People judge stories: blind, shuffled, two independent annotators and a senior for disputes.

Examples:

  storyalign annotate groups.jsonl --store annotations.sqlite --senior "Dr. Lee"

  storyalign annotate status --store annotations.sqlite

  storyalign annotate export --store annotations.sqlite --settled --out settled.jsonl
"""

_OPEN = """
Open the annotation app (this is what `storyalign annotate GROUPS.jsonl` runs).

Rows of GROUPS: id, prompt, candidates (story, writer), and where known ranking and human. Without GROUPS the app goes
on with what the store holds. Several people may work at once; a kill loses nothing that was saved.

Examples:

  storyalign annotate groups.jsonl --store annotations.sqlite --mode rank

  storyalign annotate --store annotations.sqlite --host 0.0.0.0 --annotator Ann --annotator Ben --senior Cleo
"""

_EXPORT = """
Write verdicts, one row for each annotator and group; people stand there by keys.

Examples:

  storyalign annotate export --store annotations.sqlite --out verdicts.jsonl

  storyalign annotate export --store annotations.sqlite --settled --out settled.csv

  storyalign annotate export --store annotations.sqlite --sheet Ann --out ann.csv
"""

_IMPORT = """
Read verdicts that were given elsewhere: a filled-in sheet of one person, or rows of another store.

Examples:

  storyalign annotate import ann.csv --sheet Ann --store annotations.sqlite

  storyalign annotate import verdicts.jsonl --store annotations.sqlite
"""

_STATUS = """
Say how far the work is and how well annotators agree.

Example: storyalign annotate status --store annotations.sqlite
"""


class _OpensByDefault(TyperGroup):
    """Takes ``annotate FILE ...`` for ``annotate open FILE ...``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["open", *args]
        return super().parse_args(ctx, args)


StorePath = Annotated[Path, typer.Option("--store", help="The SQLite file with groups and verdicts.")]
DEFAULT_STORE = Path("annotations.sqlite")


def register(main: typer.Typer) -> None:
    """Add the verbs."""
    app = typer.Typer(cls=_OpensByDefault, help=_GROUP, no_args_is_help=True)
    app.command("open", help=_OPEN)(open_app)
    app.command("status", help=_STATUS)(status)
    app.command("export", help=_EXPORT)(export)
    app.command("import", help=_IMPORT)(import_)
    main.add_typer(app, name="annotate")


def open_app(
    groups: Annotated[Path | None, typer.Argument(metavar="GROUPS", help="JSONL file with groups of stories.")] = None,
    store: StorePath = DEFAULT_STORE,
    mode: Annotated[
        str | None, typer.Option(help="rank, confirm, human-best or best-of-n; by default what each row allows.")
    ] = None,
    annotator: Annotated[
        list[str] | None, typer.Option(help="Who may sign in; may be given several times. By default everybody.")
    ] = None,
    senior: Annotated[list[str] | None, typer.Option(help="Who settles disputes; may be given several times.")] = None,
    per_group: Annotated[int | None, typer.Option(min=1, max=9, help="Annotators that each group needs (2).")] = None,
    check_every: Annotated[
        int | None, typer.Option(min=0, help="Groups after which some come back for a check (50); 0: never.")
    ] = None,
    check_sample: Annotated[int | None, typer.Option(min=1, help="Groups of such a check (5).")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for others in the network.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Port; the first free one from 7860 by default.")] = None,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Only put the groups into the store.")] = False,
) -> None:
    """Fill the store and serve the app until Ctrl-C."""
    opened = _fill(store, groups, mode)
    for name in senior or ():
        opened.sign_in(name, "senior")
    settings = opened.change_settings(needed=per_group, check_every=check_every, check_sample=check_sample)
    check = (
        f"{settings.check_sample} of every {settings.check_every} come back" if settings.check_every else "no checks"
    )
    typer.echo(f"each group needs {settings.needed} annotators; {check}")
    if "senior" not in opened.roles().values() and settings.needed > 1:
        typer.echo("no --senior named: groups that annotators disagree on stay disputed")
    if not no_serve:
        _serve(opened, senior or [], annotator or [], host, port)


def status(
    store: StorePath = DEFAULT_STORE,
    with_names: Annotated[bool, typer.Option("--with-names", help="Show names beside keys.")] = False,
) -> None:
    """Print progress and agreement."""
    from storyalign.annotation.dashboard_html import figure_text, seconds_text
    from storyalign.annotation.progress import progress_of
    from storyalign.annotation.store import Store
    from storyalign.cli.terminal import new_table, open_console, say

    opened = Store(store)
    progress, names = progress_of(opened), opened.names() if with_names else {}
    out = open_console()
    states = ", ".join(f"{n:,} {name}" for name, n in progress.states.items())
    say(out, f"{progress.groups:,} groups: {states}", "bold")
    if progress.results:
        results = ", ".join(f"{n:,} {word}" for word, n in progress.results.items())
        say(out, f"settled: {results}; {progress.by_senior:,} by a senior")
    if progress.shares:
        table = new_table("annotator", "role", "groups", "median time", "undecided", "contradictory", "checks")
        for share in progress.shares:
            name = f"{share.key} ({names[share.key]})" if share.key in names else share.key
            counts = (share.unsure, share.contradictory, share.checks)
            time = f"{seconds_text(share.median_seconds)} (n={share.timed})"
            table.add_row(name, share.role, f"{share.judged:,}", time, *map(str, counts))
        out.print(table)
    figures: list[Figure] = [*progress.agreement, *progress.consistency]
    if not figures:
        say(out, "agreement: no group has two verdicts yet")
        return
    table = new_table("agreement", "value", "95% interval", "groups")
    for figure in figures:
        table.add_row(figure.name, *figure_text(figure), f"{figure.n:,}")
    out.print(table)


def export(
    out: Annotated[Path, typer.Option("--out", help="File to write; .jsonl or .csv.")],
    store: StorePath = DEFAULT_STORE,
    settled: Annotated[
        bool, typer.Option("--settled", help="One row for each group that is settled, in place of single verdicts.")
    ] = False,
    sheet: Annotated[
        str | None, typer.Option(help="Hand groups out to this person and write them as a sheet to fill in.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Groups on a sheet.")] = 50,
    with_names: Annotated[bool, typer.Option("--with-names", help="Add the annotators' names.")] = False,
) -> None:
    """Write verdicts, settled groups or a sheet."""
    from storyalign.annotation.exchange import sheet_rows, write_rows
    from storyalign.annotation.progress import settled_groups
    from storyalign.annotation.store import Store

    if settled and sheet:
        raise RecipeError("--settled and --sheet write different files; choose one")
    opened = Store(store)
    if sheet:
        annotator = opened.sign_in(sheet)
        rows: list[dict[str, Any]] = sheet_rows(opened.claim_all(annotator, most))
        write_rows(out, rows)
        typer.echo(f"{out}: {len(rows):,} groups for {sheet}; read it back with: storyalign annotate import {out} "
                   f"--sheet {sheet!r} --store {store}")  # fmt: skip
        return
    verdicts, names = opened.verdicts(), opened.names()
    if settled:
        tasks = opened.tasks()
        done = settled_groups(tasks, verdicts, opened.settings().needed)
        rows = [group.to_row() for group in done]
        if with_names:
            rows = [{**row, "names": [names.get(key) for key in row["annotators"]]} for row in rows]
        said = f"{len(rows):,} of {len(tasks):,} groups are settled"
    else:
        rows = [verdict.to_row() for verdict in verdicts]
        if with_names:
            rows = [{**row, "name": names.get(row["annotator"])} for row in rows]
        said = f"{len(rows):,} verdicts"
    write_rows(out, rows)
    typer.echo(f"{out}: {said}")


def import_(
    file: Annotated[Path, typer.Argument(help="JSONL or CSV file with verdicts, or a sheet.")],
    store: StorePath = DEFAULT_STORE,
    sheet: Annotated[str | None, typer.Option(help="The person whose sheet it is.")] = None,
    senior: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Key of another store's senior, whose verdicts settle disputes here too."),
    ] = None,
) -> None:
    """Read verdicts into the store."""
    from storyalign.annotation.exchange import import_rows, read_rows
    from storyalign.annotation.store import Store
    from storyalign.cli.import_steps import encoding_lines

    opened = Store(store)
    for one in senior or ():
        opened.name_senior(one)
    key = opened.sign_in(sheet).key if sheet else None
    done = import_rows(opened, read_rows(file), key)
    typer.echo(f"{file}: {done.stored:,} verdicts stored, {done.known:,} were there already, {done.blank:,} rows blank")
    for line in encoding_lines([file]):
        typer.echo(line)


def _fill(path: Path, groups: Path | None, mode: str | None) -> Store:
    from storyalign.annotation.store import Store
    from storyalign.annotation.tasks import MODES, Task
    from storyalign.files import read_jsonl
    from storyalign.records import BadRow

    asked = next((known for known in MODES if known == mode), None)
    if mode is not None and asked is None:
        raise RecipeError(f"--mode {mode}: unknown; choose {', '.join(MODES)}")
    tasks: list[Task] = []
    for line in read_jsonl(groups) if groups else ():
        try:
            tasks.append(Task.from_row(line.row, asked))
        except BadRow as error:
            raise line.error(str(error)) from error
    if groups and not tasks:
        raise DataError(f"{groups}: no groups in it")
    store = Store(path, create=groups is not None)
    if groups:
        new, known = store.add_tasks(tasks)
        typer.echo(f"{path}: {new:,} groups added, {known:,} were there already")
    return store


def _serve(store: Store, seniors: list[str], allowed: list[str], host: str, port: int | None) -> None:
    from importlib.util import find_spec

    if find_spec("gradio") is None:
        raise MissingExtraError("space", "gradio")
    import asyncio

    from storyalign.annotation.app import AnnotationApp, launch

    async def start() -> Any:
        # A coroutine, because gradio opens (and never closes) an event loop for each lock that it makes outside of one.
        app = AnnotationApp(store, seniors, allowed).build()
        launch(app, server_name=host, server_port=port, quiet=True)
        typer.echo(f"Open {app.local_url} in a browser. Ctrl-C ends the app; what was saved stays.")
        return app

    asyncio.run(start()).block_thread()
