"""Where verbs write: never over what they read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from storyalign.errors import RecipeError


def keep_inputs(inputs: Iterable[str | Path | None], *outputs: Path | None) -> None:
    """Refuse an output that is one of the inputs, under whatever name.

    Args:
        inputs: files, folders, or names of something else (Hub ids, ``null:longest``), which cannot be written over.
        outputs: files and folders that the verb will write.

    Raises:
        RecipeError: an output is an input.
    """
    read = {Path(name).resolve() for name in inputs if name is not None and str(name)}
    for out in outputs:
        if out is not None and out.exists() and out.resolve() in read:
            raise RecipeError(f"{out}: is read by this command; write to another place")
