"""Whole runs over real HTTP against the scripted writer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.judged_groups import read_judged_groups
from storyalign.files import read_jsonl
from tests.support.command import environment, storyalign
from tests.support.constructions import clever, write_recipe
from tests.support.rows import write_rows
from tests.support.scripted_llm_server import Fault, Running, scripted_server
from tests.support.slurm_commands import run_tasks, slurm
from tests.support.story_shelf import story_row, write_export, write_shelf

pytest.importorskip("datatrove")
pytest.importorskip("rensa")
pytest.importorskip("rapidfuzz")

__all__ = ["slurm"]

COUNT = 60


def rows(path: Path) -> list[dict[str, Any]]:
    return [line.row for line in read_jsonl(path)]


def construct(verb: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return storyalign("construct", verb, "--recipe", folder / "recipe.yaml", "--out", folder / "run", *more)


def prepare(folder: Path, running: Running, **sections: Any) -> None:
    write_recipe(folder / "recipe.yaml", running.url, write_shelf(folder / "stories.jsonl", COUNT), **sections)


@pytest.mark.timeout(600)
def test_from_stories_to_a_dataset_folder(tmp_path: Path) -> None:
    leaking = story_row(1)
    bench = [{"id": "rmb-1", "prompt": "Another wording.", "chosen": leaking["story"], "rejected": ["a", "b", "c"]}]
    write_rows(tmp_path / "bench.jsonl", bench)
    mix = {
        "targets": {"rewriting": 16},
        "total": None,
        "validation_share": 0.1,
        "against": [str(tmp_path / "bench.jsonl")],
    }
    with scripted_server(clever) as running:
        prepare(tmp_path, running, mix=mix)
        dry = construct("preferences", tmp_path, "--dry-run")
        assert (dry.returncode, running.requests) == (0, []), dry.stderr
        assert "llm_pairs_judge: large" in dry.stdout
        done = construct("preferences", tmp_path)
        asked = len(running.requests)
        again = construct("preferences", tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert len(running.requests) == asked, "a second run asks nothing"
    made = Counter(row["construction"] for row in rows(tmp_path / "run/pairs.jsonl"))
    assert set(made) == {"back_generation", "rewriting", "guided_continuation", "llm_pairs"}
    assert made["rewriting"] <= 16
    texts = {text for row in rows(tmp_path / "run/pairs.jsonl") for text in (row["chosen"], row["rejected"])}
    assert leaking["story"] not in texts
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert sum(report["counts"].values()) == made.total()
    tally = report["rows"]
    assert tally["read"] == tally["kept"] + sum(tally["dropped"].values())
    # every row of every step is accounted for, and so is every row of a construction
    for name in made:
        planned = [n for f in (tmp_path / "run" / name).glob("planned*/*.jsonl") for n in rows(f)]
        planned = planned or rows(tmp_path / "run" / name / "planned.jsonl")
        finished = [
            n for kind in ("rows", "dropped") for f in (tmp_path / "run" / name).rglob(f"{kind}.jsonl") for n in rows(f)
        ]
        assert sorted(row["id"] for row in finished) == sorted(row["id"] for row in planned), name
    assert again.returncode == 0
    assert len(rows(tmp_path / "run/check/pairs.jsonl")) == sum(min(20, n) for n in made.values())
    built = storyalign("build", "story_preferences", "--raw", tmp_path / "run/pairs.jsonl", "--out", tmp_path / "sp")
    assert built.returncode == 0, built.stderr


@pytest.mark.timeout(600)
def test_killed_and_run_again_it_ends_with_the_same_rows(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def slow(body: dict[str, Any], number: int) -> Fault | str:
        """Fail every fifth request once, never its second try: two tries are all that the recipe allows."""
        key = json.dumps(body, sort_keys=True)
        asked[key] += 1
        failing = zlib.crc32(key.encode()) % 5 == 0 and asked[key] % 2 == 1
        return Fault(status=503) if failing else clever(body, number)

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with scripted_server(slow) as running:
        for folder in (whole, broken):
            folder.mkdir()
            prepare(folder, running)
        assert construct("rewriting", whole).returncode == 0
        command = [sys.executable, "-m", "storyalign", "construct", "rewriting", "--recipe", broken / "recipe.yaml"]
        process = subprocess.Popen(
            [*command, "--out", broken / "run"], env=environment(), stderr=subprocess.DEVNULL, start_new_session=True
        )
        before = len(running.requests)
        deadline = time.monotonic() + 120
        while len(running.requests) < before + 9 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)  # with the helper processes of datatrove
        process.wait(timeout=60)
        assert not (broken / "run/rewriting/pairs.jsonl").exists()
        assert construct("rewriting", broken).returncode == 0
    assert rows(broken / "run/rewriting/pairs.jsonl") == rows(whole / "run/rewriting/pairs.jsonl")
    assert len(rows(broken / "run/rewriting/pairs.jsonl")) >= 10


def test_a_cost_limit_stops_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    with scripted_server(clever) as running:
        prepare(tmp_path, running)
        text = (tmp_path / "recipe.yaml").read_text()
        priced = text.replace("    model: large\n", "    model: large\n    price: {prompt: 1000.0, reply: 1000.0}\n")
        (tmp_path / "recipe.yaml").write_text(priced)
        done = construct("back_generation", tmp_path, "--cost-limit", "3")
        assert done.returncode == 2
        assert "the cost limit of $3.00 leaves no room for another call" in done.stderr
        few = len(running.requests)
        assert construct("back_generation", tmp_path).returncode == 0
    assert 0 < few < len(running.requests) == 13  # 12 and a tenth to spare


def test_wrong_recipes_and_rows_are_named(tmp_path: Path) -> None:
    with scripted_server(clever) as running:
        prepare(tmp_path, running, rewriting={"target": 3, "writers": ["nobody"]})
        assert (
            "recipe.yaml: no endpoint 'nobody'; endpoints has large, other, small" in construct("mix", tmp_path).stderr
        )
        prepare(tmp_path, running, rewriting={"targets": 3})
        assert "rewriting.targets is unknown; did you mean target?" in construct("rewriting", tmp_path).stderr
        prepare(tmp_path, running)
        stories = [story_row(n) for n in range(4)]
        stories[2]["story"] = "  "
        write_rows(tmp_path / "stories.jsonl", stories)
        done = construct("rewriting", tmp_path)
    assert done.returncode == 2
    assert "stories.jsonl:3 (id shelf-2): story is missing or empty" in done.stderr
    assert not list((tmp_path / "run").rglob("*.jsonl"))


def test_without_writers_the_offline_edits_rewrite(tmp_path: Path) -> None:
    with scripted_server(clever) as running:
        prepare(tmp_path, running, rewriting={"target": 10})
        done = construct("rewriting", tmp_path, "--limit", "4")
    assert (done.returncode, running.requests) == (0, [])
    assert len(rows(tmp_path / "run/rewriting/pairs.jsonl")) == 4


@pytest.mark.real_data
@pytest.mark.timeout(600)
def test_real_stories_and_an_export_become_a_dataset_without_the_benchmarks_stories(tmp_path: Path) -> None:
    if not os.environ.get("STORYALIGN_REAL_DATA"):
        pytest.skip("STORYALIGN_REAL_DATA is not set")
    data = Path(os.environ["STORYALIGN_REAL_DATA"])
    human = [
        HumanStory(f"{name}-{g.id}", g.premise, c.story, corpus=name, license=g.license, language=g.language).to_row()
        for name in ("hanna", "fastdetect_wp", "confederacy")
        for g in read_judged_groups(data / f"{name}.jsonl")
        for c in g.candidates
        if c.human and c.story
    ]
    write_rows(tmp_path / "real.jsonl", human)
    write_export(tmp_path / "export.csv", COUNT)
    (tmp_path / "export.yaml").write_text(
        "columns: {title: title, abstract: abstract, story: content, category: category, author: author,"
        " engagement: reads}\nconstants: {corpus: shelf, license: cc-by-4.0, engagement_kind: reads}\ndecimal: '.'\n"
    )
    mapping = ("--mapping", tmp_path / "export.yaml", "--out", tmp_path / "shelf.jsonl")
    imported = storyalign("import", "stories", "columns", tmp_path / "export.csv", *mapping)
    assert imported.returncode == 0, imported.stderr
    mix = {"targets": {}, "total": None, "against": [str(data / "hanna.jsonl"), str(data / "lamp_rank.jsonl")]}
    with scripted_server(clever) as running:
        write_recipe(
            tmp_path / "recipe.yaml",
            running.url,
            tmp_path / "shelf.jsonl",
            tmp_path / "real.jsonl",
            premises=[str(data / "mops/curated.jsonl")],
            rewriting={"writers": ["large"], "target": 200},
            guided_continuation={"writers": ["large", "other"], "target": 100, "min_words": 150},
            mix=mix,
        )
        done = construct("preferences", tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    pairs, report = rows(tmp_path / "run/pairs.jsonl"), json.loads((tmp_path / "run/report.json").read_text())
    corpora = Counter(row["corpus"] for row in pairs if row["construction"] == "rewriting")
    # every pair made of a story of hanna is a leak, and no other story is in either evaluation set
    assert set(corpora) == {"shelf", "fastdetect_wp", "confederacy"}
    assert {leak["evaluation_set"].split()[0] for k in report["leakage"]["examples"].values() for leak in k} == {
        "hanna.jsonl"
    }
    built = storyalign("build", "story_preferences", "--raw", tmp_path / "run/pairs.jsonl", "--out", tmp_path / "sp")
    assert built.returncode == 0, built.stderr


def test_a_cluster_gets_the_jobs_and_the_next_call_collects_what_they_answered(tmp_path: Path, slurm: Path) -> None:
    with scripted_server(clever) as running:
        prepare(tmp_path, running, cluster={"server": "endpoint", "tasks": 2})
        first = construct("rewriting", tmp_path, "--executor", "slurm")
        assert first.returncode == 0, first.stderr
        assert "rows are with the cluster; run again when its jobs have ended" in first.stdout
        assert running.requests == []
        assert (slurm / "submitted").read_text().count("--export") == 2
        folders = sorted(p.parent for p in (tmp_path / "run").rglob("executor.pik"))
        assert [folder.parent.name for folder in folders] == ["large", "other"]  # both writers' jobs at once
        for folder in folders:
            run_tasks(folder, 2)
        asked = len(running.requests)
        assert asked
        second = construct("rewriting", tmp_path, "--executor", "slurm")
        assert second.returncode == 0, second.stderr
        assert len(running.requests) == asked
        local = storyalign("construct", "rewriting", "--recipe", tmp_path / "recipe.yaml", "--out", tmp_path / "local")
        assert local.returncode == 0, local.stderr
    made = (tmp_path / "run/rewriting/pairs.jsonl").read_bytes()
    assert made == (tmp_path / "local/rewriting/pairs.jsonl").read_bytes()
    wrong = construct("rewriting", tmp_path, "--executor", "pbs")
    assert wrong.returncode == 2
    assert "--executor pbs: unknown; choose local, slurm or ray" in wrong.stderr
