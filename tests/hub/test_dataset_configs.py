from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.dataset_scripts.story_preferences import CONSTRUCTIONS, FEATURES, SPLITS
from storyalign.hub.dataset_configs import ConfigFiles
from tests.rows import pair_row

ROWS, TEXT = 10, "x" * 100_000


def block(number: int) -> pa.Table:
    """Ten long pairs of one configuration, a short one of another."""
    rows = [
        {**pair_row(number * 100 + n), "chosen": TEXT, "construction": "llm_pairs", "split": "train"}
        for n in range(ROWS)
    ]
    rows[3] = {**pair_row(number * 100 + 3), "construction": "rewriting", "split": "validation"}
    return pa.Table.from_pylist(rows)


def test_rows_of_a_rare_configuration_wait_alone(tmp_path: Path) -> None:
    counted: list[int] = []
    files = ConfigFiles(
        tmp_path, CONSTRUCTIONS, "construction", SPLITS, FEATURES, 1 << 30, lambda table: counted.append(len(table))
    )
    before = pa.total_allocated_bytes()
    for number in range(60):
        files.write(block(number))
    # 54 MB went by. Two groups of 8 MB may be open in each thread, and one is being gathered; a slice of each block
    # would keep all of them.
    assert pa.total_allocated_bytes() - before < 36 << 20
    facts = {config.name: config for config in files.close()}
    assert sum(counted) == 60 * ROWS
    assert [(s.name, s.n_rows) for s in facts["rewriting"].splits] == [("validation", 60)]
    assert [(s.name, s.n_rows) for s in facts["llm_pairs"].splits] == [("train", 540)]
    (path,) = (tmp_path / "data/rewriting").iterdir()
    assert pq.read_table(path).column("id").to_pylist() == [f"pair-{n * 100 + 3:04d}" for n in range(60)]
