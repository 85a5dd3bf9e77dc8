"""A model's results where the Hub shows them: ``.eval_results/`` for the leaderboard, ``model-index`` in the card."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml

from storyalign.errors import DataError
from storyalign.hub.payload import Payload
from storyalign.hub.release.multiple_choice import OVERALL, overall_task
from storyalign.hub.released_rows import SAMPLE_NAMES
from storyalign.records import row_digest
from storyalign.text import digest

RESULTS_FILE = "results.json"
POSTED_FILE = ".eval_results/storyrmb.yaml"


class Result(NamedTuple):
    """One accuracy of a model."""

    task: str
    """A task id of the benchmark's ``eval.yaml``: all instances, a dimension, or a source."""
    accuracy: float
    """A fraction of 1."""
    n: int


def with_results(payload: Payload, results: Path, benchmark: tuple[str, str], rows: Payload | None = None) -> Payload:
    """Add a model's results to its files: the evaluation itself, the posted entries, and the card's ``model-index``.

    Args:
        payload: the model's files.
        results: ``results.json`` of an evaluation.
        benchmark: ``ORG/NAME`` and commit of the benchmark that was scored.
        rows: that benchmark; with it the digests are compared.

    Raises:
        DataError: the file is none of an evaluation, holds not exactly one model, or was measured on other rows.
    """
    try:
        data = results.read_bytes()
    except OSError as error:
        raise DataError(f"{results}: cannot be read ({error.strerror}); run storyalign evaluate first") from error
    found = read_results(data, str(results))
    if rows is not None:
        _require_same_rows(orjson.loads(data), rows, str(results))
    card = with_model_index(payload.text("README.md"), found, benchmark)
    posted = posted_yaml(found, benchmark)
    return payload.with_files({RESULTS_FILE: data, POSTED_FILE: posted.encode(), "README.md": card.encode()})


def _require_same_rows(results: dict[str, Any], rows: Payload, where: str) -> None:
    from storyalign.hub.released_rows import read_rows

    instances = sorted((placed.row for placed in read_rows(rows)), key=lambda row: row.id)
    found = digest(*(row_digest(instance.to_row()) for instance in instances))
    measured = results.get("data", {}).get("digest")
    if measured != found:
        raise DataError(
            f"{where}: measured on other rows (digest {str(measured)[:12]}) than {rows.folder} holds ({found[:12]}); "
            "evaluate the model again"
        )


def read_results(data: bytes, where: str) -> list[Result]:
    """Read the accuracies of the one model in a results file: overall, by dimension, by source.

    Raises:
        DataError: the file is none of an evaluation, or does not hold exactly one model.
    """
    try:
        models = [s for s in orjson.loads(data)["scorers"] if s["kind"] == "model"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{where}: no results of an evaluation ({error}); run storyalign evaluate again") from error
    if len(models) != 1:
        raise DataError(f"{where}: expected the results of one model, found {len(models)}")
    model = models[0]
    parts = {OVERALL: model, **model["by_dimension"], **model["by_source"]}
    return [
        Result(name, float(part["accuracy"]), int(part["n"]))
        for name, part in parts.items()
        if part["accuracy"] is not None
    ]


def posted_yaml(results: list[Result], benchmark: tuple[str, str]) -> str:
    """Write ``.eval_results/*.yaml``: one entry a task, accuracies as fractions."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    repo, revision = benchmark
    entries = [
        EvalResultEntry(
            dataset_id=repo,
            task_id=overall_task(_is_sample(repo)) if result.task == OVERALL else result.task,
            value=result.accuracy,
            dataset_revision=revision,
            notes=f"top-1 accuracy, n={result.n}",
        )
        for result in results
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)


def with_model_index(card: str, results: list[Result], benchmark: tuple[str, str]) -> str:
    """Write the results into the front matter of a model card, replacing older ones on the same benchmark."""
    from huggingface_hub import ModelCard

    parsed: Any = ModelCard(card)
    repo, revision = benchmark
    kept = [old for old in parsed.data.eval_results or [] if old.dataset_type != repo]
    parsed.data.model_name = parsed.data.model_name or _title(card)
    parsed.data.eval_results = kept + [_eval_result(result, repo, revision) for result in results]
    return str(parsed)


def _eval_result(result: Result, repo: str, revision: str) -> Any:
    from huggingface_hub import EvalResult

    # Results on one dataset become one entry, told apart by their metrics' names alone.
    part = "" if result.task == OVERALL else f" ({result.task})"
    return EvalResult(
        task_type="text-ranking",
        dataset_type=repo,
        dataset_name="StoryRMB (synthetic sample)" if _is_sample(repo) else "StoryRMB",
        dataset_split="test",
        dataset_revision=revision,
        metric_type="accuracy",
        metric_name=f"top-1 accuracy{part}",
        metric_value=result.accuracy,
    )


def _is_sample(repo: str) -> bool:
    """Return whether a repository holds the synthetic sample, which is released under one name alone."""
    return repo.rpartition("/")[2].lower() == SAMPLE_NAMES["storyrmb"]


def _title(card: str) -> str:
    return next((line[2:].strip() for line in card.splitlines() if line.startswith("# ")), "StoryReward")
