"""Everything at once: datasets, metric, model and Space of one organisation, and a manifest of the commits.

All folders are checked before the first is published. The manifest is written after every repository, so that a
release that was cut off says how far it came; the same command goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from storyalign.errors import DataError
from storyalign.hub.dataset_release import SAMPLE_NAMES
from storyalign.hub.manifest import Manifest, ReleasedRepository, describe
from storyalign.hub.payload import Kind, Payload, collect
from storyalign.hub.posted_results import with_results
from storyalign.hub.publish import Published
from storyalign.hub.release import check, prepare, release, require_token
from storyalign.hub.release_options import ReleaseOptions
from storyalign.hub.released_rows import dataset_of, is_sample
from storyalign.hub.space_variables import set_space_variables
from storyalign.hub.verify import reward_of


@dataclass(frozen=True)
class Folders:
    """What is released; None leaves a part out."""

    storyrmb: Path | None
    story_preferences: Path | None
    metric: Path | None
    model: Path | None
    space: Path | None
    results: Path | None = None
    """``results.json`` of an evaluation of the model on this StoryRMB."""


@dataclass(frozen=True)
class _Part:
    name: str
    kind: Kind
    repo: str
    payload: Payload
    facts: dict[str, Any]


def release_all(
    folders: Folders, org: str, work: Path, out: Path, *, private: bool, tag: str | None, options: ReleaseOptions
) -> Manifest:
    """Release all parts of an organisation.

    Args:
        folders: the parts.
        org: user name or organisation.
        work: an empty folder for what is written on the way.
        out: the manifest to write.
        private: make new repositories private.
        tag: name of the release in every repository.
        options: the releaser's decisions.

    Raises:
        DataError: a part may not be released; nothing was published then.
        HubError: the Hub refused; the manifest says what was published before.
    """
    parts = {part.name: part for part in _prepare(folders, org, work, options)}
    if not parts:
        raise DataError("nothing to release; name a folder, or run `make demo` first")
    require_token(org)
    done: dict[str, ReleasedRepository] = {}
    for name, part in parts.items():
        payload = part.payload
        if name == "model":
            payload = _with_results(payload, folders, parts.get("storyrmb"), done.get("storyrmb"))
        published = release(payload, part.repo, private=private, tag=tag)
        done[name] = describe(payload, published, part.facts)
        if name == "space" and "model" in done:
            set_space_variables(
                part.repo, {"STORYALIGN_MODEL": done["model"].repo, "STORYALIGN_REVISION": done["model"].sha}
            )
        Manifest(list(done.values())).write(out)
        options.say(_told(published))
    return Manifest(list(done.values()))


def repository_names(folders: Folders) -> Mapping[str, str]:
    """Name the repositories; the sample's have their own names, and so has a model beside the sample."""
    sample = folders.storyrmb is not None and is_sample(collect(folders.storyrmb, "dataset"))
    names = {"metric": "storyrmb_accuracy", "model": "storyreward-sample" if sample else "storyreward"}
    for name in ("storyrmb", "story_preferences"):
        folder = getattr(folders, name)
        if folder is not None:
            names[name] = SAMPLE_NAMES[name] if is_sample(collect(folder, "dataset")) else name
    return {**names, "space": "storyalign"}


def _prepare(folders: Folders, org: str, work: Path, options: ReleaseOptions) -> list[_Part]:
    names, parts = repository_names(folders), []
    kinds: dict[str, Kind] = {
        "storyrmb": "dataset",
        "story_preferences": "dataset",
        "metric": "metric",
        "model": "model",
        "space": "space",
    }
    for name, kind in kinds.items():
        folder = getattr(folders, name)
        if folder is None:
            continue
        repo, place = f"{org}/{names[name]}", work / name
        place.mkdir()
        payload = prepare(kind, folder, repo, place, replace(options, results=None, benchmark=None))
        if kind == "dataset" and dataset_of(payload) != name:
            raise DataError(f"{folder}: holds no {name}; name the right folder")
        facts = {"reward": reward_of(str(folder.resolve()))} if kind == "model" else {}
        parts.append(_Part(name, kind, repo, payload, facts))
    return parts


def _with_results(
    payload: Payload, folders: Folders, benchmark: _Part | None, released: ReleasedRepository | None
) -> Payload:
    if folders.results is None or benchmark is None or released is None:
        return payload
    posted = with_results(payload, folders.results, (released.repo, released.sha), benchmark.payload)
    check(posted)
    return posted


def _told(published: Published) -> str:
    state = f"{len(published.changed)} files changed" if published.changed else "unchanged"
    return f"{published.repo} at {published.sha[:12]}: {state}"
