"""The ``storyalign`` command: registers the verbs, and turns errors into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

from storyalign._version import __version__
from storyalign.errors import StoryAlignError

app = typer.Typer(
    name="storyalign",
    help="Build, load, score, train on, explore and release story-preference data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

VERBS: tuple[str, ...] = (
    "demo",
    "imports",
    "build",
    "score",
    "evaluate",
    "rank",
    "construct",
    "audit",
    "stats",
    "best_of_n",
    "head_to_head",
    "linguistics",
    "creative_writing",
    "paper",
    "doctor",
    "release",
    "export",
    "annotate",
    "app",
)
"""Modules of this package that hold verbs; each has ``register(app)``."""


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    if version:
        typer.echo(f"storyalign {__version__}")
        raise typer.Exit


for _verb in VERBS:
    importlib.import_module(f"storyalign.cli.{_verb}").register(app)


def run() -> None:
    """Entry point: exit code 0 when done, 2 for an error that the user can mend, 130 after Ctrl-C."""
    try:
        app()
    except StoryAlignError as error:
        if os.environ.get("STORYALIGN_DEBUG"):
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped; what was finished is kept, the same command goes on from there", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    run()
