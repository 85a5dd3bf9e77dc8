"""What the stand-in keeps: repositories, their commits and refs in memory, contents as files named by their SHA-256."""

from __future__ import annotations

import base64
import hashlib
import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GIT_ATTRIBUTES = "\n".join(
    f"*.{ending} filter=lfs diff=lfs merge=lfs -text"
    for ending in ("bin", "gguf", "gz", "parquet", "png", "safetensors", "tar", "whl", "zip")
).encode()
LFS_ABOVE = 10 * 1024 * 1024


class RefusedError(Exception):
    """An answer other than 2xx: status, the Hub's error code, and a message."""

    def __init__(self, status: int, message: str, code: str | None = None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(frozen=True)
class Entry:
    """One file of one commit."""

    sha256: str
    git_oid: str
    size: int
    lfs: bool

    def listing(self, path: str) -> dict[str, Any]:
        row: dict[str, Any] = {"type": "file", "path": path, "oid": self.git_oid, "size": self.size}
        if self.lfs:
            row["lfs"] = {"oid": self.sha256, "size": self.size, "pointerSize": 127}
        return row


@dataclass(frozen=True)
class Commit:
    sha: str
    parent: str | None
    title: str
    files: dict[str, Entry]
    description: str


class Blobs:
    """Contents by SHA-256, on disk."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        return self.root / sha256

    def put(self, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self.path(sha256).write_bytes(data)
        return sha256

    def regular(self, data: bytes) -> Entry:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        return Entry(self.put(data), oid, len(data), lfs=False)

    def large(self, sha256: str) -> Entry:
        if not self.path(sha256).exists():
            raise RefusedError(400, f"LFS pointer to {sha256}, which was never uploaded")
        size = self.path(sha256).stat().st_size
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
        return Entry(sha256, hashlib.sha1(b"blob %d\0" % len(pointer) + pointer).hexdigest(), size, lfs=True)


@dataclass
class Repo:
    kind: str
    name: str
    private: bool
    blobs: Blobs
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pull_requests: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    _serial: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.branches["main"] = self._add(
            None, "initial commit", {".gitattributes": self.blobs.regular(GIT_ATTRIBUTES)}
        )

    def _add(self, parent: str | None, title: str, files: dict[str, Entry], description: str = "") -> str:
        sha = hashlib.sha1(f"{self.kind} {self.name} {parent} {next(self._serial)} {title}".encode()).hexdigest()
        self.commits[sha] = Commit(sha, parent, title, files, description)
        return sha

    def resolve(self, revision: str) -> Commit:
        """Find a commit by branch, tag, pull request or (at least 7 digits of) its SHA."""
        named = {**self.pull_requests, **self.tags, **self.branches}
        sha = named.get(revision) or next(
            (s for s in self.commits if len(revision) > 6 and s.startswith(revision)), None
        )
        if sha is None:
            raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[sha]

    def history(self, revision: str) -> list[Commit]:
        found, sha = [], self.resolve(revision).sha
        while sha:
            found.append(self.commits[sha])
            sha = self.commits[sha].parent or ""
        return found

    def upload_mode(self, path: str, size: int) -> str:
        return "lfs" if size > LFS_ABOVE or f"*.{path.rpartition('.')[2]} ".encode() in GIT_ATTRIBUTES else "regular"

    def commit(self, branch: str, lines: list[dict[str, Any]], create_pr: bool) -> tuple[Commit, str | None]:
        """Apply the operations of one commit request to a branch, or to a new pull request."""
        header = lines[0]["value"]
        head = self.resolve(branch)
        parent = header.get("parentCommit")
        if parent and create_pr:
            head = self.resolve(parent)
        elif parent and not head.sha.startswith(parent):
            raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
        if not create_pr and branch not in self.branches and branch not in self.pull_requests:
            raise RefusedError(404, f"{branch} is no branch", "RevisionNotFound")
        files = dict(head.files)
        for line in lines[1:]:
            self._apply(files, line["key"], line["value"])
        sha = self._add(head.sha, header["summary"], files, header.get("description") or "")
        if create_pr:
            name = f"refs/pr/{len(self.pull_requests) + 1}"
            self.pull_requests[name] = sha
            return self.commits[sha], name
        (self.branches if branch in self.branches else self.pull_requests)[branch] = sha
        return self.commits[sha], None

    def _apply(self, files: dict[str, Entry], key: str, value: dict[str, Any]) -> None:
        path = value["path"]
        if key == "file":
            files[path] = self.blobs.regular(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            files[path] = self.blobs.large(value["oid"])
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise RefusedError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        elif key == "deletedFolder":
            inside = [p for p in files if p.startswith(path.rstrip("/") + "/")]
            if not inside:
                raise RefusedError(404, f"A folder with this name doesn't exist: {path}", "EntryNotFound")
            for p in inside:
                del files[p]
        else:
            raise RefusedError(400, f"unknown operation {key}")
