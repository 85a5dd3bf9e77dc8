"""Say what the Hub holds: the SHA-256 of every file of a repository at a commit."""

import hashlib
import json
import sys
from pathlib import Path


def hash_files(repo: str, repo_type: str, sha: str) -> dict[str, str]:
    """Hash every file; large ones by the digest that the Hub stores them under, small ones by their content."""
    from huggingface_hub import HfApi, RepoFile, hf_hub_download

    found = {}
    for item in HfApi().list_repo_tree(repo, repo_type=repo_type, revision=sha, recursive=True):
        if isinstance(item, RepoFile):
            if item.lfs:
                found[item.path] = item.lfs.sha256
            else:
                file = hf_hub_download(repo, item.path, repo_type=repo_type, revision=sha)
                found[item.path] = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return found


if __name__ == "__main__":
    print(json.dumps(hash_files(**json.loads(sys.argv[1]))))
