"""The verb group ``construct``: making data with LLM endpoints, people, and stories that people wrote."""

from __future__ import annotations

import typer

from storyalign.cli.construct_preferences import add_preference_verbs


def register(main: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(help="Make a benchmark or preference pairs.", no_args_is_help=True)
    add_preference_verbs(group)
    main.add_typer(group, name="construct")
