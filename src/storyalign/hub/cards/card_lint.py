"""What is wrong with a card: placeholders, no licence, front matter that the Hub refuses, unbacked results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

import yaml

from storyalign.errors import DataError
from storyalign.hub.cards.posted_results import RESULTS_FILE, read_results
from storyalign.hub.parquet_texts import rows_of_file
from storyalign.hub.payload import Payload, front_matter, split_card

PLACEHOLDERS = re.compile(
    r"\[?More Information Needed\]?|\[(?:optional|todo|tbd)\]|\b(?:TODO|TBD|FIXME|XXX)\b|lorem ipsum"
    r"|\{\{.*?\}\}|\{%.*?%\}"
    r"|your-(?:org|username|model|dataset)\b|<(?:org|username|model|dataset)[-_a-z]*>",
    re.IGNORECASE,
)
"""Text that a template or an author left to be filled in."""

COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
MIN_PYTHON = (3, 11)
"""What the package in a Space needs; the Hub's own default is older."""

FULL_VERSION = re.compile(r"\d+\.\d+\.\d+")
SHORT_DESCRIPTION = 60
"""Characters that the Hub allows for a Space's ``short_description``."""


def lint_card(payload: Payload) -> list[str]:
    """List everything that is wrong with the card of a payload; an empty list is a clean card.

    Args:
        payload: the files of the repository, with its README.md.
    """
    text = payload.text("README.md")
    try:
        front, body = split_card(text)
    except ValueError as error:
        return [str(error)]
    problems = [f"a placeholder: {found}" for found in sorted(set(PLACEHOLDERS.findall(_without_code(text))))]
    if not body.strip():
        problems.append("no text below the front matter")
    if not front.get("license"):
        problems.append("no license in the front matter")
    if payload.kind == "dataset":
        problems += _dataset(payload, front)
    elif payload.kind == "model":
        problems += [*_model(front), *_claims(payload, front)]
    else:
        problems += _space(payload, front)
    return problems


def require_front_matter(payload: Payload) -> None:
    """Refuse a card whose front matter has gaps, before anything is built on it.

    Raises:
        DataError: lists them.
    """
    front = front_matter(payload)
    gaps = [] if front.get("license") else ["no license in the front matter"]
    if payload.kind == "dataset":
        gaps += _dataset(payload, front)
    _refuse(payload, gaps)


def require_clean_card(payload: Payload) -> None:
    """Refuse a payload whose card has problems.

    Raises:
        DataError: lists them.
    """
    _refuse(payload, lint_card(payload))


def _refuse(payload: Payload, problems: list[str]) -> None:
    if problems:
        more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise DataError(
            f"{payload.folder / 'README.md'}: {'; '.join(problems[:5])}{more}; mend the card, or build it again"
        )


def _dataset(payload: Payload, front: dict[str, Any]) -> Iterator[str]:
    for key in ("pretty_name", "language", "task_categories", "size_categories", "configs", "dataset_info"):
        if not front.get(key):
            yield f"no {key} in the front matter"
    configs, infos = _dicts(front.get("configs")), front.get("dataset_info") or []
    names = {config.get("config_name") for config in configs}
    described = {info.get("config_name", "default") for info in _dicts(infos if isinstance(infos, list) else [infos])}
    if names and described and names != described:
        yield f"configs and dataset_info name different configurations: {sorted(map(str, names ^ described))}"
    for config in configs:
        name, splits = config.get("config_name"), _dicts(config.get("data_files"))
        if not name or not splits or not all(split.get("split") and split.get("path") for split in splits):
            yield f"configuration {name} does not name its splits and files (data_files: split, path)"
            continue
        for pattern in (pattern for split in splits for pattern in _patterns(split)):
            if not any(fnmatch(path, pattern) for path in payload.files):
                yield f"configuration {name}: no file fits {pattern}"
    for place, said, counted in _row_counts(payload, front):
        yield f"dataset_info says {said} rows of {place}, the files have {counted}"


def _row_counts(payload: Payload, front: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield the splits whose rows in ``dataset_info`` are not those of their Parquet files."""
    said = {
        (info.get("config_name", "default"), split.get("name")): split.get("num_examples")
        for info in _dicts(front.get("dataset_info"))
        for split in _dicts(info.get("splits"))
    }
    for config in _dicts(front.get("configs")):
        for split in _dicts(config.get("data_files")):
            files = {p for p in payload.files for pattern in _patterns(split) if fnmatch(p, pattern)}
            expected = said.get((config.get("config_name"), split.get("split")))
            if expected is None or not all(path.endswith(".parquet") for path in files):
                continue
            if (counted := sum(rows_of_file(payload.files[path]) for path in files)) != expected:
                yield f"{config['config_name']}/{split['split']}", expected, counted


def _patterns(split: dict[str, Any]) -> list[str]:
    path = split.get("path") or []
    return [path] if isinstance(path, str) else list(path)


def _model(front: dict[str, Any]) -> Iterator[str]:
    for key in ("library_name", "pipeline_tag", "base_model"):
        if not front.get(key):
            yield f"no {key} in the front matter"


def _claims(payload: Payload, front: dict[str, Any]) -> Iterator[str]:
    """Results that the Hub shows without anybody reading the card: ``model-index``, and posted entries.

    Each must be an accuracy of the evaluation beside them, to the last digit.
    """
    indexed = [
        metric.get("value")
        for model in _dicts(front.get("model-index"))
        for result in _dicts(model.get("results"))
        for metric in _dicts(result.get("metrics"))
    ]
    claims = {"model-index": indexed}
    for path in payload.files:
        if path.startswith(".eval_results/") and path.endswith((".yaml", ".yml")):
            claims[path] = [entry.get("value") for entry in _dicts(yaml.safe_load(payload.text(path)))]
    if RESULTS_FILE in payload.files:
        measured = {result.accuracy for result in read_results(payload.read(RESULTS_FILE), RESULTS_FILE)}
    else:
        measured = set()
    for place, values in claims.items():
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(numbers) < len(values):
            yield f"{place} has a result that must be a number"
        for value in dict.fromkeys(numbers):
            if value not in measured:
                yield f"{RESULTS_FILE} has no accuracy {value}, the result in {place}"


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _space(payload: Payload, front: dict[str, Any]) -> Iterator[str]:
    for key in ("title", "emoji", "sdk", "sdk_version", "app_file"):
        if not front.get(key):
            yield f"no {key} in the front matter"
    if front.get("sdk_version") and not FULL_VERSION.fullmatch(str(front["sdk_version"])):
        yield f"sdk_version {front['sdk_version']} is no full version like 6.31.0"
    if any(path.endswith(".whl") for path in payload.files) and not _new_enough(front.get("python_version")):
        yield f"python_version {front.get('python_version')} is older than {MIN_PYTHON[0]}.{MIN_PYTHON[1]}, or missing"
    if front.get("app_file") and front["app_file"] not in payload.files:
        yield f"app_file {front['app_file']} is not there"
    for key in ("colorFrom", "colorTo"):
        if front.get(key) is not None and front[key] not in COLORS:
            yield f"{key} {front[key]} is none of {', '.join(sorted(COLORS))}"
    if len(str(front.get("short_description") or "")) > SHORT_DESCRIPTION:
        yield f"short_description has more than {SHORT_DESCRIPTION} characters"


def _new_enough(python_version: object) -> bool:
    parts = str(python_version).split(".")
    return all(part.isdigit() for part in parts) and tuple(map(int, parts)) >= MIN_PYTHON


def _without_code(text: str) -> str:
    """Leave out code, where braces and names in angle brackets may be meant as they stand."""
    return re.sub(r"```.*?```|`[^`\n]*`", " ", text, flags=re.DOTALL)
