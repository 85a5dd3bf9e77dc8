"""``release.json``: what was released, commit by commit, with what is needed to check that it can be loaded back.

Nothing on the Hub is atomic across repositories; the manifest says which commits belong together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import orjson

from storyalign._version import __version__
from storyalign.errors import DataError
from storyalign.files import write_json
from storyalign.hub.parquet_texts import read_batches
from storyalign.hub.payload import Kind, Payload, front_matter
from storyalign.hub.release.plain_clients import hash_rows
from storyalign.hub.release.publish import Published


@dataclass(frozen=True)
class ReleasedRepository:
    """One repository of a release."""

    kind: Kind
    repo: str
    sha: str
    digest: str
    """Over all paths and contents."""
    files: dict[str, str]
    """Path -> SHA-256."""
    tag: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    """dataset: ``configs`` (configuration -> split -> rows and digest); model: ``reward`` of one story; Space:
    ``requirements``."""


@dataclass(frozen=True)
class Manifest:
    """All repositories of a release."""

    repositories: list[ReleasedRepository]
    kit: str = __version__

    def write(self, path: Path) -> None:
        """Write the manifest in one step."""
        write_json(path, asdict(self))


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        DataError: the file is missing or is no manifest.
    """
    try:
        value = orjson.loads(path.read_bytes())
        return Manifest([ReleasedRepository(**row) for row in value["repositories"]], value["kit"])
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path}: no manifest of a release ({error})") from error


def describe(payload: Payload, published: Published, facts: Mapping[str, Any] | None = None) -> ReleasedRepository:
    """Write down what was published."""
    return ReleasedRepository(
        kind=payload.kind,
        repo=published.repo,
        sha=published.sha,
        digest=payload.digest,
        files=dict(payload.sha256),
        tag=published.tag,
        facts={**payload_facts(payload), **(facts or {})},
    )


def payload_facts(payload: Payload) -> dict[str, Any]:
    """Collect what a check can compare with: rows of datasets, requirements of Spaces."""
    if payload.kind == "space":
        lines = payload.text("requirements.txt").splitlines()
        return {"requirements": [line for line in lines if line and not line.startswith("#")]}
    if payload.kind != "dataset":
        return {}
    configs: dict[str, dict[str, Any]] = {}
    for config in front_matter(payload)["configs"]:
        for split in config["data_files"]:
            patterns = [split["path"]] if isinstance(split["path"], str) else split["path"]
            rows, digest = hash_rows(_rows(payload, patterns))
            configs.setdefault(config["config_name"], {})[split["split"]] = {"rows": rows, "digest": digest}
    return {"configs": configs}


def _rows(payload: Payload, patterns: list[str]) -> Any:
    paths = dict.fromkeys(path for pattern in patterns for path in sorted(payload.files) if fnmatch(path, pattern))
    for path in paths:
        source = payload.files[path]
        assert isinstance(source, Path)
        for batch in read_batches(source):
            yield from batch.to_pylist()
