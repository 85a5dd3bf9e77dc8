"""The ``storyalign`` command: registers the verbs, and turns errors into one line and an exit code."""

from __future__ import annotations

import atexit
import importlib
import io
import os
import sys
import traceback
from contextlib import suppress
from typing import Annotated

import typer

from storyalign._version import __version__
from storyalign.cli.example_lines import keep_example_lines
from storyalign.errors import StoryAlignError

_HELP = """
Datasets, metric, reward models and releases for story preferences.

Examples:

  storyalign demo

  storyalign evaluate runs/demo/model ./storyrmb --html report.html

  storyalign rank --model runs/demo/model --premise "A keeper finds a letter." one.txt two.txt

`storyalign VERB --help` explains a verb, with examples.
"""

app = typer.Typer(
    name="storyalign",
    help=_HELP,
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
keep_example_lines(app)


def run() -> None:
    """End the process with 0 when done, 2 for an error that the user can mend, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode still gets its table
    code = status()
    # Arrow's threads may still hold a file that Python opened; one that asks for the interpreter while it is torn down
    # aborts the process (apache/arrow#45214, #50482). So the process ends without that step.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads any more, as after `| head`
            stream.flush()
    os._exit(code)


def status() -> int:
    """Run the command line and return its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except StoryAlignError as error:
        if os.environ.get("STORYALIGN_DEBUG"):
            traceback.print_exc()
        print(f"error: {_one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # the machine refuses: no space, no right, a name too long
        if os.environ.get("STORYALIGN_DEBUG"):
            traceback.print_exc()
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"error: {_one_line(what)}", file=sys.stderr)
        return StoryAlignError.exit_code
    except KeyboardInterrupt:
        print("stopped; what was finished is kept, the same command goes on from there", file=sys.stderr)
        return 130
    except Exception:  # a defect of the kit: Python's own report
        traceback.print_exc()
        return 1
    return 0


def _one_line(message: str) -> str:
    """Keep ids and texts of a file from breaking the line or steering the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)


if __name__ == "__main__":
    run()
