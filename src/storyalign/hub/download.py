"""A dataset's folder, from disk or from the Hub."""

from __future__ import annotations

from pathlib import Path

from storyalign.hub.hub_errors import hub_errors


def dataset_folder(name: str) -> Path:
    """Give the folder of a dataset: the one on disk, else the repository ``ORG/NAME[@REVISION]``, downloaded.

    Raises:
        HubError: there is no such repository, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    if Path(name).is_dir():
        return Path(name)
    repo, _, revision = name.partition("@")
    with hub_errors(repo):
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision or None))
