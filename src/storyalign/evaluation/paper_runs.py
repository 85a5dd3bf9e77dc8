"""The runs in a folder that the paper's tables can be filled from, found by what their files say of themselves.

A rewards file belongs to the benchmark when its settings name the benchmark's digest, and to best-of-N when they name
that of the candidates. A scorer gets the name of a row of the paper through ``paper.yaml``, or through the entry of
``recipes/scorers.yaml`` whose model or judge it is; all others keep their own names and stand below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import yaml

from storyalign.audit.accuracy_table import paper_table
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.scored_sets import ScoredSet, read_scored_set
from storyalign.scoring.systems import load_scorers

SYSTEMS = [row.name for row in paper_table("paper:1")]
"""The rows of Table 1, in its order."""

ABLATIONS = [row.name for row in paper_table("paper:2")]
"""The rows of Table 2 below StoryReward-Qwen."""

_ABLATION_RECIPES = dict(
    zip(
        ("ablation_no_back_generation", "ablation_no_guided_continuation", "ablation_no_rewriting"),
        ABLATIONS,
        strict=True,
    )
)
_FIELDS = {"names", "human_rankings"}


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """``paper.yaml`` of a run folder; both fields may be missing."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Rewards file, relative to the folder -> name of its row."""
    human_rankings: tuple[str, ...] = ()
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
    try:
        content = yaml.safe_load(path.read_text("utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from error
    names, rankings = (
        (content.get("names") or {}, content.get("human_rankings") or []) if _is_known(content) else (0, 0)
    )
    if not isinstance(names, dict) or not isinstance(rankings, list):
        raise RecipeError(f"{path}: expected names (rewards file: row) and human_rankings (a list of files)")
    return PaperSettings({str(k): str(v) for k, v in names.items()}, tuple(map(str, rankings)))


def _is_known(content: Any) -> bool:
    return isinstance(content, dict) and set(content) <= _FIELDS


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
    benchmark_runs: list[tuple[str, ScoredSet]] = []
    bon_runs: list[tuple[str, ScoredSet]] = []
    passed_over: dict[str, str] = {}
    for path in sorted(folder.rglob("*.jsonl")):
        settings = _settings_of(path)
        place = path.relative_to(folder).as_posix()
        if settings is None:
            if _holds_rewards(path):
                passed_over[place] = f"holds rewards, but {path.name}.scorer.json does not stand beside it"
            continue
        scored_on = (settings.get("data") or {}).get("digest")
        if candidates is not None and scored_on == candidates.digest:
            bon_runs.append((place, _read(path, place, candidates, names)))
        elif scored_on in (None, benchmark.digest):
            benchmark_runs.append((place, _read(path, place, benchmark, names)))
        else:
            data = (settings.get("data") or {}).get("name")
            passed_over[place] = f"scored on {data}, which is neither the benchmark nor the candidates"
    return FoundRuns(_apart(folder, benchmark_runs, names), _apart(folder, bon_runs, names), passed_over)


def _apart(folder: Path, runs: list[tuple[str, ScoredSet]], names: Mapping[str, str]) -> list[ScoredSet]:
    """Name scorers after their files where two share a name; two files for one name of ``paper.yaml`` are a mistake."""
    own = [scored.name for _, scored in runs]
    for place, scored in runs:
        if own.count(scored.name) > 1 and place in names:
            raise DataError(f"{folder}: two rewards files for {scored.name}; name them apart under names in paper.yaml")
    return [replace(s, name=f"{s.name} [{place}]") if own.count(s.name) > 1 else s for place, s in runs]


def _settings_of(path: Path) -> dict[str, Any] | None:
    try:
        settings = orjson.loads(path.with_name(f"{path.name}.scorer.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return settings if isinstance(settings, dict) and "digest" in settings else None


def _holds_rewards(path: Path) -> bool:
    """Return whether a file without settings looks like rewards: a copy whose settings stayed behind."""
    try:
        with path.open("rb") as lines:
            row = orjson.loads(lines.readline())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(row, dict) and {"candidate", "reward", "signature"} <= set(row)


def _read(path: Path, place: str, data: EvaluationSet, names: Mapping[str, str]) -> ScoredSet:
    scored = read_scored_set(path, data)
    return replace(scored, name=names.get(place) or row_name(scored))


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
