"""All constructions with a real model behind a real server, on an export and on real stories.

SmolLM2-135M writes badly, so many rows come to nothing; what counts is that each one says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.judged_groups import read_judged_groups
from storyalign.files import read_jsonl, write_jsonl
from storyalign.text import count_words
from tests.support.command import environment, storyalign
from tests.support.story_shelf import write_export
from tests.support.transformers_serve import served_model

pytestmark = [pytest.mark.full, pytest.mark.real_data, pytest.mark.timeout(1500)]

MAPPING = """
columns: {title: title, abstract: abstract, story: content, category: category, author: author, engagement: reads}
constants: {corpus: shelf, license: cc-by-4.0, engagement_kind: reads}
decimal: "."
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with served_model(tmp_path_factory.mktemp("serve") / "log") as served:
        yield served


def real_stories(folder: Path) -> Iterator[dict]:
    """Human stories of the judged sets, cut to what a small model can take."""
    for name in ("fastdetect_wp.jsonl", "hanna.jsonl"):
        for group in read_judged_groups(folder / name):
            for candidate in group.candidates:
                if candidate.human and candidate.story:
                    story = ". ".join(candidate.story.split(". ")[:6])
                    row = HumanStory(group.id, group.premise, story, corpus=name, license=group.license)
                    if 40 <= count_words(story) <= 120:
                        yield row.to_row()


def ids(files: list[Path]) -> list[str]:
    return sorted(line.row["id"] for file in files for line in read_jsonl(file))


def test_every_row_is_accounted_for(server: tuple[str, str], tmp_path: Path) -> None:
    if not os.environ.get("STORYALIGN_REAL_DATA"):
        pytest.skip("STORYALIGN_REAL_DATA is not set")
    data, (url, model) = Path(os.environ["STORYALIGN_REAL_DATA"]), server
    write_export(tmp_path / "export.csv", 40)
    (tmp_path / "export.yaml").write_text(MAPPING)
    files = [tmp_path / "shelf.jsonl", tmp_path / "real.jsonl"]
    imported = storyalign(
        "import",
        "stories",
        "columns",
        tmp_path / "export.csv",
        "--mapping",
        tmp_path / "export.yaml",
        "--out",
        files[0],
    )
    assert imported.returncode == 0, imported.stderr
    assert write_jsonl(files[1], real_stories(data)) > 20
    endpoint = {"url": url, "model": model, "max_concurrency": 1, "timeout": 300}
    recipe = {
        "stories": list(map(str, files)),
        "premises": [str(data / "mops/curated.jsonl")],
        "endpoints": {"one": endpoint, "two": endpoint},
        "back_generation": {"endpoint": "one", "target": 2, "min_count": 3, "max_tokens": 120},
        "rewriting": {"writers": ["one", "two"], "target": 3, "min_words": 30, "max_words": 120, "extra_tokens": 60},
        "guided_continuation": {
            "writers": ["one"], "target": 2, "min_words": 30, "max_words": 120, "extra_tokens": 60, "copy_cap": 1.0
        },
        "llm_pairs": {
            "target": 2, "words": 40, "min_words": 5, "extra_tokens": 60, "judge_tokens": 40,
            "pairings": [{"smaller": "one", "larger": "two"}],
        },
        "mix": {"targets": {}, "total": None, "against": [str(data / "lamp_rank.jsonl")]},
    }  # fmt: skip
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
    out, made = tmp_path / "out", 0
    for name in ("back_generation", "rewriting", "guided_continuation", "llm_pairs"):
        command = [sys.executable, "-m", "storyalign", "construct", name, "--recipe", tmp_path / "recipe.yaml"]
        done = subprocess.run(
            [*map(str, command), "--out", str(out)], env=environment(), capture_output=True, text=True, timeout=700
        )
        assert done.returncode == 0, done.stderr + done.stdout
        print(done.stdout)
        folders = [note.parent for note in (out / name).rglob("asked.json")]
        assert folders
        for folder in folders:
            asked = ids(list((folder / "replies").glob("*.jsonl")))
            assert ids([folder / "rows.jsonl", folder / "dropped.jsonl"]) == asked
            assert all(line.row["reason"] for line in read_jsonl(folder / "dropped.jsonl"))
        made += sum(1 for _ in read_jsonl(out / name / "pairs.jsonl"))
    if made:
        mixed = storyalign("construct", "mix", "--recipe", tmp_path / "recipe.yaml", "--out", out)
        assert mixed.returncode == 0, mixed.stderr
        print(mixed.stdout)
