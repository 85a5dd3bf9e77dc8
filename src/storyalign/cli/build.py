"""``storyalign build``: raw rows in, a folder for ``load_dataset`` and the Hub out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from storyalign.files import RawLine
    from storyalign.hub.build.dataset_folder import BuiltFolder

Raw = Annotated[list[Path], typer.Option("--raw", help="JSONL file of raw rows; may be given several times.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write; an older build there is replaced.")]
Sample = Annotated[
    bool, typer.Option("--sample", help="The rows are the kit's synthetic sample; the card says so first.")
]
People = Annotated[
    Path | None, typer.Option("--people", help="What construct people-agreement --json wrote; the card says it.")
]
OfficialSize = Annotated[
    bool, typer.Option("--official-size", help="Refuse any other size than the paper's 1,133 instances.")
]

_GROUP = """
Check raw rows and write a dataset folder: Parquet and a card.

Examples:

  storyalign build storyrmb --raw instances.jsonl --out storyrmb

  storyalign build story_preferences --raw pairs.jsonl --out story_preferences
"""

app = typer.Typer(help=_GROUP, no_args_is_help=True)


def register(main: typer.Typer) -> None:
    """Add the verb."""
    main.add_typer(app, name="build")


@app.command()
def storyrmb(
    raw: Raw, out: Out = Path("storyrmb"), sample: Sample = False, official_size: OfficialSize = False
) -> None:
    """Build the benchmark.

    Example: storyalign build storyrmb --raw instances.jsonl --out storyrmb

    Every row needs prompt, chosen, rejected (three stories), dimension, source, chosen_writer and rejected_writers. A
    broken row stops the build, is named with file, line and id, and nothing is written.
    """
    from storyalign.hub.build.dataset_folder import build_storyrmb

    _report(build_storyrmb(raw, out, sample=sample, official_size=official_size, track=_bar), "instances")


@app.command("story_preferences")
def story_preferences(
    raw: Raw, out: Out = Path("story_preferences"), sample: Sample = False, people: People = None
) -> None:
    """Build the preference pairs.

    Example: storyalign build story_preferences --raw pairs.jsonl --raw more_pairs.jsonl --out story_preferences

    Every row needs prompt, chosen, rejected and construction; split is train where it is missing. A broken row stops
    the build, is named with file, line and id, and nothing is written.
    """
    from storyalign.hub.build.dataset_folder import build_story_preferences

    _report(build_story_preferences(raw, out, sample=sample, people=people, track=_bar), "pairs")


def _bar(lines: Iterable[RawLine]) -> Iterable[RawLine]:
    from tqdm import tqdm

    bar: Iterable[RawLine] = tqdm(lines, unit=" rows", desc="checking and writing", disable=None)
    return bar


def _report(built: BuiltFolder, unit: str) -> None:
    for (row, column), n in sorted(built.statistics.table.items()):
        typer.echo(f"  {row:<20} {column:<12} {n:>8,}")
    typer.echo(f"{built.path}: {built.statistics.n_rows:,} {unit}, {built.digest}")
    shown = built.path.name if built.path.parent == Path.cwd() else str(built.path)
    typer.echo(f'try: python -c "from datasets import load_dataset; print(load_dataset({shown!r}))"')
