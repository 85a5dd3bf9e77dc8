"""Examples in help texts, each on a line of its own: click would wrap them, even inside the name of an option."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

_KEEP = "\b"
"""At the head of a paragraph it tells click to leave the lines as they are."""

_INLINE = re.compile(r"(Examples?:) (?=storyalign )")


def keep_example_lines(app: typer.Typer) -> None:
    """Mark the examples of an app and of all verbs below it."""
    if isinstance(app.info.help, str):
        app.info.help = with_example_lines(app.info.help)
    for command in app.registered_commands:
        text = command.help or inspect.getdoc(command.callback) if command.callback else command.help
        command.help = with_example_lines(text or "")
    for group in app.registered_groups:
        if group.typer_instance is not None:
            keep_example_lines(group.typer_instance)


def with_example_lines(text: str) -> str:
    r"""Put examples below their heading, one a line, and keep click from wrapping them.

    Examples are paragraphs that begin with ``storyalign`` or are indented.

    >>> with_example_lines("Do it.\n\nExamples: storyalign do\n\nstoryalign do --twice\n\nIt stays done.")
    'Do it.\n\nExamples:\n\n\x08\n  storyalign do\n  storyalign do --twice\n\nIt stays done.'
    """
    paragraphs = _INLINE.sub(r"\1\n\n", inspect.cleandoc(text)).split("\n\n")
    kept: list[str] = []
    for paragraph in paragraphs:
        if not paragraph.startswith(("storyalign ", " ")):
            kept.append(paragraph)
            continue
        line = "  " + " ".join(paragraph.split())
        if kept and kept[-1].startswith(_KEEP):
            kept[-1] += f"\n{line}"
        else:
            kept.append(f"{_KEEP}\n{line}")
    return "\n\n".join(kept)
