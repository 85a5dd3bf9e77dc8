"""Releases through the command line against the stand-in: one commit, a tag, and what other people put there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.hub_runs import REPOSITORY, RunningHub

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

METRIC = REPOSITORY / "evaluate_metric/storyrmb_accuracy"

STATE = """
import json, sys
from huggingface_hub import HfApi

api, kind, repo = HfApi(), *sys.argv[1:3]
refs = api.list_repo_refs(repo, repo_type=kind, include_pull_requests=True)
print(json.dumps({
    "sha": api.repo_info(repo, repo_type=kind).sha,
    "private": api.repo_info(repo, repo_type=kind).private,
    "commits": len(api.list_repo_commits(repo, repo_type=kind)),
    "files": sorted(api.list_repo_files(repo, repo_type=kind)),
    "tags": {t.name: t.target_commit for t in refs.tags},
    "pull_requests": [p.ref for p in refs.pull_requests],
}))
"""


@pytest.fixture
def metric(tmp_path: Path) -> Path:
    return Path(shutil.copytree(METRIC, tmp_path / "storyrmb_accuracy"))


def release_metric(hub: RunningHub, folder: Path, *options: str, **environment: object) -> tuple[int, str]:
    done = hub.storyalign("release", "metric", str(folder), "--repo", "demo/storyrmb_accuracy", *options, **environment)
    return done.returncode, done.stdout + done.stderr


def state(hub: RunningHub) -> dict:
    return hub.python(STATE, "space", "demo/storyrmb_accuracy")


def commit_file(hub: RunningHub, path: str, text: str) -> None:
    """Let somebody else commit a file."""
    hub.python(
        "import sys, huggingface_hub as h\n"
        "h.upload_file(path_or_fileobj=sys.argv[2].encode(), path_in_repo=sys.argv[1],"
        " repo_id='demo/storyrmb_accuracy', repo_type='space')\n"
        "print('null')",
        path,
        text,
    )


def test_one_commit_one_tag_and_none_the_second_time(hub: RunningHub, metric: Path) -> None:
    code, said = release_metric(hub, metric, "--tag", "v1.0.0", "--dry-run")
    assert (code, hub.log("POST", "/commit/")) == (0, []), said
    assert "  storyrmb_accuracy.py (" in said.partition("not there yet")[0]

    code, said = release_metric(hub, metric, "--tag", "v1.0.0", "--private")
    assert code == 0, said
    first = state(hub)
    assert first["files"] == sorted([".gitattributes", *(p.name for p in METRIC.iterdir() if p.is_file())])
    assert (first["commits"], first["private"], first["tags"]) == (2, True, {"v1.0.0": first["sha"]})
    assert hub.token not in said

    code, said = release_metric(hub, metric, "--tag", "v1.0.0")
    assert (code, said.split(":")[0]) == (0, "unchanged")
    assert state(hub) == first

    (metric / "README.md").write_text((metric / "README.md").read_text() + "\nMore.\n")
    code, said = release_metric(hub, metric, "--tag", "v1.0.0")
    assert (code, "tag v1.0.0 marks other files already" in said) == (2, True), said
    assert state(hub) == first

    # The release stays what it is, whatever main holds by now.
    commit_file(hub, "NOTES.md", "theirs")
    moved = state(hub)
    shutil.rmtree(metric)
    shutil.copytree(METRIC, metric)
    code, said = release_metric(hub, metric, "--tag", "v1.0.0")
    assert (code, said.startswith(f"unchanged: demo/storyrmb_accuracy at {first['sha']}")) == (0, True), said
    assert state(hub) == moved

    (metric / "README.md").write_text((metric / "README.md").read_text() + "\nMore.\n")
    code, said = release_metric(hub, metric, "--tag", "v1.1.0")
    assert code == 0, said
    after = state(hub)
    assert "NOTES.md" in after["files"]
    assert after["tags"] == {"v1.0.0": first["sha"], "v1.1.0": after["sha"]}


def test_a_pull_request_changes_nothing_but_itself(hub: RunningHub, metric: Path) -> None:
    release_metric(hub, metric)
    before = state(hub)
    (metric / "README.md").write_text((metric / "README.md").read_text() + "\nMore.\n")
    code, said = release_metric(hub, metric, "--pr")
    assert (code, said) == (0, f"proposed: {hub.address}/spaces/demo/storyrmb_accuracy/discussions/1\n")
    assert state(hub) == {**before, "pull_requests": ["refs/pr/1"]}


@pytest.mark.parametrize(
    ("options", "environment", "message"),
    [
        ((), {"token": False, "home": "stranger"}, "no token; log in with `hf auth login`, or set HF_TOKEN"),
        (("--pr", "--tag", "v1"), {}, "leave out --tag"),
        (("--tag", "v 1"), {}, "--tag v 1: write a version like v1.0.0"),
        (("--tag", "v1..0"), {}, "--tag v1..0: write a version like v1.0.0"),
    ],
)
def test_what_cannot_be(
    hub: RunningHub, metric: Path, options: tuple[str, ...], environment: dict, message: str
) -> None:
    code, said = release_metric(hub, metric, *options, **environment)
    assert (code, len(said.splitlines())) == (2, 1), said
    assert message in said
    assert not hub.log("POST", "/commit/")


def test_a_wrong_token_is_said_and_not_shown(hub: RunningHub, metric: Path) -> None:
    wrong = hub.token[::-1]
    environment = {**hub.environment(), "HF_TOKEN": "hf_" + wrong}
    command = [sys.executable, "-m", "storyalign.cli.main", "release", "metric", str(metric), "--repo", "demo/x"]
    done = subprocess.run(
        [*command[:-1], "demo/storyrmb_accuracy"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "401" in done.stderr
    assert wrong not in done.stdout + done.stderr


def test_a_public_repository_does_not_take_a_private_release(hub: RunningHub, metric: Path) -> None:
    release_metric(hub, metric)
    code, said = release_metric(hub, metric, "--private")
    assert (code, "exists and is public" in said) == (2, True), said


def test_an_answer_that_was_lost_is_no_second_commit(hub: RunningHub, metric: Path) -> None:
    """The Hub commits, then the line goes dead: the release looks again and finds its files there."""
    release_metric(hub, metric)
    (metric / "README.md").write_text((metric / "README.md").read_text() + "\nMore.\n")
    hub.plant({"method": "POST", "path": "/commit/", "lose": True, "times": 1})
    code, said = release_metric(hub, metric)
    after = state(hub)
    assert (code, after["commits"]) == (0, 3), said
    assert said.startswith(f"released: demo/storyrmb_accuracy at {after['sha']} (1 files changed)")


def test_the_slower_of_two_equal_releases_claims_no_commit(hub: RunningHub, metric: Path) -> None:
    """Held up between its plan and its upload, it finds the other's files; the client then names the other's commit."""
    release_metric(hub, metric)
    (metric / "README.md").write_text((metric / "README.md").read_text() + "\nMore.\n")
    hub.plant({"method": "POST", "path": "/preupload/", "delay": 20, "times": 1})
    command = [sys.executable, "-m", "storyalign.cli.main", "release", "metric", str(metric)]
    with subprocess.Popen(
        [*command, "--repo", "demo/storyrmb_accuracy"], env=hub.environment(), stdout=subprocess.PIPE, text=True
    ) as slower:
        before = len(hub.log("POST", "/preupload/"))
        while len(hub.log("POST", "/preupload/")) == before and slower.poll() is None:
            time.sleep(0.02)
        code, said = release_metric(hub, metric)
        assert slower.poll() is None, "the other release took too long"
        assert slower.stdout is not None
        its_own = slower.stdout.read()
    sha = state(hub)["sha"]
    assert (code, said.split(" (")[0]) == (0, f"released: demo/storyrmb_accuracy at {sha}")
    assert its_own == f"unchanged: demo/storyrmb_accuracy at {sha} holds these files already\n"


def test_a_release_cut_in_half_goes_on(hub: RunningHub, tmp_path: Path) -> None:
    """Killed after one of three large files: nothing is committed; the second run sends the other two."""
    folder = tmp_path / "storyrmb_accuracy"
    shutil.copytree(METRIC, folder)
    for number in range(3):
        (folder / f"{number}.png").write_bytes(bytes([number]) * 3_000_000)
    # The client sends several at once: the first upload passes, all others wait for ever.
    hub.plant(*({"method": "PUT", "path": "/_lfs/", "delay": seconds} for seconds in (0, 600, 600)))
    command = [sys.executable, "-m", "storyalign.cli.main", "release", "metric", str(folder)]
    with subprocess.Popen(
        [*command, "--repo", "demo/storyrmb_accuracy"], env=hub.environment(), stderr=subprocess.DEVNULL
    ) as client:
        deadline = time.monotonic() + 600
        while not [row for row in hub.log("PUT", "/_lfs/") if "status" in row] and time.monotonic() < deadline:
            time.sleep(0.02)
        client.kill()
    hub.plant()
    assert not hub.log("POST", "/commit/")
    before = len(hub.log("PUT", "/_lfs/"))
    code, said = release_metric(hub, folder, "--tag", "v1.0.0")
    assert code == 0, said
    assert len(hub.log("PUT", "/_lfs/")) - before == 2
    after = state(hub)
    assert {f"{number}.png" for number in range(3)} <= set(after["files"])
    assert (after["commits"], after["tags"]) == (2, {"v1.0.0": after["sha"]})


def test_no_hub_at_all(hub: RunningHub, metric: Path) -> None:
    hub.address = "http://127.0.0.1:9"
    code, said = release_metric(hub, metric)
    assert (code, "could not be reached" in said, len(said.splitlines())) == (2, True, 1), said
    code, said = release_metric(hub, metric, "--dry-run")
    listed, _, state_of_hub = said.partition("not compared with the Hub: ")
    assert (code, "  accuracy.py (" in listed, "could not be reached" in state_of_hub) == (0, True, True), said
    assert said.endswith("\ndry run: nothing was sent\n")
