"""The verb ``app``: the Space on one's own machine."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

import storyalign
from storyalign.errors import DataError, MissingExtraError

_HELP = """
Open the web app: rank stories, explore datasets, compare scorers.

What is not named here is taken from the environment (STORYALIGN_MODEL, STORYALIGN_DATASETS, STORYALIGN_RESULTS, ...;
see space/README.md).

Example:

  storyalign app --model runs/demo/model --data storyrmb --results runs/demo
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("app", help=_HELP)(open_app)


def open_app(
    model: Annotated[str | None, typer.Option(help="A reward model: a local folder or a Hub id.")] = None,
    data: Annotated[list[str] | None, typer.Option(help="A set to explore; may be given several times.")] = None,
    results: Annotated[
        list[str] | None, typer.Option(help="A folder or Hub dataset with results; may be given several times.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to serve on; the first free one from 7860 by default.")] = None,
) -> None:
    """Run ``space/app.py`` until Ctrl-C."""
    if find_spec("gradio") is None:
        raise MissingExtraError("space", "gradio")
    script = Path(storyalign.__file__).parent / "space" / "app.py"
    if not script.is_file():
        raise DataError(f"{script}: missing; install the package, or run python space/app.py in a checkout")
    named = {
        "STORYALIGN_MODEL": model,
        "STORYALIGN_DATASETS": ",".join(data or []),
        "STORYALIGN_RESULTS": ",".join(results or []),
        "GRADIO_SERVER_PORT": None if port is None else str(port),
    }
    environment = {**os.environ, **{name: value for name, value in named.items() if value}}
    app = subprocess.Popen([sys.executable, str(script.resolve())], env=environment)
    try:
        code = app.wait()
    except KeyboardInterrupt:  # the terminal sends it to the app too, which closes its server and ends
        try:
            code = app.wait()
        except KeyboardInterrupt:
            app.terminate()
            code = app.wait()
    raise typer.Exit(code)
