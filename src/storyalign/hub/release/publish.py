"""The only writer to the Hub: one atomic commit per repository, and a tag.

A release starts from the commit that it finds. If somebody else commits meanwhile, the Hub refuses ours (412), and we
look again: files that only the other touched stay as they are; a file that both changed is nobody's to overwrite and
ends the release. What is there already is not sent again, so a second identical release makes no commit, and a release
that was cut off goes on with the files that are missing.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from storyalign.errors import HubError
from storyalign.hub.hub_errors import hub_errors, is_connection_error
from storyalign.hub.payload import REPO_TYPES, Payload

TRIES = 5
"""How often one commit is tried before the release gives up."""

FIRST_PAUSE = 0.25
"""Seconds before the second try; doubled each time, and stretched by up to a half so that two releases part."""

STALE = {
    "dataset": (
        "data/*.parquet",
        "multiple_choice/*.parquet",
        "withheld/*",
        "leakage.json",
        "tokens.json",
        "people_agreement.json",
    ),
    "model": ("*.safetensors", "*.safetensors.index.json"),
    "space": ("storyalign-*.whl",),
    "metric": (),
}
"""Files of an older release that would be loaded beside the new ones, or speak of them, and are removed by it."""


class RemoteFile(NamedTuple):
    """One file on the Hub: its git blob id, and the SHA-256 of its content where it is stored as a large file."""

    git_oid: str
    sha256: str | None


@dataclass(frozen=True)
class Published:
    """What a release left in one repository."""

    repo: str
    sha: str
    """The commit that holds the release: a new one, or the one that held the same files already."""
    changed: tuple[str, ...]
    """Paths that were added, replaced or removed; empty where nothing changed."""
    pull_request: str | None = None
    tag: str | None = None


@dataclass(frozen=True)
class Changes:
    """What a commit would do."""

    add: tuple[str, ...]
    delete: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.add or self.delete)

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that change."""
        return (*self.add, *self.delete)


def publish(
    payload: Payload,
    repo: str,
    *,
    private: bool = False,
    pull_request: bool = False,
    tag: str | None = None,
    message: str,
    space_sdk: str = "gradio",
    sleep: Callable[[float], None] = time.sleep,
) -> Published:
    """Bring a repository to the state of a payload.

    Args:
        payload: the files; already checked.
        repo: ``ORG/NAME``.
        private: make a new repository private; an existing public one is refused.
        pull_request: propose the change instead of committing it.
        tag: name of the release; an existing tag must already point to these very files.
        message: title of the commit.
        space_sdk: for Spaces.
        sleep: waits between tries.

    Raises:
        HubError: the Hub refused, could not be reached, or somebody else changed the same files meanwhile.
    """
    from huggingface_hub import HfApi

    if pull_request and tag:
        raise HubError(f"{repo}: a pull request has no release to tag yet; leave out --tag, and tag after merging")
    api, kind = HfApi(), REPO_TYPES[payload.kind]
    with hub_errors(repo):
        sdk = space_sdk if kind == "space" else None
        api.create_repo(repo, repo_type=kind, private=private, exist_ok=True, space_sdk=sdk)
        info = api.repo_info(repo, repo_type=kind)
        if private and not info.private:
            raise HubError(
                f"{repo}: exists and is public; make it private on its settings page, or leave out --private"
            )
        first = head = str(info.sha)
        if tag is not None and (tagged := released_as(api, payload, repo, tag)):
            return Published(repo, tagged, (), tag=tag)
        base = now = remote_files(api, repo, kind, head)
        mark, tried = f"Release run {uuid4().hex}", Changes((), ())
        for attempt in range(1, TRIES + 1):
            changes = plan(payload, now, base)
            if not changes:
                # After a failed try: either the answer was lost, or somebody else made the very same release.
                own = bool(tried) and _is_own(api, repo, kind, head, mark)
                return _tagged(api, Published(repo, head, tried.paths if own else ()), kind, tag)
            tried = changes
            try:
                done = api.create_commit(
                    repo,
                    _operations(payload, changes),
                    commit_message=message,
                    commit_description=mark,
                    repo_type=kind,
                    create_pr=pull_request,
                    parent_commit=head,
                )
            except Exception as error:
                if attempt == TRIES or not _may_try_again(error):
                    raise _given_up(error, repo, attempt) from error
                sleep(FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(1, 1.5))
                head = str(api.repo_info(repo, repo_type=kind).sha)
                now = remote_files(api, repo, kind, head)
                if head != first:
                    _refuse_clash(payload, repo, base, now)
                continue
            # The client sends nothing, and names the newest commit, where another release was faster with these files.
            own = _is_own(api, repo, kind, str(done.oid), mark)
            published = Published(repo, str(done.oid), changes.paths if own else (), pull_request=done.pr_url)
            return _tagged(api, published, kind, tag)
    raise AssertionError("the loop returns or raises")


def plan(payload: Payload, now: Mapping[str, RemoteFile], base: Mapping[str, RemoteFile] | None = None) -> Changes:
    """Compare a payload with what a repository holds.

    Args:
        payload: what should be there.
        now: what is there.
        base: what was there when the release began; only such files can be stale. Default: ``now``.
    """
    add = tuple(path for path in payload.files if not _same(payload, path, now.get(path)))
    stale = tuple(
        path
        for path, file in now.items()
        if path not in payload.files
        and (base is None or base.get(path) == file)
        and any(fnmatch(path, pattern) for pattern in STALE[payload.kind])
    )
    return Changes(add, stale)


def remote_files(api: Any, repo: str, repo_type: str, revision: str) -> dict[str, RemoteFile]:
    """List the files of a repository at a revision."""
    from huggingface_hub import RepoFile

    tree = api.list_repo_tree(repo, repo_type=repo_type, revision=revision, recursive=True)
    return {
        item.path: RemoteFile(item.blob_id, item.lfs.sha256 if item.lfs else None)
        for item in tree
        if isinstance(item, RepoFile)
    }


def _same(payload: Payload, path: str, remote: RemoteFile | None) -> bool:
    if remote is None:
        return False
    if remote.sha256 is not None:
        return payload.sha256[path] == remote.sha256
    data = payload.read(path)
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == remote.git_oid


def _is_own(api: Any, repo: str, repo_type: str, sha: str, mark: str) -> bool:
    """Return whether a commit was made by this very run."""
    return mark in api.list_repo_commits(repo, repo_type=repo_type, revision=sha)[0].message


def _refuse_clash(payload: Payload, repo: str, base: Mapping[str, RemoteFile], now: Mapping[str, RemoteFile]) -> None:
    theirs = {path for path in {*base, *now} if base.get(path) != now.get(path)}
    clash = sorted(path for path in theirs & set(payload.files) if not _same(payload, path, now.get(path)))
    if clash:
        raise HubError(
            f"{repo}: somebody else released {', '.join(clash[:5])} at the same time; nothing of theirs was replaced: "
            "look at their commit, then run the same command again to release on top of it"
        )


def _operations(payload: Payload, changes: Changes) -> list[Any]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    add = [
        CommitOperationAdd(path, str(source) if isinstance(source, Path) else source)
        for path, source in payload.files.items()
        if path in changes.add
    ]
    return [*add, *(CommitOperationDelete(path) for path in changes.delete)]


def _may_try_again(error: BaseException) -> bool:
    """A conflict, a server's moment of weakness, or a cut line; after each the files already sent are still there."""
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        return error.response.status_code in (412, 429, 500, 502, 503, 504)
    return is_connection_error(error) or (error.__cause__ is not None and _may_try_again(error.__cause__))


def _given_up(error: Exception, repo: str, attempts: int) -> Exception:
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError) and error.response.status_code == 412:
        return HubError(
            f"{repo}: refused as outdated (412) in {attempts} tries; somebody keeps committing there, or the "
            "repository is locked: wait until it is quiet and run the same command again"
        )
    return error


def released_as(api: Any, payload: Payload, repo: str, tag: str) -> str | None:
    """Return the commit that a tag marks, where it holds the very files of a payload; None where there is no such tag.

    Raises:
        HubError: the tag marks other files.
    """
    kind = REPO_TYPES[payload.kind]
    tagged = _target(api, repo, kind, tag)
    if tagged is not None and plan(payload, remote_files(api, repo, kind, tagged)):
        raise HubError(f"{repo}: tag {tag} marks other files already ({tagged[:8]}); choose the next version")
    return tagged


def _target(api: Any, repo: str, repo_type: str, tag: str) -> str | None:
    refs = api.list_repo_refs(repo, repo_type=repo_type)
    return next((str(ref.target_commit) for ref in refs.tags if ref.name == tag), None)


def _tagged(api: Any, published: Published, repo_type: str, tag: str | None) -> Published:
    from huggingface_hub.errors import HfHubHTTPError

    if tag is None:
        return published
    repo, sha = published.repo, published.sha
    try:
        api.create_tag(repo, tag=tag, revision=sha, repo_type=repo_type)
    except HfHubHTTPError as error:
        # Somebody else may have made the very same release at the same time.
        there = _target(api, repo, repo_type, tag) if error.response.status_code == 409 else None
        if there is None:
            raise
        if there != sha:
            raise HubError(
                f"{repo}: somebody else made tag {tag} meanwhile ({there[:8]}); this release is commit {sha[:8]}, "
                "without a tag: run the same command again with the next version"
            ) from error
    return replace(published, tag=tag)
