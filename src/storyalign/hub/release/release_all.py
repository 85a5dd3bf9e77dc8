"""Everything at once: datasets, metric, model and Space of one organisation, and a manifest of the commits.

All folders are checked, and the release's tag in all repositories, before the first is published. The manifest is
written after every repository, so that a release that was cut off says how far it came; the same command goes on from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from storyalign.errors import DataError
from storyalign.hub.payload import Kind, Payload, collect
from storyalign.hub.release.manifest import Manifest, ReleasedRepository, describe
from storyalign.hub.release.model_release import post_results
from storyalign.hub.release.publish import Published
from storyalign.hub.release.release_one import Preview, check, prepare, preview, release, require_token
from storyalign.hub.release.release_options import Named, ReleaseOptions
from storyalign.hub.release.space_release import set_space_variables
from storyalign.hub.release.verify import reward_of
from storyalign.hub.released_rows import SAMPLE_NAMES, dataset_of, is_sample

UNKNOWN_COMMIT = "0" * 40
"""Stands for a commit that is still to be made."""


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
class Part:
    """One repository, checked and ready."""

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
    parts = prepare_all(folders, org, work, options)
    require_token(org)
    list(preview_all(parts, folders, tag, preview))
    done: dict[str, ReleasedRepository] = {}
    for name, part in parts.items():
        payload = part.payload
        if name == "model" and (measured := done.get("storyrmb")):
            payload = _with_results(payload, folders, parts["storyrmb"].payload, (measured.repo, measured.sha))
        published = release(payload, part.repo, private=private, tag=tag)
        done[name] = describe(payload, published, part.facts)
        if name == "space" and "model" in done:
            set_space_variables(
                part.repo, {"STORYALIGN_MODEL": done["model"].repo, "STORYALIGN_REVISION": done["model"].sha}
            )
        Manifest(list(done.values())).write(out)
        options.say(_told(published))
    return Manifest(list(done.values()))


def preview_all(
    parts: Mapping[str, Part], folders: Folders, tag: str | None, look: Callable[[Payload, str, str | None], Preview]
) -> Iterator[Preview]:
    """Yield what the release of each part would change; without a token, and without sending anything.

    Args:
        parts: what ``prepare_all`` returned.
        folders: where the parts came from.
        tag: name of the release in every repository.
        look: ``preview``, or ``dry_run``, which goes on without the Hub.

    Raises:
        HubError: the tag marks other files in one of the repositories, or ``look`` could not reach the Hub.
    """
    benchmark: Preview | None = None
    for name, part in parts.items():
        payload = part.payload
        if name == "model" and benchmark is not None:
            # Results name the benchmark's commit, and that is known only where nothing of it changes.
            sha = benchmark.head if benchmark.head and not benchmark.changes else UNKNOWN_COMMIT
            payload = _with_results(payload, folders, benchmark.payload, (benchmark.repo, sha))
        seen = look(payload, part.repo, tag)
        if name == "storyrmb":
            benchmark = seen
        yield seen


def repository_names(folders: Folders) -> Mapping[str, str]:
    """Name the repositories; the sample's have their own names, and so has a model beside the sample."""
    sample = folders.storyrmb is not None and is_sample(collect(folders.storyrmb, "dataset"))
    names = {"metric": "storyrmb_accuracy", "model": "storyreward-sample" if sample else "storyreward"}
    for name in ("storyrmb", "story_preferences"):
        folder = getattr(folders, name)
        if folder is not None:
            names[name] = SAMPLE_NAMES[name] if is_sample(collect(folder, "dataset")) else name
    return {**names, "space": "storyalign"}


def prepare_all(folders: Folders, org: str, work: Path, options: ReleaseOptions) -> dict[str, Part]:
    """Check all parts and make them ready for their repositories; nothing is sent.

    Args:
        folders: the parts.
        org: user name or organisation.
        work: an empty folder for what is written on the way; it must live as long as the parts are used.
        options: the releaser's decisions.

    Raises:
        DataError: a part may not be released.
    """
    names: Mapping[str, str] = repository_names(folders)
    parts: dict[str, Part] = {}
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
        payload = prepare(kind, folder, repo, place, _options_of(name, folders, f"{org}/", names, options))
        if kind == "dataset" and dataset_of(payload) != name:
            raise DataError(f"{folder}: holds no {name}; name the right folder")
        facts = {"reward": reward_of(str(folder.resolve()))} if kind == "model" else {}
        parts[name] = Part(kind, repo, payload, facts)
    if not parts:
        raise DataError("nothing to release; name a folder, or run `make demo` first")
    return parts


def _options_of(
    part: str, folders: Folders, org: str, names: Mapping[str, str], options: ReleaseOptions
) -> ReleaseOptions:
    """Describe the parts by each other: tokens by the model's tokenizer, leakage of the pairs into the benchmark."""
    tokenizer, against = options.tokenizer, options.against
    if tokenizer is None and folders.model is not None:
        tokenizer = Named(str(folders.model), org + names["model"])
    if not against and part == "story_preferences" and folders.storyrmb is not None:
        if find_spec("rensa"):
            against = (Named(str(folders.storyrmb), org + names["storyrmb"]),)
        else:
            options.say(f"left out: the leakage report of {part}; for it run pip install 'storyalign[construct]'")
    return replace(options, tokenizer=tokenizer, against=against, results=None, benchmark=None)


def _with_results(payload: Payload, folders: Folders, benchmark: Payload, measured: tuple[str, str]) -> Payload:
    if folders.results is None:
        return payload
    posted = post_results(payload, folders.results, measured, benchmark)
    check(posted)
    return posted


def _told(published: Published) -> str:
    state = f"{len(published.changed)} files changed" if published.changed else "unchanged"
    return f"{published.repo} at {published.sha[:12]}: {state}"
