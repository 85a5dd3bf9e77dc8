"""Load a release back with plain clients, in a fresh process with empty caches, and compare with the manifest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any, NamedTuple

from storyalign.errors import DataError, HubError, MissingExtraError
from storyalign.hub.payload import REPO_TYPES
from storyalign.hub.release.manifest import Manifest, ReleasedRepository
from storyalign.hub.release.publish import STALE

REWARD_TOLERANCE = 1e-4
CLIENTS = Path(__file__).parent / "plain_clients.py"


class Check(NamedTuple):
    """One thing that was compared."""

    repo: str
    what: str
    problem: str | None
    """None where it is as the manifest says."""
    note: str | None = None
    """What is no fault of the release, but good to know."""


def verify(manifest: Manifest) -> Iterator[Check]:
    """Check every repository of a release: its files, the names that lead to them, and what its users get out of it.

    Raises:
        MissingExtraError: a model was released, and torch is not installed.
    """
    kinds = {released.kind for released in manifest.repositories}
    if "model" in kinds:
        _require_torch()
    with _plain_clients() as clients:
        for released in manifest.repositories:
            files = list(_files(released, clients))
            yield from files
            if len(files) == 1:
                continue  # the repository or its commit cannot be reached
            if released.kind == "dataset":
                yield from _dataset(released, clients)
            elif released.kind == "metric":
                yield _metric(released, clients)
            elif released.kind == "model":
                yield _model(released, clients)


def require_verified(checks: list[Check]) -> None:
    """Stop where a check failed.

    Raises:
        DataError: names what differs.
    """
    if failed := [f"{check.repo}: {check.what}: {check.problem}" for check in checks if check.problem]:
        raise DataError(f"{len(failed)} of {len(checks)} checks failed: {'; '.join(failed[:3])}")


def reward_of(model: str, sha: str | None = None) -> list[float]:
    """Return the reward of one fixed story by a model, from a folder or from the Hub.

    Raises:
        HubError: it cannot be loaded, or weights are missing or left over.
        MissingExtraError: torch is not installed.
    """
    _require_torch()
    with _plain_clients() as clients:
        reward, problem = _reward(model, sha, clients)
    if problem:
        raise HubError(f"{model}: {problem}")
    return reward


class _Answer(NamedTuple):
    value: Any
    problem: str | None
    """Why there is no value."""


class _Clients(NamedTuple):
    """The running process."""

    questions: IO[str]
    answers: IO[str]
    said: Path
    """What it wrote to standard error."""

    def ask(self, name: str, argument: dict[str, Any]) -> _Answer:
        """Run one client."""
        try:
            print(json.dumps([name, argument]), file=self.questions, flush=True)
            line = self.answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            lines = self.said.read_text(errors="replace").strip().splitlines() or ["no message"]
            return _Answer(None, f"could not be loaded back ({name} ended: {lines[-1]})")
        told = json.loads(line)
        return _Answer(told.get("value"), f"could not be loaded back: {told['error']}" if "error" in told else None)


@contextmanager
def _plain_clients() -> Iterator[_Clients]:
    from huggingface_hub import get_token

    with tempfile.TemporaryDirectory(prefix="storyalign-verify-") as home:
        # Its own cache, and its own current directory: a folder here must not stand in for the Hub.
        environment = {**os.environ, "HF_HOME": home, "HF_MODULES_CACHE": f"{home}/modules"}
        environment = {k: v for k, v in environment.items() if k not in ("HF_HUB_CACHE", "HF_DATASETS_CACHE")}
        if token := get_token():
            environment["HF_TOKEN"] = token
        said, pipe = Path(home) / "said.txt", subprocess.PIPE
        with (
            said.open("w") as errors,
            subprocess.Popen(
                [sys.executable, "-P", str(CLIENTS)],
                env=environment,
                cwd=home,
                stdin=pipe,
                stdout=pipe,
                stderr=errors,
                text=True,
            ) as process,
        ):
            assert process.stdin is not None and process.stdout is not None
            try:
                yield _Clients(process.stdin, process.stdout, said)
            finally:
                process.kill()


def _require_torch() -> None:
    from importlib.util import find_spec

    if find_spec("torch") is None:
        raise MissingExtraError("train", "torch")


def _files(released: ReleasedRepository, clients: _Clients) -> Iterator[Check]:
    kind, what = REPO_TYPES[released.kind], f"{len(released.files)} files"
    argument = {"repo": released.repo, "repo_type": kind, "sha": released.sha, "tag": released.tag}
    seen, problem = clients.ask("repository_files", argument)
    if problem:
        yield Check(released.repo, what, problem)
        return
    differ = sorted(path for path, sha256 in released.files.items() if seen["files"].get(path) != sha256)
    yield Check(released.repo, what, f"differ or are missing: {_some(differ)}" if differ else None)
    yield _name(released, seen)


def _name(released: ReleasedRepository, seen: dict[str, Any]) -> Check:
    """Check the name that leads people to the release: its tag, or the main branch where it has none."""
    loaded = [path for path in seen["changed"] if path in released.files or _would_be_loaded(released, path)]
    moved = f"main holds other files by now ({_some(loaded)})" if loaded else None
    if released.tag is None:
        problem = moved and f"{moved}; the release is commit {released.sha}, and has no tag"
        return Check(released.repo, "main is the release", problem)
    tagged = seen["tagged"]
    problem = None if tagged == released.sha else f"marks {tagged or 'nothing'}, the release is {released.sha}"
    note = moved and f"{moved}; load the release with revision={released.tag!r}"
    return Check(released.repo, f"tag {released.tag}", problem, note)


def _would_be_loaded(released: ReleasedRepository, path: str) -> bool:
    return any(fnmatch(path, pattern) for pattern in STALE[released.kind])


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def _dataset(released: ReleasedRepository, clients: _Clients) -> Iterator[Check]:
    expected = released.facts["configs"]
    wanted = {config: list(splits) for config, splits in expected.items()}
    told, failure = clients.ask("dataset_rows", {"repo": released.repo, "sha": released.sha, "configs": wanted})
    for config, splits in expected.items():
        for split, facts in splits.items():
            problem = failure
            if told:
                got = told[config][split]
                if (got["rows"], got["digest"]) != (facts["rows"], facts["digest"]):
                    problem = f"{_rows(got)}, expected {_rows(facts)}"
                elif not got["streams"]:
                    problem = "streamed rows differ from loaded ones"
            yield Check(released.repo, f'load_dataset("{config}", split="{split}"), {facts["rows"]} rows', problem)


def _rows(facts: dict[str, Any]) -> str:
    return f"{facts['rows']} rows with digest {facts['digest'][:12]}"


def _metric(released: ReleasedRepository, clients: _Clients) -> Check:
    told, problem = clients.ask("metric_value", {"repo": released.repo, "sha": released.sha})
    if not problem and told != {"accuracy": 0.5, "n_ties": 1}:
        problem = f"computes {told}, expected 0.5 with 1 tie"
    return Check(released.repo, "evaluate.load", problem)


def _model(released: ReleasedRepository, clients: _Clients) -> Check:
    expected = released.facts.get("reward")
    reward, problem = _reward(released.repo, released.sha, clients)
    far = expected is not None and (
        len(reward) != len(expected)
        or any(abs(a - b) > REWARD_TOLERANCE for a, b in zip(reward, expected, strict=True))
    )
    if far and not problem:
        problem = f"reward {reward}, expected {expected}"
    return Check(released.repo, "AutoModelForSequenceClassification, reward of one story", problem)


def _reward(model: str, sha: str | None, clients: _Clients) -> tuple[list[float], str | None]:
    told, problem = clients.ask("model_reward", {"model": model, "sha": sha})
    if problem is None and told["unfit_weights"]:
        problem = f"weights are missing or left over: {', '.join(told['unfit_weights'][:5])}"
    return (told["reward"] if told else []), problem
