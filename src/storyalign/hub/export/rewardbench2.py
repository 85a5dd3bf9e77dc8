"""StoryRMB, or other groups, in the columns of RewardBench 2, so that its runner takes the folder as it is.

The runner wants ``id``, ``prompt``, ``chosen`` and ``rejected`` as lists, ``num_correct``, ``total_completions`` and
``subset``; the subset here is the dimension. See allenai/reward-bench, ``load_bon_dataset_v2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from storyalign.hub.build.row_checks import KIT_AUTHOR
from storyalign.hub.export.exported_folder import write_export
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
    """Return an instance as a row of RewardBench 2."""
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
    sample = False

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        nonlocal sample
        for instance in instances:
            sample = sample or instance.chosen_writer == KIT_AUTHOR
            yield "test", rewardbench2_row(instance)

    def card(counts: Mapping[str, int]) -> str:
        return _CARD.replace("NOTE\n", _SAMPLE_NOTE if sample else "")

    return write_export(rows(), COLUMNS, out, _HEADING, card)["test"]


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
