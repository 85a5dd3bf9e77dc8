"""Make the Space and the metric ready for release: both are Spaces, and upload as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from storyalign.errors import DataError
from storyalign.hub.hub_errors import hub_errors
from storyalign.hub.payload import Payload, collect
from storyalign.hub.release.package_wheel import package_wheel, wheel_name


def prepare_space(folder: Path, repo: str) -> Payload:
    """Collect a Space's folder, name it in its card, add the package as a wheel, and pin its requirements.

    Raises:
        DataError: a file is missing, or a requirement is not installed here.
    """
    payload = collect(folder, "space")
    if "requirements.txt" not in payload.files:
        raise DataError(f"{folder}: no requirements.txt; a Space installs what stands there")
    pinned = pin(payload.text("requirements.txt"))
    card = payload.text("README.md").replace("ORG/NAME", repo)
    return payload.with_files(
        {"README.md": card.encode(), wheel_name(): package_wheel(), "requirements.txt": pinned.encode()}
    )


def prepare_metric(folder: Path, repo: str) -> Payload:
    """Collect a metric's folder and name it in its card and examples; ``evaluate`` finds its script by this name.

    Raises:
        DataError: there is no script of that name.
    """
    payload = collect(folder, "metric")
    script = f"{repo.rpartition('/')[2]}.py"
    if script not in payload.files:
        raise DataError(
            f"{folder}: evaluate.load({repo!r}) looks for {script}, which is not there; release it as ORG/{folder.name}"
        )
    here, there = f'evaluate.load("evaluate_metric/{Path(script).stem}"', f'evaluate.load("{repo}"'
    named = {path: payload.text(path).replace(here, there).encode() for path in ("README.md", script)}
    return payload.with_files(named)


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


def set_space_variables(repo: str, wanted: Mapping[str, str]) -> bool:
    """Set variables that have another value; a Space restarts only if one was set.

    Args:
        repo: ``ORG/NAME`` of the Space.
        wanted: name -> value.

    Returns:
        Whether anything was set.

    Raises:
        HubError: the Hub refused.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with hub_errors(repo):
        there = {name: variable.value for name, variable in api.get_space_variables(repo).items()}
        changed = {name: value for name, value in wanted.items() if there.get(name) != value}
        for name, value in changed.items():
            api.add_space_variable(repo, name, value)
    return bool(changed)
