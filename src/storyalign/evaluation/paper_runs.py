"""The runs in a folder that the paper's tables can be filled from, found by what their files say of themselves.

A rewards file belongs to the benchmark when its settings name the benchmark's digest, and to best-of-N when they name
that of the candidates. A scorer gets the name of a row of the paper through ``paper.yaml``, or through the entry of
``recipes/scorers.yaml`` whose model or judge it is; all others keep their own names and stand below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from storyalign.audit.accuracy_table import paper_table
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError
from storyalign.evaluation.scored_sets import ScoredSet, read_scored_set, with_distinct_names
from storyalign.scoring.systems import load_scorers
from storyalign.settings import checked, from_entry, read_recipe

SYSTEMS = [row.name for row in paper_table("paper:1")]
"""The rows of Table 1, in its order."""

ABLATIONS = [row.name for row in paper_table("paper:2")]
"""The rows of Table 2 below StoryReward-Qwen."""

_LEFT_OUT = ("back_generation", "guided_continuation", "rewriting")
_ABLATION_RECIPES = {f"ablation_no_{name}": row for name, row in zip(_LEFT_OUT, ABLATIONS, strict=True)}


@checked
@dataclass(frozen=True, slots=True)
class PaperSettings:
    """``paper.yaml`` of a run folder; both fields may be missing."""

    names: Mapping[str, str] | None = None
    """Rewards file, relative to the folder -> name of its row."""
    human_rankings: tuple[str, ...] | None = None
    """Files of human rankings of the best-of-N candidates, relative to the folder."""


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """Scorers by what they scored."""

    benchmark: list[ScoredSet]
    best_of_n: list[ScoredSet]
    passed_over: dict[str, str]
    """Rewards file -> why it is in no table."""


def read_paper_settings(folder: Path) -> PaperSettings:
    """Read ``paper.yaml``, if there is one.

    Raises:
        RecipeError: it has another form.
    """
    path = folder / "paper.yaml"
    if not path.is_file():
        return PaperSettings()
    return read_recipe(path, lambda content: from_entry(PaperSettings, content))


def find_runs(
    folder: Path, benchmark: EvaluationSet, candidates: EvaluationSet | None, names: Mapping[str, str]
) -> FoundRuns:
    """Read every finished rewards file below a folder.

    Args:
        folder: where to look.
        benchmark: StoryRMB, or a set like it.
        candidates: the stories of a best-of-N run.
        names: see ``PaperSettings``.

    Raises:
        DataError: a rewards file names one of the sets and does not fit it, or ``names`` gives one row to two files.
    """
    found: dict[str, dict[str, ScoredSet]] = {"benchmark": {}, "best_of_n": {}}
    passed_over: dict[str, str] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        place, settings = path.relative_to(folder).as_posix(), _json(path.with_name(f"{path.name}.scorer.json"))
        if not isinstance(settings, dict) or "digest" not in settings:
            if _holds_rewards(path):
                passed_over[place] = f"holds rewards, but {path.name}.scorer.json does not stand beside it"
            continue
        scored_on = settings.get("data") or {}
        for key, data in (("best_of_n", candidates), ("benchmark", benchmark)):
            if data is not None and (scored_on.get("digest") or benchmark.digest) == data.digest:
                scored = read_scored_set(path, data)
                found[key][place] = replace(scored, name=names.get(place) or row_name(scored))
                break
        else:
            name = scored_on.get("name")
            passed_over[place] = f"scored on {name}, which is neither the benchmark nor the candidates"
    return FoundRuns(_apart(folder, found["benchmark"], names), _apart(folder, found["best_of_n"], names), passed_over)


def _apart(folder: Path, runs: Mapping[str, ScoredSet], names: Mapping[str, str]) -> list[ScoredSet]:
    """Name scorers after their files where two share a name; two files for one name of ``paper.yaml`` are a mistake."""
    own = [scored.name for scored in runs.values()]
    for place, scored in runs.items():
        if own.count(scored.name) > 1 and place in names:
            raise DataError(f"{folder}: two rewards files for {scored.name}; name them apart under names in paper.yaml")
    return with_distinct_names(list(runs.values()), list(runs))


def _json(path: Path, *, first_line: bool = False) -> Any:
    """Return what a file holds; None where it cannot be read or is not JSON."""
    try:
        with path.open("rb") as lines:
            return orjson.loads(lines.readline() if first_line else lines.read())
    except (OSError, orjson.JSONDecodeError):
        return None


def _holds_rewards(path: Path) -> bool:
    """Return whether a file without settings looks like rewards: a copy whose settings stayed behind."""
    row = _json(path, first_line=True)
    return isinstance(row, dict) and {"candidate", "reward", "signature"} <= set(row)


def row_name(scored: ScoredSet) -> str:
    """Find the row of the paper that a scorer is, by its model or judge; its own name where it is none."""
    settings = scored.settings
    if settings.get("kind") == "judge":
        if settings.get("mode") == "criteria":  # asked as in Table 10, not as in Table 1
            return scored.name
        judge = str(settings.get("name", "")).removeprefix("judge:")
        return next((row for row in SYSTEMS if row.casefold() == judge.casefold()), scored.name)
    model = str(settings.get("model") or "")
    for recipe, row in _ABLATION_RECIPES.items():
        if recipe in re.split(r"[/\\]", model):
            return row
    for name, entry in load_scorers()["reward_models"].items():
        if model and model.casefold() in (name.casefold(), str(entry.get("model")).casefold()):
            return str(name)
    return scored.name
