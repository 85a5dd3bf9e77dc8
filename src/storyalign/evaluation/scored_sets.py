"""One scorer's rewards for a whole evaluation set, and the checks that a rewards file has to pass to become one.

A rewards file counts only for the stories that it was made from: every row carries the digest of the scorer's settings
and of both texts, and ``<file>.scorer.json`` beside it holds the settings. Half a run, rows of another scorer, changed
stories, unknown ids and edited files are refused by name; none of them becomes a figure.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from storyalign.audit.null_scorers import NULL_SCORERS, null_rewards
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError
from storyalign.files import read_jsonl
from storyalign.records import Instance, Reward
from storyalign.scoring.reward_store import row_signature
from storyalign.text import TEXT_RULE, digest, same_text

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
    report: Mapping[str, Any] = field(default_factory=dict)
    """What a judge's run says of itself: its flip rate, replies that could not be read."""


def null_scored_sets(instances: list[Instance]) -> list[ScoredSet]:
    """Return every null scorer's rewards for a set."""
    return [
        ScoredSet(name, "null", {i.id: list(null_rewards(name, i)) for i in instances}, settings={"null_scorer": name})
        for name in NULL_SCORERS
    ]


def read_scored_set(
    path: str | Path, evaluation_set: EvaluationSet, scored_as: EvaluationSet | None = None
) -> ScoredSet:
    """Read a rewards file and check it against the set that it should belong to.

    A row belongs to the story that its signature fits, whatever its place in the group.

    Args:
        path: the rewards file; its settings stand beside it.
        evaluation_set: the set to evaluate on.
        scored_as: the same data as it was scored, where that is not the same set: judged groups are scored in the order
            of the file, with groups and stories that no gold order can rank. Rows of these are passed over.

    Raises:
        DataError: the file or its settings are missing; rows are missing; the file was changed after its run.
        RowError: a row is broken, stands twice, belongs to no instance, or was made by other settings or other texts.
    """
    path = Path(path)
    settings = read_settings(path)
    known = [{i.id: i for i in data.instances} for data in (evaluation_set, scored_as) if data is not None]
    rows: dict[str, list[Reward | None]] = {i.id: [None] * len(i.stories) for i in evaluation_set.instances}
    seen: set[tuple[str, int]] = set()
    for line in read_jsonl(path):
        try:
            reward = Reward.from_row(line.row)
        except (ValueError, TypeError) as error:  # BadRow is a ValueError
            raise line.error(str(error)) from error
        if (reward.id, reward.candidate) in seen:
            raise line.error(f"candidate {reward.candidate} stands twice; {_AGAIN}")
        seen.add((reward.id, reward.candidate))
        story = _story_of(reward, known, settings)
        if story is None:
            raise line.error(_why_foreign(reward, known, evaluation_set.name, settings))
        if reward.id in rows:
            _put(reward, story, known[0][reward.id], rows[reward.id])
    if not seen:
        raise DataError(f"{path}: holds no rewards; {_AGAIN}")
    missing = [(key, candidate) for key, own in rows.items() for candidate, row in enumerate(own) if row is None]
    if missing:
        n, (first, candidate) = sum(map(len, rows.values())), missing[0]
        raise DataError(
            f"{path}: {len(missing)} of {n} stories of {evaluation_set.name} have no row, the first is {first} "
            f"candidate {candidate}; {_AGAIN}"
        )
    if settings.get("rewards") not in (None, digest(path.read_text(encoding="utf-8"))):
        raise DataError(f"{path}: was changed after its run ended; {_AGAIN}")
    return _scored_set({key: [r for r in own if r is not None] for key, own in rows.items()}, settings)


def read_scored_sets(
    paths: list[str], evaluation_set: EvaluationSet, scored_as: EvaluationSet | None = None
) -> list[ScoredSet]:
    """Read several rewards files as ``read_scored_set`` does; scorers of one name are named after their files."""
    return with_distinct_names([read_scored_set(path, evaluation_set, scored_as) for path in paths], paths)


def with_distinct_names(scored_sets: list[ScoredSet], paths: list[str]) -> list[ScoredSet]:
    """Name scorers of one name by their precision where that differs, and after their files where it does not."""
    return _apart(with_precisions(scored_sets), [f"[{path}]" for path in paths])


def with_precisions(scored_sets: list[ScoredSet]) -> list[ScoredSet]:
    """Add the precision to the names of scorers that share a name and differ in it, such as ``model (bf16)``."""
    return _apart(scored_sets, [f"({scored.settings.get('dtype')})" for scored in scored_sets])


def _apart(scored_sets: list[ScoredSet], marks: list[str]) -> list[ScoredSet]:
    marks_of: dict[str, set[str]] = {}
    for scored, mark in zip(scored_sets, marks, strict=True):
        marks_of.setdefault(scored.name, set()).add(mark)
    return [
        replace(scored, name=f"{scored.name} {mark}") if len(marks_of[scored.name]) > 1 else scored
        for scored, mark in zip(scored_sets, marks, strict=True)
    ]


def _scored_set(rows: Mapping[str, list[Reward]], settings: Mapping[str, Any]) -> ScoredSet:
    scorer = settings.get("scorer") or {}
    name = str(scorer.get("name") or scorer.get("model") or settings["digest"][:12])
    is_judge = scorer.get("kind") == "judge"
    return ScoredSet(
        name=f"{name} ({scorer['mode']})" if is_judge and scorer.get("mode") else name,
        kind="judge" if is_judge else "model",
        rewards={key: [r.reward for r in group] for key, group in rows.items()},
        truncated={key: [r.truncated for r in group] for key, group in rows.items()},
        reasons={key: reason for key, group in rows.items() if (reason := _reason(group))},
        settings=scorer,
        digest=str(settings["digest"]),
        report=settings.get("report") or {},
    )


_AGAIN = "run `storyalign score` again with the same --out: it scores only what is missing"


def read_settings(path: Path) -> dict[str, Any]:
    """Read what made a rewards file.

    Raises:
        DataError: the file or its settings are missing or broken, or its run has not ended.
    """
    if not path.is_file():
        if list(path.parent.glob(f"{glob.escape(path.name)}.part-*")):
            raise DataError(f"{path}: its run has not ended; {_AGAIN}")
        raise DataError(f"{path}: no such file")
    sidecar = path.with_name(f"{path.name}.scorer.json")
    try:
        settings = orjson.loads(sidecar.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{sidecar}: missing; it says which scorer made {path.name}, so keep it beside it, or score again; rewards"
            " of your own come in by `storyalign import rewards`"
        ) from None
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(f"{sidecar}: cannot be read ({error}); score again") from error
    if not isinstance(settings, dict) or not isinstance(settings.get("digest"), str):
        raise DataError(f"{sidecar}: holds no settings of a scorer; score again")
    return settings


def _story_of(reward: Reward, known: list[dict[str, Instance]], settings: Mapping[str, Any]) -> str | None:
    """Find the story that a row's signature fits; a scorer that sees the whole group signs all its stories."""
    for instance in (instances[reward.id] for instances in known if reward.id in instances):
        for story in instance.stories:
            rivals = instance.stories if settings.get("sees_rivals") else ()
            if reward.signature == row_signature(settings["digest"], instance.prompt, story, rivals):
                return story
    return None


def _why_foreign(reward: Reward, known: list[dict[str, Instance]], data: str, settings: Mapping[str, Any]) -> str:
    if not any(reward.id in instances for instances in known):
        return f"{data} has no instance of this id; the rewards belong to other data"
    if (settings.get("scorer") or {}).get("text_rule") != TEXT_RULE:
        return f"the texts were read by another rule than {TEXT_RULE} (docs/rewards.md); {_AGAIN}"
    return (
        f"candidate {reward.candidate}: the signature fits no story of this group, or not this scorer; the story "
        f"changed, or another model, revision or setting made the row; {_AGAIN}"
    )


def _put(reward: Reward, story: str, instance: Instance, own: list[Reward | None]) -> None:
    """Put a row where its story stands; of equal stories, at its own place or the next free one."""
    places = [c for c, text in enumerate(instance.stories) if same_text(text) == same_text(story) and own[c] is None]
    if places:
        own[reward.candidate if reward.candidate in places else places[0]] = reward


def _reason(group: list[Reward]) -> str | None:
    for reward in group:
        if reward.reward is None:
            detail = f": {reward.detail}" if reward.detail else ""
            return f"candidate {reward.candidate} {reward.status}{detail}"
    return None
