"""Requirements with the versions that are installed here, so that a Space runs what was tested."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

from storyalign.errors import DataError

PACKAGE = "storyalign"
"""Comes as a wheel beside the requirements; what it requires stands in its place."""

UNPINNED = {"gradio"}
"""A Space's ``sdk_version`` decides."""


def pin(requirements: str) -> str:
    """Pin each requirement to the installed version, and put what the package requires in the package's place.

    Args:
        requirements: the text of a requirements file; comments and options stay.

    Raises:
        DataError: a line is no requirement, or is not installed here, so that nobody tested it.
    """
    lines = dict.fromkeys(pinned for line in requirements.splitlines() for pinned in _pin_line(line))
    return "".join(f"{line}\n" for line in lines)


def _pin_line(line: str) -> Iterator[str]:
    text = line.strip()
    if not text or text.startswith(("#", "-")):
        yield text
        return
    try:
        wanted = Requirement(text)
    except InvalidRequirement as error:
        raise DataError(f"requirements.txt: {text!r} is no requirement ({error})") from error
    if wanted.name.lower() == PACKAGE:
        for needed in _requirements_of_package(wanted.extras):
            yield from _pin_line(needed)
    elif wanted.name.lower() in UNPINNED:
        yield text
    else:
        yield _pinned(wanted)


def _requirements_of_package(extras: set[str]) -> Iterator[str]:
    for line in metadata.requires(PACKAGE) or ():
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            needed.marker = None
            yield str(needed)


def _pinned(wanted: Requirement) -> str:
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError as error:
        raise DataError(
            f"requirements.txt: {wanted.name} is not installed here; install it and try the Space"
        ) from error
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    public = version.partition("+")[0]  # 2.13.0+cpu is a build of 2.13.0
    return f"{wanted.name}{extras}=={public}"
