"""Load every split of every configuration of a dataset, whole and streamed, and say what came out."""

import hashlib
import itertools
import json
from collections.abc import Iterable
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


def load(repo: str, sha: str, configs: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
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
