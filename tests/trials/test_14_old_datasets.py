"""Trial 14 (datasets#7676, #7693): the built folders and the scripts in versions of datasets that people still use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows

ROOT = Path(__file__).resolve().parents[2]

LOAD = """
import json, sys
from datasets import load_dataset
seen = {}
for name in ("storyrmb", "story_preferences"):
    for split, rows in load_dataset(name).items():
        seen[f"{name} {split}"] = rows["id"][:]
part = load_dataset("storyrmb", "human_llm", split="test")
seen["part"] = [part[0]["rejected"], part.features["dimension"].names[part[0]["dimension"]], part[0]["tau_avg"]]
seen["rewriting"] = {split: rows["id"][:] for split, rows in load_dataset("story_preferences", "rewriting").items()}
stream = load_dataset("storyrmb", "llm_llm", split="test", streaming=True)
seen["streamed"] = [row["id"] for row in stream]
"""

RUN_SCRIPTS = """
scripts, raw, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
rows = load_dataset(scripts + "/storyrmb.py", "human_llm", data_files=raw + "/rmb.jsonl", split="test", **options)
seen["script"] = rows["id"][:]
rows = load_dataset(scripts + "/story_preferences.py", "rewriting", data_files=raw + "/pairs.jsonl", **options)
seen["script rewriting"] = {split: rows["id"][:] for split, rows in rows.items()}
"""


def build(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    build_storyrmb([write_rows(folder / "rmb.jsonl", [storyrmb_row(n) for n in range(4)])], folder / "storyrmb")
    raw = write_rows(folder / "pairs.jsonl", [pair_row(n) for n in range(5)])
    build_story_preferences([raw], folder / "story_preferences")


def load(python: Path | str, folder: Path, code: str, *arguments: str) -> dict[str, Any]:
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "HF_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
    }
    # The threads of a stream may outlive its last row, and abort an interpreter that ends before them.
    code += "\nprint(json.dumps(seen), flush=True)\nimport os\nos._exit(0)"
    done = subprocess.run(
        [str(python), "-c", code, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


EXPECTED = {
    "storyrmb test": ["rmb-0000", "rmb-0002", "rmb-0001", "rmb-0003"],
    "story_preferences train": ["pair-0000", "pair-0002", "pair-0001", "pair-0003"],
    "story_preferences validation": ["pair-0004"],
    "part": [storyrmb_row(0)["rejected"], "coherence", 0.75],
    "rewriting": {"train": ["pair-0000", "pair-0002"], "validation": ["pair-0004"]},
    "streamed": ["rmb-0001", "rmb-0003"],
}


def test_the_installed_version_loads_both_folders(tmp_path: Path) -> None:
    build(tmp_path)
    assert load(sys.executable, tmp_path, LOAD) == EXPECTED


def test_the_parquet_files_hold_what_every_version_reads(tmp_path: Path) -> None:
    build(tmp_path)
    shards = list(tmp_path.rglob("*.parquet"))
    assert len(shards) == 5
    for shard in shards:
        schema = pq.read_schema(shard)
        assert not schema.metadata
        assert {str(kind).replace("element", "item") for kind in schema.types} <= {
            "string", "int8", "int64", "double", "list<item: string>"
        }  # fmt: skip
    assert not list(tmp_path.glob("story*/**/*.py")), "a script beside Parquet makes a repository unloadable"


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("version", "options"), [("2.14.7", {}), ("3.6.0", {"trust_remote_code": True})])
def test_older_versions_load_the_folders_and_run_the_scripts(
    tmp_path: Path, version: str, options: dict[str, Any]
) -> None:
    build(tmp_path)
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"datasets=={version}"]
    subprocess.run(install, check=True, timeout=600)
    arguments = (str(ROOT / "dataset_scripts"), str(tmp_path), json.dumps(options))
    seen = load(python, tmp_path, LOAD + RUN_SCRIPTS, *arguments)
    assert seen == {
        **EXPECTED,
        "script": ["rmb-0000", "rmb-0002"],
        "script rewriting": {"train": ["pair-0000", "pair-0002"], "validation": ["pair-0004"]},
    }

    raw = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(n, chosen=f"New ending {n}.") for n in range(4)])
    build_storyrmb([raw], tmp_path / "storyrmb")
    again = """
import json
from datasets import load_dataset
seen = {"chosen": load_dataset("storyrmb", split="test")["chosen"][:]}
"""
    assert load(python, tmp_path, again) == {"chosen": [f"New ending {n}." for n in (0, 2, 1, 3)]}
