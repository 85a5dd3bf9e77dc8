"""Load a release back with plain clients, in fresh processes with empty caches, and compare with the manifest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.errors import DataError, HubError, MissingExtraError
from storyalign.hub.manifest import Manifest, ReleasedRepository
from storyalign.hub.payload import REPO_TYPES

REWARD_TOLERANCE = 1e-4
CLIENTS = Path(__file__).parent / "plain_clients"


class Check(NamedTuple):
    """One thing that was compared."""

    repo: str
    what: str
    problem: str | None
    """None where it is as the manifest says."""


def verify(manifest: Manifest) -> Iterator[Check]:
    """Check every repository of a release: its files, and what its users get out of it.

    Raises:
        HubError: a client could not load what was released.
    """
    for released in manifest.repositories:
        yield _files(released)
        if released.kind == "dataset":
            yield from _dataset(released)
        elif released.kind == "metric":
            yield _metric(released)
        elif released.kind == "model":
            yield _model(released)


def require_verified(checks: list[Check]) -> None:
    """Stop where a check failed.

    Raises:
        DataError: names what differs.
    """
    if failed := [f"{check.repo}: {check.what}: {check.problem}" for check in checks if check.problem]:
        raise DataError(f"{len(failed)} of {len(checks)} checks failed: {'; '.join(failed[:3])}")


def run_client(name: str, argument: dict[str, Any]) -> Any:
    """Run one of the plain clients.

    Args:
        name: its file without ``.py``.
        argument: what its function takes.

    Raises:
        HubError: it failed; with its last line.
    """
    from huggingface_hub import get_token

    with tempfile.TemporaryDirectory(prefix="storyalign-verify-") as home:
        # Its own cache, and its own current directory: a folder here must not stand in for the Hub.
        environment = {**os.environ, "HF_HOME": home, "HF_MODULES_CACHE": f"{home}/modules"}
        environment = {k: v for k, v in environment.items() if k not in ("HF_HUB_CACHE", "HF_DATASETS_CACHE")}
        if token := get_token():
            environment["HF_TOKEN"] = token
        command = [sys.executable, str(CLIENTS / f"{name}.py"), json.dumps(argument)]
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise HubError(f"{argument.get('repo') or argument.get('model')}: could not be loaded back ({name}): {last}")
    return json.loads(done.stdout.splitlines()[-1])


def reward_of(model: str, sha: str | None = None) -> list[float]:
    """Give the reward of one fixed story by a model, from a folder or from the Hub.

    Raises:
        HubError: it cannot be loaded, or weights are missing or left over.
        MissingExtraError: torch is not installed.
    """
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise MissingExtraError("train", "torch")
    told = run_client("model_reward", {"model": model, "sha": sha})
    if told["unfit_weights"]:
        raise HubError(f"{model}: weights are missing or left over: {', '.join(told['unfit_weights'][:5])}")
    reward: list[float] = told["reward"]
    return reward


def _files(released: ReleasedRepository) -> Check:
    kind = REPO_TYPES[released.kind]
    there = run_client("repository_files", {"repo": released.repo, "repo_type": kind, "sha": released.sha})
    differ = sorted(path for path, sha256 in released.files.items() if there.get(path) != sha256)
    problem = f"differ or are missing: {', '.join(differ[:5])}" if differ else None
    return Check(released.repo, f"{len(released.files)} files", problem)


def _dataset(released: ReleasedRepository) -> Iterator[Check]:
    expected = released.facts["configs"]
    wanted = {config: list(splits) for config, splits in expected.items()}
    told = run_client("dataset_rows", {"repo": released.repo, "sha": released.sha, "configs": wanted})
    for config, splits in expected.items():
        for split, facts in splits.items():
            got = told[config][split]
            problem = None
            if (got["rows"], got["digest"]) != (facts["rows"], facts["digest"]):
                problem = f"{_rows(got)}, expected {_rows(facts)}"
            elif not got["streams"]:
                problem = "streamed rows differ from loaded ones"
            yield Check(released.repo, f'load_dataset("{config}", split="{split}"), {facts["rows"]} rows', problem)


def _rows(facts: dict[str, Any]) -> str:
    return f"{facts['rows']} rows with digest {facts['digest'][:12]}"


def _metric(released: ReleasedRepository) -> Check:
    told = run_client("metric_value", {"repo": released.repo, "sha": released.sha})
    right = told == {"accuracy": 0.5, "n_ties": 1}
    return Check(released.repo, "evaluate.load", None if right else f"computes {told}, expected 0.5 with 1 tie")


def _model(released: ReleasedRepository) -> Check:
    expected = released.facts.get("reward")
    reward = reward_of(released.repo, released.sha)
    far = expected is not None and (
        len(reward) != len(expected)
        or any(abs(a - b) > REWARD_TOLERANCE for a, b in zip(reward, expected, strict=True))
    )
    problem = f"reward {reward}, expected {expected}" if far else None
    return Check(released.repo, "AutoModelForSequenceClassification, reward of one story", problem)
