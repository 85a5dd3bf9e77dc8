"""StoryRMB as a multiple-choice task, and ``eval.yaml``, which registers it on the Hub as a benchmark.

Models post their results under the task ids of ``eval.yaml``: one for all instances, one for each dimension, one for
each source. For LLMs the file is a whole task: ``inspect eval hf/ORG/storyrmb/storyrmb --model ...``.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from storyalign.hub.cards.dataset_card import NewConfig, add_config
from storyalign.hub.payload import Payload
from storyalign.hub.released_rows import SAMPLE_NAMES, read_rows
from storyalign.records import DIMENSIONS, SOURCES, Instance

CONFIG = "multiple_choice"
OVERALL = "storyrmb"
"""The task over all instances; the sample's has the sample's name."""

QUESTION = "Which of these stories would readers prefer as an answer to this premise?\n\n"


def overall_task(sample: bool) -> str:
    """Return the id of the task over all instances."""
    return SAMPLE_NAMES["storyrmb"] if sample else OVERALL


def add_benchmark_task(payload: Payload, work: Path, sample: bool) -> Payload:
    """Add the multiple-choice configuration and ``eval.yaml`` to the files of a StoryRMB folder.

    Args:
        payload: the folder's files.
        work: a folder for what is written.
        sample: the rows are the kit's synthetic sample.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for placed in read_rows(payload):
        if isinstance(placed.row, Instance):
            groups[placed.row.source or "", placed.row.dimension or ""].append(as_question(placed.row))
    files: dict[str, Path | bytes] = {}
    for (source, dimension), rows in groups.items():
        name = f"{CONFIG}/{source}/{dimension}.parquet"
        files[name] = work / name
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=_schema()), work / name, compression="zstd")
    splits = _splits({key: len(rows) for key, rows in groups.items()})
    section = _SECTION.replace("TASK", overall_task(sample))
    card = add_config(payload.text("README.md"), NewConfig(CONFIG, _features(), splits, section))
    tasks = {overall_task(sample): "test", **{split: split for split in splits if split != "test"}}
    return payload.with_files({**files, "README.md": card.encode(), "eval.yaml": eval_yaml(tasks, sample).encode()})


def as_question(instance: Instance) -> dict[str, Any]:
    """Turn an instance into a question with its stories in an order that its id alone decides.

    Returns:
        ``id``, ``question``, ``choices`` (stories), ``answer`` (index of the chosen one), ``dimension``, ``source``.
    """
    order = sorted(range(len(instance.stories)), key=lambda i: hashlib.sha256(f"{instance.id} {i}".encode()).digest())
    return {
        "id": instance.id,
        "question": QUESTION + instance.prompt,
        "choices": [instance.stories[i] for i in order],
        "answer": order.index(0),
        "dimension": instance.dimension,
        "source": instance.source,
    }


def eval_yaml(splits: Mapping[str, str], sample: bool) -> str:
    """Write ``eval.yaml``.

    Args:
        splits: task id -> split.
        sample: the rows are the kit's synthetic sample.
    """
    field_spec = {"input": "question", "target": "answer", "choices": "choices"}
    tasks = [
        {
            "id": task,
            "config": CONFIG,
            "split": split,
            "field_spec": field_spec.copy(),
            "solvers": [{"name": "multiple_choice"}],
            "scorers": [{"name": "choice"}],
        }
        for task, split in splits.items()
    ]
    facts = {
        "name": "StoryRMB (synthetic sample)" if sample else "StoryRMB",
        "description": "A synthetic sample to try the kit on, not StoryRMB: no figure says how good a model is."
        if sample
        else "Does a model prefer the story that people prefer? Top-1 accuracy among four for one premise.",
        "evaluation_framework": "inspect-ai",
        "tasks": tasks,
    }
    return yaml.safe_dump(facts, sort_keys=False, allow_unicode=True, width=120)


def _splits(counts: dict[tuple[str, str], int]) -> dict[str, tuple[str, int]]:
    splits = {"test": (f"{CONFIG}/*/*.parquet", sum(counts.values()))}
    for dimension in DIMENSIONS:
        if n := sum(count for (_, d), count in counts.items() if d == dimension):
            splits[dimension] = (f"{CONFIG}/*/{dimension}.parquet", n)
    for source in SOURCES:
        if n := sum(count for (s, _), count in counts.items() if s == source):
            splits[source] = (f"{CONFIG}/{source}/*.parquet", n)
    return splits


def _features() -> Any:
    from datasets import Features, Sequence, Value

    text = Value("string")
    columns = {"id": text, "question": text, "choices": Sequence(text), "answer": Value("int64")}
    return Features({**columns, "dimension": text, "source": text})


def _schema() -> Any:
    return _features().arrow_schema.remove_metadata()


_SECTION = """## As a multiple-choice task

The configuration `multiple_choice` holds the same instances as questions for an LLM: `question`, `choices` in an order
that the id decides, and `answer`, the place of the preferred story counted from 0. Its split `test` has all of them,
the other splits have those of one dimension or one source. `eval.yaml` makes them tasks for
[Inspect](https://inspect.aisi.org.uk):

```sh
inspect eval hf/ORG/NAME/TASK --model MODEL
```"""
