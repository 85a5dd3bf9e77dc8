"""One scorer's rewards for a whole evaluation set, and the checks that a rewards file has to pass to become one.

A rewards file counts only for the stories that it was made from: every row carries the digest of the scorer's settings
and of both texts, and ``<file>.scorer.json`` beside it holds the settings. Half a run, rows of another scorer, changed
stories, unknown ids and edited files are refused by name; none of them becomes a figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from storyalign.audit.null_scorers import NULL_SCORERS, null_rewards
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError
from storyalign.files import Line, read_jsonl
from storyalign.records import Instance, Reward
from storyalign.text import digest

Kind = Literal["model", "judge", "null"]


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """Rewards of one scorer for every instance of a set."""

    name: str
    kind: Kind
    rewards: Mapping[str, list[float | None]]
    """Instance id -> one reward a candidate, the chosen story first; None where there is none."""
    truncated: Mapping[str, list[bool]] = field(default_factory=dict)
    """Instance id -> whether each candidate was cut; empty for a scorer that cuts nothing."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Instance id -> why a candidate has no reward, for each unscored instance."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the scorer was: model, revision, dtype, template, max_length, as it says itself."""
    digest: str = ""
    """Digest of the settings."""


def null_scored_sets(instances: list[Instance]) -> list[ScoredSet]:
    """Let every null scorer score a set."""
    return [
        ScoredSet(name, "null", {i.id: list(null_rewards(name, i)) for i in instances}, settings={"null_scorer": name})
        for name in NULL_SCORERS
    ]


def read_scored_set(path: str | Path, evaluation_set: EvaluationSet) -> ScoredSet:
    """Read a rewards file and check it against the set that it should belong to.

    Raises:
        DataError: the file or its settings are missing; rows are missing; the file was changed after its run.
        RowError: a row is broken, stands twice, belongs to no instance, or was made by other settings or other texts.
    """
    path = Path(path)
    settings = _read_settings(path)
    instances = {i.id: i for i in evaluation_set.instances}
    rows: dict[str, dict[int, Reward]] = {}
    for line in _read_rows(path):
        reward = _checked(line, instances, settings, evaluation_set.name)
        own = rows.setdefault(reward.id, {})
        if reward.candidate in own:
            raise line.error(f"candidate {reward.candidate} stands twice; {_AGAIN}")
        own[reward.candidate] = reward
    _refuse_half_a_run(path, evaluation_set, rows)
    if settings.get("rewards") not in (None, digest(path.read_text(encoding="utf-8"))):
        raise DataError(f"{path}: was changed after its run ended; {_AGAIN}")
    return scored_set_of(rows, settings, evaluation_set)


def scored_set_of(
    rows: Mapping[str, Mapping[int, Reward]], settings: Mapping[str, Any], evaluation_set: EvaluationSet
) -> ScoredSet:
    """Put checked rows (instance id -> candidate -> reward) together; ``settings`` as in ``<file>.scorer.json``."""
    scorer = settings.get("scorer") or {}
    ordered = {i.id: [rows[i.id][c] for c in range(len(i.stories))] for i in evaluation_set.instances}
    return ScoredSet(
        name=str(scorer.get("model") or scorer.get("name") or settings["digest"][:12]),
        kind="judge" if "judge" in str(scorer.get("kind")) else "model",
        rewards={key: [r.reward for r in group] for key, group in ordered.items()},
        truncated={
            key: [r.truncated for r in group] for key, group in ordered.items() if any(r.truncated for r in group)
        },
        reasons={key: reason for key, group in ordered.items() if (reason := _reason(group))},
        settings=scorer,
        digest=str(settings["digest"]),
    )


_AGAIN = "run `storyalign score` again with the same --out: it scores only what is missing"


def _read_settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        if list(path.parent.glob(f"{path.name}.part-*")):
            raise DataError(f"{path}: its run has not ended; {_AGAIN}")
        raise DataError(f"{path}: no such file")
    sidecar = path.with_name(f"{path.name}.scorer.json")
    try:
        settings = orjson.loads(sidecar.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{sidecar}: missing; it says which scorer made {path.name}, so keep it beside it, or score again"
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(f"{sidecar}: cannot be read ({error}); score again") from error
    if not isinstance(settings, dict) or not isinstance(settings.get("digest"), str):
        raise DataError(f"{sidecar}: holds no settings of a scorer; score again")
    return settings


def _read_rows(path: Path) -> Iterator[Line]:
    empty = True
    for line in read_jsonl(path):
        empty = False
        yield line
    if empty:
        raise DataError(f"{path}: holds no rewards; {_AGAIN}")


def _checked(line: Line, instances: Mapping[str, Instance], settings: Mapping[str, Any], data: str) -> Reward:
    try:
        reward = Reward.from_row(line.row)
    except (ValueError, TypeError) as error:  # BadRow is a ValueError
        raise line.error(str(error)) from error
    instance = instances.get(reward.id)
    if instance is None:
        raise line.error(f"{data} has no instance of this id; the rewards belong to other data")
    if reward.candidate >= len(instance.stories):
        raise line.error(f"candidate {reward.candidate} of a group of {len(instance.stories)} stories")
    if reward.signature != digest(settings["digest"], instance.prompt, instance.stories[reward.candidate]):
        raise line.error(
            f"candidate {reward.candidate}: the signature fits neither this story nor this scorer; the story changed, "
            f"or another model, revision or setting made the row; {_AGAIN}"
        )
    return reward


def _refuse_half_a_run(path: Path, data: EvaluationSet, rows: Mapping[str, Mapping[int, Reward]]) -> None:
    missing = [(i.id, c) for i in data.instances for c in range(len(i.stories)) if c not in rows.get(i.id, {})]
    if missing:
        n = sum(len(i.stories) for i in data.instances)
        key, candidate = missing[0]
        raise DataError(
            f"{path}: {len(missing)} of {n} stories of {data.name} have no row, the first is {key} candidate "
            f"{candidate}; {_AGAIN}"
        )


def _reason(group: list[Reward]) -> str | None:
    for reward in group:
        if reward.reward is None:
            detail = f": {reward.detail}" if reward.detail else ""
            return f"candidate {reward.candidate} {reward.status}{detail}"
    return None
