"""What a commit would do, given what is there."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from storyalign.hub.payload import Payload
from storyalign.hub.release.publish import RemoteFile, plan


def large(data: bytes) -> RemoteFile:
    return RemoteFile("0" * 40, hashlib.sha256(data).hexdigest())


def small(data: bytes) -> RemoteFile:
    """As git itself names a blob."""
    done = subprocess.run(["git", "hash-object", "--stdin"], input=data, capture_output=True, check=True)
    return RemoteFile(done.stdout.decode().strip(), None)


def payload(kind: str, **files: bytes) -> Payload:
    return Payload(kind, Path("folder"), {name.replace("__", "/"): data for name, data in files.items()})  # type: ignore[arg-type]


def test_only_what_differs_is_sent() -> None:
    files = payload("dataset", README=b"new", data__a=b"same", data__b=b"grown", eval=b"same")
    now = {"README": small(b"old"), "data/a": large(b"same"), "data/b": large(b"b"), "eval": small(b"same")}
    assert plan(files, now).add == ("README", "data/b")
    assert plan(files, now).delete == ()


@pytest.mark.parametrize(
    ("kind", "path", "goes"),
    [
        ("dataset", "data/human_llm/test-00001-of-00002.parquet", True),
        ("dataset", "multiple_choice/llm_llm/fluency.parquet", True),
        ("dataset", "withheld/original.json", True),
        ("dataset", "results/others.parquet", False),
        ("dataset", ".gitattributes", False),
        ("model", "model-00002-of-00002.safetensors", True),
        ("model", ".eval_results/other.yaml", False),
        ("space", "storyalign-0.0.9-py3-none-any.whl", True),
        ("space", "notes.md", False),
        ("metric", "app.py", False),
    ],
)
def test_what_an_older_release_left(kind: str, path: str, goes: bool) -> None:
    now = {"README": small(b"same"), path: small(b"x")}
    assert plan(payload(kind, README=b"same"), now).delete == ((path,) if goes else ())


def test_what_came_meanwhile_is_not_stale() -> None:
    files, old, new = payload("dataset", README=b"same"), "data/old.parquet", "data/new.parquet"
    base = {"README": small(b"same"), old: large(b"x"), "data/changed.parquet": large(b"x")}
    now = {**base, new: large(b"y"), "data/changed.parquet": large(b"z")}
    assert plan(files, now, base).delete == (old,)
