"""From the Hub and back: a dataset with withheld rows is released, downloaded and filled in by its id alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.support.hub_runs import RunningHub
from tests.support.rows import storyrmb_row


@pytest.mark.full
def test_withheld_rows_come_back(hub: RunningHub, tmp_path: Path) -> None:
    rows = [storyrmb_row(i, license="all-rights-reserved" if i < 4 else "mit") for i in range(10)]
    write_jsonl(tmp_path / "raw.jsonl", rows)
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    release = ("release", "dataset", "storyrmb", "--repo", "demo/storyrmb")
    refused = hub.storyalign(*release, cwd=tmp_path)
    assert (refused.returncode, hub.log("POST", "/commit/")) == (2, [])
    assert "all-rights-reserved (4 rows)" in refused.stderr
    done = hub.storyalign(*release, "--withhold", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "texts withheld, ids and digests published: all-rights-reserved (4 rows)" in done.stdout

    # Stories alone, one a file, as somebody may keep them; one is missing at first.
    stories = tmp_path / "stories"
    stories.mkdir()
    texts = [text for row in rows[:4] for text in (row["prompt"], row["chosen"], *row["rejected"])]
    for number, text in enumerate(texts[1:]):
        (stories / f"{number}.txt").write_text(text + "\n")
    fill = ("rehydrate", "demo/storyrmb", "--source", str(stories), "--out", "full")
    missing = hub.storyalign(*fill, cwd=tmp_path)
    assert (missing.returncode, (tmp_path / "full").exists()) == (2, False)
    assert "1 of 4 withheld rows were not found (first: rmb-0000)" in missing.stderr
    (stories / "last.txt").write_text(texts[0])
    filled = hub.storyalign(*fill, cwd=tmp_path)
    assert filled.returncode == 0, filled.stderr
    assert "10 rows, 4 of them filled in; the digest is the original's" in filled.stdout
    file = "data/human_llm/test-00000-of-00001.parquet"
    assert pq.read_table(tmp_path / "full" / file).equals(pq.read_table(tmp_path / "storyrmb" / file))
