"""Say what the Hub holds: the SHA-256 of every file of a repository at a commit, and what its names mark by now."""

import hashlib
from pathlib import Path
from typing import Any


def look(repo: str, repo_type: str, sha: str, tag: str | None) -> dict[str, Any]:
    """Look at a repository at a commit and at its main branch.

    Returns:
        ``files``: path -> SHA-256 at the commit. ``tagged``: the commit that the tag marks, None without such a tag.
        ``changed``: paths that the main branch holds otherwise, holds no longer, or holds besides.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    refs = api.list_repo_refs(repo, repo_type=repo_type)
    there, now = (_blobs(repo, repo_type, revision) for revision in (sha, "main"))
    return {
        "files": {path: _sha256(repo, repo_type, sha, path, item) for path, item in there.items()},
        "tagged": next((ref.target_commit for ref in refs.tags if ref.name == tag), None),
        "changed": sorted(p for p in {*there, *now} if _id(there.get(p)) != _id(now.get(p))),
    }


def _blobs(repo: str, repo_type: str, revision: str) -> dict[str, Any]:
    from huggingface_hub import HfApi, RepoFile

    tree = HfApi().list_repo_tree(repo, repo_type=repo_type, revision=revision, recursive=True)
    return {item.path: item for item in tree if isinstance(item, RepoFile)}


def _id(item: Any) -> str | None:
    return None if item is None else str(item.blob_id)


def _sha256(repo: str, repo_type: str, sha: str, path: str, item: Any) -> str:
    """Hash the content; large files of a dataset go by the Hub's own digest, as all their rows are loaded anyway."""
    from huggingface_hub import hf_hub_download

    if item.lfs and repo_type == "dataset":
        return str(item.lfs.sha256)
    with Path(hf_hub_download(repo, path, repo_type=repo_type, revision=sha)).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
