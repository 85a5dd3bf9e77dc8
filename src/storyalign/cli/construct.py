"""The verb ``construct``: benchmarks and preference pairs made with LLM endpoints."""

from __future__ import annotations

import importlib

import typer

COMMANDS: tuple[str, ...] = ("construct_storyrmb", "construct_preferences")
"""Modules of this package that hold commands of the verb; each has ``register(app)``."""

_GROUP = """
Build a benchmark or preference pairs with LLM endpoints and annotators.

`storyrmb` and `preferences` run all their steps; each step is a command too.

Examples:

  storyalign construct storyrmb --recipe recipes/storyrmb.yaml --dry-run

  storyalign construct preferences --recipe recipes/preferences.yaml --out runs/preferences --limit 5
"""

app = typer.Typer(help=_GROUP, no_args_is_help=True)


def register(main: typer.Typer) -> None:
    """Add the verb with all its commands."""
    for command in COMMANDS:
        importlib.import_module(f"storyalign.cli.{command}").register(app)
    main.add_typer(app, name="construct")
