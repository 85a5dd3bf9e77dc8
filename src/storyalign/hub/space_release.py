"""Make the Space and the metric ready for release: both are Spaces, and upload as they are."""

from __future__ import annotations

from pathlib import Path

from storyalign.errors import DataError
from storyalign.hub.package_wheel import package_wheel, wheel_name
from storyalign.hub.payload import Payload, collect
from storyalign.hub.pinned_requirements import pin


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
