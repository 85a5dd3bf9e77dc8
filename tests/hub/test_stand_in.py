"""Plain client libraries against the stand-in, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.hub_runs import RunningHub

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

COMMITS = """
import json, sys
from pathlib import Path
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import HfHubHTTPError

api, seen = HfApi(), {}
seen["whoami"] = api.whoami()["name"]
api.create_repo("demo/a", repo_type="dataset")
api.create_repo("demo/a", repo_type="dataset", exist_ok=True)
first = api.repo_info("demo/a", repo_type="dataset").sha
card = CommitOperationAdd("README.md", b"---\\nlicense: mit\\n---\\n")
add = [CommitOperationAdd("data/rows.parquet", b"P" * 1000), card]
second = api.create_commit("demo/a", add, commit_message="two files", repo_type="dataset", parent_commit=first)
try:
    late = [CommitOperationAdd("late.txt", b"late")]
    api.create_commit("demo/a", late, commit_message="late", repo_type="dataset", parent_commit=first)
except HfHubHTTPError as error:
    seen["stale parent"] = error.response.status_code
again = [CommitOperationAdd("data/rows.parquet", b"P" * 1000)]
seen["unchanged"] = api.create_commit("demo/a", again, commit_message="x", repo_type="dataset").oid == second.oid
request = api.create_commit(
    "demo/a", [CommitOperationDelete("README.md")], commit_message="x", repo_type="dataset", create_pr=True
)
seen["pr"] = request.pr_url
api.create_tag("demo/a", tag="v1.0.0", revision=second.oid, repo_type="dataset")
refs = api.list_repo_refs("demo/a", repo_type="dataset", include_pull_requests=True)
seen["tag"] = refs.tags[0].target_commit == second.oid
seen["pull requests"] = [r.ref for r in refs.pull_requests]
seen["files"] = api.list_repo_files("demo/a", repo_type="dataset", revision="v1.0.0")
seen["files of the request"] = api.list_repo_files("demo/a", repo_type="dataset", revision="refs/pr/1")
info = api.get_paths_info("demo/a", ["data/rows.parquet", "data", "nothing"], repo_type="dataset")
seen["paths"] = [[i.path, type(i).__name__] for i in info]
seen["size"] = info[0].lfs.size
seen["titles"] = [c.title for c in api.list_repo_commits("demo/a", repo_type="dataset")]
print(json.dumps(seen))
"""


def test_commits(hub: RunningHub) -> None:
    seen = hub.python(COMMITS)
    assert seen == {
        "whoami": "someone",
        "stale parent": 412,
        "unchanged": True,
        "pr": f"{hub.address}/datasets/demo/a/discussions/1",
        "tag": True,
        "pull requests": ["refs/pr/1"],
        "files": [".gitattributes", "README.md", "data/rows.parquet"],
        "files of the request": [".gitattributes", "data/rows.parquet"],
        "paths": [["data/rows.parquet", "RepoFile"], ["data", "RepoFolder"]],
        "size": 1000,
        "titles": ["two files", "initial commit"],
    }


README = """---
configs:
- config_name: default
  default: true
  data_files: [{split: test, path: data/*.parquet}]
- config_name: odd
  data_files: [{split: test, path: data/odd.parquet}]
---
"""

READ = """
import json, sys
from datasets import load_dataset

at = sys.argv[1]
print(json.dumps({
    "default": list(load_dataset("demo/rows", revision=at, split="test")["n"]),
    "odd": list(load_dataset("demo/rows", "odd", revision=at, split="test")["n"]),
    "streamed": [row["n"] for row in load_dataset("demo/rows", revision=at, split="test", streaming=True)],
}))
"""

PRIVATE = """
import json
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError

try:
    HfApi().list_repo_files("demo/rows", repo_type="dataset")
    print(json.dumps("read"))
except RepositoryNotFoundError:
    print(json.dumps("hidden"))
"""


def folder_of_rows(folder: Path, first: int) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True)
    (folder / "README.md").write_text(README)
    for name, start in (("even", first), ("odd", first + 1)):
        pq.write_table(pa.table({"n": list(range(start, start + 6, 2))}), folder / "data" / f"{name}.parquet")
    return folder


def hf(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "huggingface_hub.cli.hf", *arguments)


def test_upload_load_download(hub: RunningHub, tmp_path: Path) -> None:
    """`hf upload`, load_dataset at two revisions (two configs, streaming), `hf download`, all of it private."""
    revisions = []
    for first in (0, 100):
        folder = folder_of_rows(tmp_path / str(first), first)
        done = hub.run(*hf("upload", "demo/rows", str(folder), ".", "--repo-type", "dataset", "--private"))
        assert done.returncode == 0, done.stderr
        revisions.append(
            hub.python(
                "import json, huggingface_hub as h;"
                "print(json.dumps(h.HfApi().repo_info('demo/rows', repo_type='dataset').sha))"
            )
        )
    for revision, first in zip(revisions, (0, 100), strict=True):
        even, odd = [first, first + 2, first + 4], [first + 1, first + 3, first + 5]
        assert hub.python(READ, revision) == {"default": even + odd, "odd": odd, "streamed": even + odd}
    assert hub.python(PRIVATE) == "read"
    assert hub.python(PRIVATE, token=False, home="stranger") == "hidden"
    target = tmp_path / "downloaded"
    done = hub.run(*hf("download", "demo/rows", "--repo-type", "dataset", "--local-dir", str(target)))
    assert done.returncode == 0, done.stderr
    for path in ("README.md", "data/even.parquet", "data/odd.parquet"):
        assert (target / path).read_bytes() == (tmp_path / "100" / path).read_bytes()


def test_range_requests(hub: RunningHub) -> None:
    seen = hub.python(
        "import json, huggingface_hub as h, urllib.request as u, os\n"
        "h.create_repo('demo/m')\n"
        "h.upload_file(path_or_fileobj=bytes(range(256)), path_in_repo='sub/w.safetensors', repo_id='demo/m')\n"
        "url = h.hf_hub_url('demo/m', 'sub/w.safetensors')\n"
        "answer = u.urlopen(u.Request(url, headers={'Range': 'bytes=10-13'}))\n"
        "print(json.dumps([answer.status, list(answer.read()), answer.headers['Content-Range']]))"
    )
    assert seen == [206, [10, 11, 12, 13], "bytes 10-13/256"]


UPLOAD = """
import json, sys
from huggingface_hub import CommitOperationAdd, HfApi

api = HfApi()
api.create_repo("demo/big", exist_ok=True)
files = [CommitOperationAdd(f"{i}.safetensors", bytes([i]) * 2_000_000) for i in range(3)]
done = api.create_commit("demo/big", files, commit_message="big", num_threads=1)
print(json.dumps(api.list_repo_files("demo/big", revision=done.oid)))
"""
ALL = [".gitattributes", "0.safetensors", "1.safetensors", "2.safetensors"]


def test_an_upload_cut_in_half_by_the_server(hub: RunningHub) -> None:
    """The line goes dead in the middle of one file: the client sends that file again, and the commit is whole."""
    hub.plant({"method": "PUT", "path": "/_lfs/", "cut": True, "times": 1})
    assert hub.python(UPLOAD) == ALL
    assert len(hub.log("PUT", "/_lfs/")) == 4


def test_an_upload_cut_in_half_by_the_client(hub: RunningHub) -> None:
    """The client dies after one of three files: nothing is committed, and a second try sends only the other two."""
    hub.plant(*({"method": "PUT", "path": "/_lfs/", "delay": seconds} for seconds in (0, 600)))
    with subprocess.Popen([sys.executable, "-c", UPLOAD], env=hub.environment(), stderr=subprocess.DEVNULL) as client:
        deadline = time.monotonic() + 600
        while len(hub.log("PUT", "/_lfs/")) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        client.kill()
    assert len(hub.log("PUT", "/_lfs/")) == 2
    assert not hub.log("POST", "/commit/")
    hub.plant()
    assert hub.python(UPLOAD) == ALL
    assert len(hub.log("PUT", "/_lfs/")) == 4


def test_nobody_writes_without_the_token(hub: RunningHub) -> None:
    done = hub.run(sys.executable, "-c", UPLOAD, token=False)
    assert done.returncode != 0
    assert "401" in done.stderr
