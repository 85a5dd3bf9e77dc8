"""Rewards that were made elsewhere, as a rewards file of the kit: checked against the data, signed like any other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from storyalign.corpus.evaluation_sets import EvaluationSet, load_evaluation_set
from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError, RecipeError
from storyalign.records import Reward
from storyalign.scoring.reward_store import Counts, Request, RewardStore, open_store, row_signature
from storyalign.scoring.run import Scorer, score_instances
from storyalign.text import digest

ByStory = Mapping[tuple[str, int], float | None]
"""(instance id, candidate) -> reward; None where there is none."""

Groups = Sequence[Sequence[float | None]]
"""One list per instance, in the order of the data, with one reward per candidate."""

_RESERVED = ("kind", "model", "imported", "text_rule")


def write_own_rewards(
    rewards: ByStory | Groups | Sequence[float],
    data: str | Path | EvaluationSet,
    out: str | Path,
    *,
    name: str,
    settings: Mapping[str, Any] | None = None,
) -> Counts:
    """Write rewards that were made elsewhere as a rewards file with its settings, which ``evaluate`` reads.

    Candidate 0 is the chosen story, ``i`` is ``rejected[i - 1]``; stories of judged groups count as their file lists
    them. None, NaN and infinite rewards are stored as unscored.

    Args:
        rewards: by (instance id, candidate), or in the order of the data: one list per instance, or one number per
            story.
        data: what was scored: a dataset folder, a JSONL file or a Hub id.
        out: the rewards file, ending in ``.jsonl``.
        name: of the scorer, for tables.
        settings: of the scorer, for its signature, such as ``{"dtype": "bf16"}``.

    Raises:
        DataError: a story has no entry, or an entry no story; or ``out`` holds rewards that were scored here.
        RecipeError: a setting has a name that the kit uses itself, or ``out`` another ending.
    """
    out, settings = Path(out), dict(settings or {})
    if out.suffix != ".jsonl":
        raise RecipeError(f"{out}: the name of a rewards file must end in .jsonl")
    if taken := [key for key in _RESERVED if key in settings]:
        raise RecipeError(f"the setting {taken[0]} is the kit's own; choose another name")
    if not isinstance(data, EvaluationSet):
        data = load_evaluation_set(data, needs_gold=False, every_story=True)
    by_story = rewards if isinstance(rewards, Mapping) else _by_story(rewards, data)
    _check(by_story, data)
    before = RewardStore(out).settings() or {}
    if before and not (before.get("scorer") or {}).get("imported"):
        raise DataError(f"{out}: holds rewards that were scored here; name another --out")
    with open_store(out, fresh=True) as store:
        facts = {"name": data.name, "digest": data.digest}
        return score_instances(_OwnRewards(name, settings, by_story), data.instances, store, facts)


def read_own_rewards(path: str | Path) -> ByStory | Groups | Sequence[float]:
    """Read rewards from a file.

    Args:
        path: .npy (one row per group, or one number per story), or a table (.jsonl, .json, .csv, .tsv, .parquet) whose
            rows have ``id``, ``candidate`` and ``reward``, or ``id`` and a list ``rewards``, or a list ``rewards``
            alone, in the order of the data.

    Returns:
        Rewards by (id, candidate), by group in order, or (flat .npy) by story in order.

    Raises:
        DataError: the file cannot be read, or mixes forms.
        RowError: a row is broken, or comes twice.
    """
    path = Path(path)
    if path.suffix == ".npy":
        return _read_array(path)
    by_story: dict[tuple[str, int], float | None] = {}
    groups: list[list[float | None]] = []
    for line in read_table(path):
        row = line.row
        several = row.get("rewards")
        if several is not None and not isinstance(several, list):
            raise line.error(f"rewards must be a list of numbers, got {type(several).__name__}")
        if several is not None and "id" not in row:
            groups.append([_number(line, value) for value in several])
            continue
        if "id" not in row or (several is None and not {"candidate", "reward"} <= set(row)):
            raise line.error("expected id, candidate and reward, or id and rewards, or rewards alone")
        places = enumerate(several) if several is not None else [(_candidate(line), row["reward"])]
        for candidate, value in places:
            if (key := (str(row["id"]), candidate)) in by_story:
                raise line.error(f"duplicate reward for {key[0]}, candidate {candidate}")
            by_story[key] = _number(line, value)
    if groups and by_story:
        raise DataError(f"{path}: some rows have an id and some have none; write one kind")
    if not groups and not by_story:
        raise DataError(f"{path}: holds no rewards")
    return by_story or groups


class _OwnRewards(Scorer):
    """A scorer that looks rewards up."""

    sees_rivals = False

    def __init__(self, name: str, settings: Mapping[str, Any], rewards: ByStory):
        self._rewards = rewards
        self.signature: dict[str, Any] = {"kind": "reward_model", "model": name, "imported": True, **settings}
        values = sorted((key[0], key[1], str(value)) for key, value in rewards.items())
        self.digest = digest(orjson.dumps([self.signature, values], option=orjson.OPT_SORT_KEYS).decode())

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Yield one row per story."""
        for one in requests:
            value = self._rewards[one.id, one.candidate]
            signature = row_signature(self.digest, one.prompt, one.story)
            if value is None:
                row = Reward(one.id, one.candidate, None, 0, False, "failed", signature, "no reward was imported")
            elif not math.isfinite(value):
                row = Reward(one.id, one.candidate, None, 0, False, "not_finite", signature, f"imported as {value}")
            else:
                row = Reward(one.id, one.candidate, float(value), 0, False, "scored", signature)
            yield [row]


def _by_story(rewards: Sequence[Any], data: EvaluationSet) -> dict[tuple[str, int], float | None]:
    sizes = [len(item.stories) for item in data.instances]
    if rewards and not isinstance(rewards[0], Sequence):
        if len(rewards) != sum(sizes):
            raise DataError(f"{data.name}: has {sum(sizes)} stories, the file {len(rewards)} rewards")
        flat = iter(rewards)
        rewards = [[next(flat) for _ in range(size)] for size in sizes]
    if len(rewards) != len(sizes):
        raise DataError(f"{data.name}: has {len(sizes)} groups, the rewards {len(rewards)}")
    for number, (item, group) in enumerate(zip(data.instances, rewards, strict=True), start=1):
        if len(group) != len(item.stories):
            raise DataError(f"group {number} ({item.id}): {len(group)} rewards for {len(item.stories)} stories")
    return {
        (item.id, candidate): value
        for item, group in zip(data.instances, rewards, strict=True)
        for candidate, value in enumerate(group)
    }


def _check(rewards: ByStory, data: EvaluationSet) -> None:
    wanted = {(item.id, candidate) for item in data.instances for candidate in range(len(item.stories))}
    for what, keys in (("have no reward", wanted - set(rewards)), ("are not in the data", set(rewards) - wanted)):
        if keys:
            first, candidate = min(keys)
            raise DataError(
                f"{data.name}: {len(keys)} stories {what}, the first is {first} candidate {candidate} (the chosen story"
                " is 0, then the rejected ones)"
            )


def _read_array(path: Path) -> Groups | Sequence[float]:
    import numpy

    try:
        array = numpy.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: cannot be read as an array of numbers ({error})") from error
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or not array.size:
        raise DataError(f"{path}: holds {array.dtype}{list(array.shape)}; expected numbers in one or two dimensions")
    values: list[list[float | None]] | list[float] = array.astype(float).tolist()
    return values


def _candidate(line: Any) -> int:
    value = line.row["candidate"]
    if not str(value).isdecimal():
        raise line.error(f"candidate is {value!r}; expected 0 (chosen), 1, 2, ...")
    return int(value)


def _number(line: Any, value: Any) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise line.error(f"reward must be a number or null, got {type(value).__name__}")
    try:
        return float(value)
    except ValueError:
        raise line.error(f"reward must be a number, got {value!r}") from None
