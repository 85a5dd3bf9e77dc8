"""Results to show: folders with ``results.json`` (reported) and rewards files (recomputed here from every reward).

A folder, or a dataset of the Hub, may hold any number of runs in folders of their own. A scorer whose rewards are
there, and fit a set that is loaded, is computed anew and counts as verified; what a ``results.json`` says of other
scorers is shown as reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError, HubError, StoryAlignError
from storyalign.evaluation.results import evaluate_scorers
from storyalign.evaluation.scored_sets import ScoredSet, null_scored_sets, read_scored_set, with_precisions


@dataclass(frozen=True, slots=True)
class Row:
    """One scorer on one benchmark."""

    name: str
    values: Mapping[str, Any]
    """The fields of ``storyalign.evaluation.results.ScorerResult``; only some where the row is merely reported."""
    verified: bool
    """Computed here from the rewards."""

    @property
    def kind(self) -> str:
        """``model``, ``judge`` or ``null``."""
        return str(self.values.get("kind", "model"))


@dataclass(frozen=True, slots=True)
class Board:
    """All that is known of one benchmark."""

    name: str
    digest: str
    chance: float | None
    signature: str
    rows: tuple[Row, ...]
    evaluation_set: EvaluationSet | None = None
    scored: Mapping[str, ScoredSet] = field(default_factory=dict)
    """Row name -> its rewards, for the verified rows."""


def read_results(places: Iterable[str | Path], sets: Sequence[EvaluationSet]) -> tuple[list[Board], list[str]]:
    """Read every result under some folders, files or datasets of the Hub.

    Args:
        places: folders, ``results.json`` files, or ids of datasets on the Hub.
        sets: the loaded sets; rewards are checked against them.

    Returns:
        One board a benchmark, those with loaded sets first, and one line for each file that cannot be used.
    """
    problems: list[str] = []
    reported: dict[str, dict[str, Any]] = {}
    verified: dict[str, list[ScoredSet]] = {}
    for place in places:
        try:
            folder = _folder(place)
        except StoryAlignError as error:
            problems.append(str(error))
            continue
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*results*.json")):
            _note_problem(problems, folder, partial(_take_report, path, reported))
        for path in [] if folder.is_file() else sorted(folder.rglob("*.jsonl.scorer.json")):
            rewards = path.with_name(path.name.removesuffix(".scorer.json"))
            _note_problem(problems, folder, partial(_take_rewards, rewards, sets, verified))
    boards = [_board(s, verified.get(s.digest, []), reported.pop(s.digest, {})) for s in sets if s.digest]
    boards += [_reported_board(digest, found) for digest, found in reported.items()]
    return [board for board in boards if board.rows], problems


def result_places(settings: Mapping[str, str]) -> list[str]:
    """Return where results are: ``STORYALIGN_RESULTS`` (by commas), else the folder around a model just trained.

    Args:
        settings: environment variables.
    """
    named = [place.strip() for place in settings.get("STORYALIGN_RESULTS", "").split(",") if place.strip()]
    around = Path(settings.get("STORYALIGN_MODEL") or "-").parent
    return named or ([str(around)] if (around / "results.json").is_file() else [])


def published(boards: Sequence[Board]) -> dict[str, dict[str, Mapping[str, list[float | None]]]]:
    """Return the verified rewards of models and judges: digest of the set -> scorer -> instance id -> rewards."""
    return {
        board.digest: {
            row.name: board.scored[row.name].rewards
            for row in board.rows
            if row.name in board.scored and row.kind != "null"
        }
        for board in boards
    }


def _folder(place: str | Path) -> Path:
    if Path(place).exists():
        return Path(place)
    if str(place).count("/") != 1:
        raise DataError(f"{place}: no such folder; give a folder, a results.json or the id of a dataset on the Hub")
    import huggingface_hub

    try:
        wanted = ["*.json", "*.jsonl"]
        return Path(huggingface_hub.snapshot_download(str(place), repo_type="dataset", allow_patterns=wanted))
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        reason = " ".join(str(error).split())[:300]
        raise HubError(f"{place}: no such folder, and no dataset that can be had from the Hub ({reason})") from error


def _note_problem(problems: list[str], folder: Path, take: Callable[[], None]) -> None:
    """Take one file; a problem is told without where on the server's disk the file lies."""
    try:
        take()
    except StoryAlignError as error:
        problems.append(str(error).replace(f"{folder}/", ""))


def _take_report(path: Path, reported: dict[str, dict[str, Any]]) -> None:
    """Read one results.json; a later file of the same benchmark adds its scorers."""
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise DataError(f"{path}: cannot be read as results ({error})") from error
    scorers = value.get("scorers") if isinstance(value, dict) else None
    if not isinstance(scorers, list) or not all(isinstance(s, dict) and s.get("name") for s in scorers):
        raise DataError(f"{path}: holds no results; expected a list `scorers` with names in it")
    for scorer in scorers:
        accuracy = scorer.get("accuracy")
        if accuracy is not None and not (isinstance(accuracy, int | float) and 0 <= accuracy <= 1):
            raise DataError(f"{path}: accuracy of {scorer['name']} is {accuracy!r}; expected a fraction from 0 to 1")
    data = value.get("data") or {}
    key = str(data.get("digest") or value.get("signature") or path)
    known = reported.setdefault(key, {**value, "scorers": []})
    known["scorers"] = [*known["scorers"], *scorers]


def _take_rewards(path: Path, sets: Sequence[EvaluationSet], verified: dict[str, list[ScoredSet]]) -> None:
    """Read one rewards file against the set that it fits; the last refusal is raised if it fits none."""
    refusal: StoryAlignError = DataError(f"{path}: no set is loaded that these rewards could belong to")
    for evaluation_set in sets:
        try:
            scored = read_scored_set(path, evaluation_set)
        except StoryAlignError as error:
            refusal = error
        else:
            verified.setdefault(evaluation_set.digest, []).append(scored)
            return
    raise refusal


def _board(evaluation_set: EvaluationSet, scored_sets: list[ScoredSet], report: Mapping[str, Any]) -> Board:
    scored_sets = _different_names(with_precisions(scored_sets))
    chance: float | None
    if scored_sets and evaluation_set.has_gold:
        scored_sets += null_scored_sets(evaluation_set.instances)
        results = evaluate_scorers(evaluation_set, scored_sets)
        rows = [Row(result.name, asdict(result), True) for result in results.scorers]
        chance, signature = results.chance, results.signature
    else:
        rows, chance, signature, scored_sets = [], report.get("chance"), str(report.get("signature") or ""), []
    names = {row.name for row in rows}
    rows += [row for row in _reported_rows(report) if row.name not in names]
    return Board(
        name=evaluation_set.name,
        digest=evaluation_set.digest,
        chance=chance,
        signature=signature,
        rows=tuple(rows),
        evaluation_set=evaluation_set,
        scored={scored.name: scored for scored in scored_sets},
    )


def _reported_board(digest: str, report: Mapping[str, Any]) -> Board:
    name = str((report.get("data") or {}).get("name") or "a benchmark")
    return Board(name, digest, report.get("chance"), str(report.get("signature") or ""), tuple(_reported_rows(report)))


def _reported_rows(report: Mapping[str, Any]) -> list[Row]:
    rows: dict[str, Row] = {}
    for scorer in report.get("scorers", []):
        rows[str(scorer["name"])] = Row(str(scorer["name"]), scorer, False)
    return list(rows.values())


def _different_names(scored_sets: Sequence[ScoredSet]) -> list[ScoredSet]:
    seen: dict[str, int] = {}
    named = []
    for scored in scored_sets:
        seen[scored.name] = seen.get(scored.name, 0) + 1
        again = seen[scored.name]
        named.append(scored if again == 1 else replace(scored, name=f"{scored.name} ({again})"))
    return named
