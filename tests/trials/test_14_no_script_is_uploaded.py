"""Trial 14, the upload: no ``<repository>.py`` reaches the Hub, and what is there loads (datasets#7676, #7693)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_storyrmb
from tests.support.hub_runs import REPOSITORY, running_hub
from tests.support.rows import storyrmb_row

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

LOAD = """
import json
from datasets import load_dataset
from huggingface_hub import HfApi

print(json.dumps({
    "files": HfApi().list_repo_files("demo/storyrmb", repo_type="dataset"),
    "rows": sorted(load_dataset("demo/storyrmb", split="test")["id"]),
    "human": sorted(r["id"] for r in load_dataset("demo/storyrmb", "human_llm", split="test", streaming=True)),
}))
"""


def test_no_script_is_uploaded(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(10)))
    folder = build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb").path
    with running_hub(tmp_path) as hub:
        shutil.copy(REPOSITORY / "dataset_scripts/storyrmb.py", folder)
        refused = hub.storyalign("release", "dataset", str(folder), "--repo", "demo/storyrmb")
        assert (refused.returncode, hub.log("POST", "/commit/")) == (2, [])
        assert "a dataset holds no code, but storyrmb.py is in it" in refused.stderr

        (folder / "storyrmb.py").unlink()
        done = hub.storyalign("release", "dataset", str(folder), "--repo", "demo/storyrmb")
        assert done.returncode == 0, done.stderr
        seen = hub.python(LOAD)
    assert not [path for path in seen["files"] if path.endswith(".py")]
    assert seen["rows"] == [f"rmb-{i:04d}" for i in range(10)]
    assert seen["human"] == [f"rmb-{i:04d}" for i in range(0, 10, 2)]
