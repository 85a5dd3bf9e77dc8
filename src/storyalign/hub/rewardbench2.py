"""StoryRMB, or other groups, in the columns of RewardBench 2, so that its runner takes the folder as it is.

The runner wants ``id``, ``prompt``, ``chosen`` and ``rejected`` as lists, ``num_correct``, ``total_completions`` and
``subset``; the subset here is the dimension. See allenai/reward-bench, ``load_bon_dataset_v2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.errors import DataError
from storyalign.files import atomic_folder
from storyalign.hub.exported_folder import require_replaceable
from storyalign.hub.row_checks import KIT_AUTHOR
from storyalign.records import Instance

COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("prompt", pa.string()),
        ("chosen", pa.list_(pa.string())),
        ("rejected", pa.list_(pa.string())),
        ("num_correct", pa.int64()),
        ("num_incorrect", pa.int64()),
        ("total_completions", pa.int64()),
        ("models", pa.list_(pa.string())),
        ("subset", pa.string()),
        ("license", pa.string()),
    ]
)
"""RewardBench 2's columns without its ``additional_metadata``, and the licence, which travels with every row."""

FILE = "data/test-00000-of-00001.parquet"


def rewardbench2_row(instance: Instance) -> dict[str, Any]:
    """Turn an instance into a row of RewardBench 2."""
    writers = [instance.chosen_writer, *instance.rejected_writers]
    return {
        "id": instance.id,
        "prompt": instance.prompt,
        "chosen": [instance.chosen],
        "rejected": list(instance.rejected),
        "num_correct": 1,
        "num_incorrect": len(instance.rejected),
        "total_completions": len(instance.stories),
        "models": [writer or "unknown" for writer in writers],
        "subset": instance.dimension or "all",
        "license": instance.license,
    }


def export_rewardbench2(instances: Iterable[Instance], out: Path) -> int:
    """Write a folder that ``load_dataset(out, split="test")`` and RewardBench 2's runner take.

    Args:
        instances: StoryRMB, or any groups with one chosen story.
        out: the folder.

    Returns:
        The number of rows.

    Raises:
        DataError: there are no instances, or ``out`` holds something else.
    """
    require_replaceable(out, _HEADING)
    rows, sample = 0, False
    with atomic_folder(out) as folder:
        (folder / "data").mkdir()
        with pq.ParquetWriter(folder / FILE, COLUMNS, compression="zstd") as writer:
            for batch in _batches(instances):
                writer.write_table(pa.Table.from_pylist([rewardbench2_row(item) for item in batch], schema=COLUMNS))
                rows += len(batch)
                sample = sample or any(item.chosen_writer == KIT_AUTHOR for item in batch)
        if not rows:
            raise DataError(f"{out}: no instances to export")
        (folder / "README.md").write_text(_CARD.replace("NOTE\n", _SAMPLE_NOTE if sample else ""), encoding="utf-8")
    return rows


def _batches(instances: Iterable[Instance], size: int = 500) -> Iterator[list[Instance]]:
    batch: list[Instance] = []
    for instance in instances:
        batch.append(instance)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


_HEADING = "# Groups of stories in the columns of RewardBench 2"

_SAMPLE_NOTE = """
> **This is the kit's synthetic sample, not StoryRMB.** No figure measured here says how good a reward model is.
"""

_CARD = f"""---
configs:
- config_name: default
  data_files:
  - split: test
    path: {FILE}
---

{_HEADING}
NOTE

In a checkout of [RewardBench](https://github.com/allenai/reward-bench), with the path of this folder:

```sh
python scripts/run_v2.py --model MODEL --dataset THIS_FOLDER --do_not_save
```

The subset of a row is its dimension. The runner cuts texts after 2,048 tokens unless told otherwise (`--max_length`);
stories are longer. A tie at the top earns its share there as here.
"""
