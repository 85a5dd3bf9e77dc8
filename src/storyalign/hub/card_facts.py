"""The numbers that a card may name: what the rows of a dataset say, and what JSON and YAML files hold."""

from __future__ import annotations

import itertools
import statistics
from array import array
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
import pyarrow as pa
import yaml

from storyalign.errors import DataError
from storyalign.hub.card_numbers import scalars
from storyalign.hub.parquet_texts import read_batches
from storyalign.hub.payload import Payload
from storyalign.hub.table_words import words_of_column

EVAL_RESULTS = ".eval_results/"
"""Where a model's posted results stand."""

STORIES = ("chosen", "rejected")
MAX_VALUES = 500
"""A column with more different values than this is no category, and not counted by value."""


def card_facts(payload: Payload) -> set[float]:
    """Collect every number that stands behind the files of a payload.

    From Parquet: rows by file, by split and by configuration, by each category, by each pair of categories, and the
    lengths of the stories in words (number, sum, mean, median, extremes). From JSON and YAML files, but for posted
    results: every number, and the length of every list.

    Raises:
        DataError: a file cannot be read.
    """
    return _files(payload) | _rows(payload)


def _files(payload: Payload) -> set[float]:
    found: set[float] = set()
    for path in payload.files:
        if PurePosixPath(path).name in ("tokenizer.json", "vocab.json"):
            continue  # tens of thousands of numbers that no card speaks of
        if path.startswith(EVAL_RESULTS):
            continue  # claims as the card's, with nothing behind them
        try:
            if path.endswith(".json"):
                found.update(scalars(orjson.loads(payload.read(path))))
            elif path.endswith((".yaml", ".yml")):
                found.update(scalars(yaml.safe_load(payload.text(path))))
        except (orjson.JSONDecodeError, yaml.YAMLError) as error:
            raise DataError(f"{payload.folder / path}: cannot be read ({' '.join(str(error).split())})") from error
    return found


def _rows(payload: Payload) -> set[float]:
    sizes: Counter[str] = Counter()
    values: dict[str, Counter[Any]] = {}
    pairs: dict[tuple[str, str], Counter[Any]] = {}
    words = array("I")
    for path, source in payload.files.items():
        if not path.endswith(".parquet") or not isinstance(source, Path):
            continue
        place = PurePosixPath(path)
        split = place.name.partition("-")[0]
        for batch in read_batches(source):
            sizes.update(
                dict.fromkeys({path, "", place.parent.as_posix(), split, f"{place.parent}/{split}"}, batch.num_rows)
            )
            rows = {name: _cells(batch.column(name)) for name in batch.schema.names if name not in (*STORIES, "prompt")}
            rows["split"] = [split] * batch.num_rows
            _count(rows, values, pairs)
            for name in STORIES:
                if name in batch.schema.names:
                    words.extend(_words(batch.column(name)))
    facts = {float(n) for n in sizes.values()}
    for counter in (*values.values(), *pairs.values()):
        facts.update(map(float, counter.values()))
        facts.add(float(len(counter)))
    if words:
        facts.update(
            (len(words), sum(words), statistics.fmean(words), statistics.median(words), min(words), max(words))
        )
    return facts


def _words(column: Any) -> list[int]:
    """Count the words of each story of a column of texts or of lists of texts; nulls have none to count."""
    texts = column.flatten() if pa.types.is_list(column.type) else column
    return words_of_column(texts.drop_null()).tolist() if pa.types.is_string(texts.type) else []


def _cells(column: Any) -> list[Any]:
    return [tuple(cell) if isinstance(cell, list) else cell for cell in column.to_pylist()]


def _count(
    rows: dict[str, list[Any]], values: dict[str, Counter[Any]], pairs: dict[tuple[str, str], Counter[Any]]
) -> None:
    categories = {}
    for name, cells in rows.items():
        counter = values.setdefault(name, Counter())
        if len(counter) <= MAX_VALUES:
            if any(isinstance(cell, dict | float) for cell in cells):
                continue
            counter.update(cells)
            counter.update(item for cell in cells if isinstance(cell, tuple) for item in cell)
            categories[name] = cells
    for first, second in itertools.combinations(categories, 2):
        if len(values[first]) <= MAX_VALUES and len(values[second]) <= MAX_VALUES:
            pairs.setdefault((first, second), Counter()).update(zip(categories[first], categories[second], strict=True))
