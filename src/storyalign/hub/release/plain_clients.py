"""Clients that load a release back the way its users do: they import the public libraries and nothing of the kit.

Run as a script, the file answers one question after the other: a line of JSON with name and argument in, a line of JSON
out, which is ``{"value": ...}``, or ``{"error": ...}`` with what went wrong.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEAD = 50
"""Rows that are streamed as well."""


def hash_rows(rows: Iterable[dict[str, Any]]) -> tuple[int, str]:
    """Count and hash rows: SHA-256 over one line of JSON a row, keys sorted."""
    count, hasher = 0, hashlib.sha256()
    for row in rows:
        hasher.update(json.dumps(row, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        count += 1
    return count, hasher.hexdigest()


def dataset_rows(repo: str, sha: str, configs: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Load splits with ``load_dataset``, and the first rows of each by streaming."""
    from datasets import load_dataset

    found: dict[str, dict[str, Any]] = {}
    for config, splits in configs.items():
        loaded = load_dataset(repo, config, revision=sha)
        streamed = load_dataset(repo, config, revision=sha, streaming=True)
        for split in splits:
            count, digest = hash_rows(loaded[split])
            head = hash_rows(itertools.islice(loaded[split], HEAD))
            same = hash_rows(itertools.islice(streamed[split], HEAD)) == head
            found.setdefault(config, {})[split] = {"rows": count, "digest": digest, "streams": same}
    return found


def metric_value(repo: str, sha: str) -> dict[str, float]:
    """Return the metric's accuracy and number of ties; half of the three groups, and one."""
    import evaluate

    metric = evaluate.load(repo, revision=sha)
    result = metric.compute(predictions=[[2.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 2.0]], references=[0, 0, 0])
    return {"accuracy": result["accuracy"], "n_ties": result["n_ties"]}


CHAT = [
    {"role": "user", "content": "A lighthouse keeper finds a letter addressed to tomorrow."},
    {
        "role": "assistant",
        "content": "The envelope was dry, though the sea had carried it. She put it on the sill and waited.",
    },
]


def model_reward(model: str, sha: str | None) -> dict[str, Any]:
    """Return the reward of one story, and the weights that were missing or left over."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, revision=sha)
    loaded, info = AutoModelForSequenceClassification.from_pretrained(
        model, revision=sha, output_loading_info=True, dtype=torch.float32
    )
    ids: Any
    if tokenizer.chat_template:
        ids = tokenizer.apply_chat_template(CHAT, return_tensors="pt", return_dict=True)
    else:
        ids = tokenizer(*(turn["content"] for turn in CHAT), return_tensors="pt")
    with torch.no_grad():
        reward = loaded.eval()(**ids).logits.flatten().tolist()
    unfit = [*info["missing_keys"], *info["unexpected_keys"]]
    return {"reward": reward, "unfit_weights": sorted(map(str, unfit))}


def repository_files(repo: str, repo_type: str, sha: str, tag: str | None) -> dict[str, Any]:
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


CLIENTS: dict[str, Any] = {
    client.__name__: client for client in (dataset_rows, metric_value, model_reward, repository_files)
}


def main() -> None:
    """Answer until the input ends; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        name, argument = json.loads(line)
        try:
            answer = {"value": CLIENTS[name](**argument)}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
