"""``storyalign import open`` against a web server that has files in the layouts of the original repositories."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from openpyxl import Workbook

from storyalign.corpus.open_recipe import load_open_recipe
from tests.support.command import environment, storyalign
from tests.support.file_server import FileServer, serving

RECIPE = Path(__file__).parents[2] / "recipes" / "open.yaml"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as running:
        yield running


def recipe(folder: Path, server: FileServer, contents: dict[str, dict[str, bytes]], **options: Any) -> Path:
    """The recipe that ships, for some of its sources and with addresses of the server.

    Args:
        contents: for each source its files by the names under which they are served: ``annotations.csv``.
    """
    shipped = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))["sources"]
    sources = {}
    for name, files in contents.items():
        urls = {file.rpartition(".")[0]: server.add(f"{name}/{file}", data) for file, data in files.items()}
        sources[name] = {**shipped[name], "files": {file: {"url": url, "sha256": None} for file, url in urls.items()}}
        if name in options:
            sources[name]["options"] = {**shipped[name]["options"], **options[name]}
    path = folder / "open.yaml"
    path.write_text(yaml.safe_dump({"sources": sources}, allow_unicode=True), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def hanna(n_prompts: int = 2) -> bytes:
    """Two prompts, five stories each, three raters; the human story is best at relevance, then four systems."""
    out = io.StringIO()
    head = [
        "Story ID",
        "Prompt",
        "Human",
        "Story",
        "Model",
        "Relevance",
        "Coherence",
        "Empathy",
        "Surprise",
        "Engagement",
    ]
    rows = csv.writer(out)
    rows.writerow([*head, "Complexity", "Worker ID", "Assignment ID", "Work time in seconds", "Name"])
    for prompt in range(n_prompts):
        for number, model in enumerate(("Human", "GPT-2", "CTRL", "Fusion", "HINT")):
            story = f"Story {number} of prompt {prompt}, by {model}: the lamp went out {number} times."
            for rater in range(3):
                marks = [5, 4, 4, 4, 4, 4] if model == "Human" else [4 - 0.5 * number] * 6
                rows.writerow(
                    [f"{prompt}{number}", f"Prompt {prompt}.", "-", story, model, *marks, f"W{rater}", "A", 9, "Jo"]
                )
    return out.getvalue().encode()


def litbench() -> bytes:
    rows = [
        {
            "prompt": f"[WP] Prompt {n}.",
            "chosen_story": f"Better story number {n}.",
            "rejected_story": f"Worse story {n}.",
        }
        | {"chosen_timestamp": 1, "rejected_timestamp": 2, "chosen_upvotes": 50 + n, "rejected_upvotes": n}
        for n in range(30)
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


def test_from_the_web_to_two_folders(server: FileServer, tmp_path: Path) -> None:
    path = recipe(tmp_path, server, {"hanna": {"annotations.csv": hanna()}, "litbench": {"train.parquet": litbench()}})
    command = ("import", "open", "--recipe", path, "--out", tmp_path / "open")

    stopped = storyalign(*command)
    assert stopped.returncode == 2
    assert "error: 2 files are not pinned" in stopped.stderr
    assert stopped.stdout.count("sha256") == 2
    assert not (tmp_path / "open" / "storyrmb_open").exists()

    done = storyalign(*command, "--trust-new-files")
    assert done.returncode == 0, done.stderr
    assert server.requests == {"hanna/annotations.csv": 1, "litbench/train.parquet": 1}
    instances = read(tmp_path / "open/raw/instances.jsonl")
    assert [row["chosen_writer"] for row in instances] == ["human", "human"]
    assert {row["source"] for row in instances} == {"human_llm"}
    assert {row["dimension"] for row in instances} == {"relevance"}  # its gap is 1 larger than the others'
    assert {(row["license"], row["corpus"]) for row in instances} == {("mit", "dig-team/hanna-benchmark-asg")}
    assert {row["tau_avg"] for row in instances} == {None}  # each story was rated by other people
    pairs = read(tmp_path / "open/raw/pairs.jsonl")
    assert len(pairs) == 28  # of 30 prompts two are HANNA's
    assert {row["construction"] for row in pairs} == {"imported"}
    assert all(row["chosen_engagement"] > row["rejected_engagement"] for row in pairs)
    assert "dropped 2: its premise is in the benchmark" in done.stdout
    for folder in ("storyrmb_open", "story_preferences_open"):
        assert (tmp_path / "open" / folder / "README.md").is_file()
    judged = read(tmp_path / "open/judged/hanna.jsonl")
    assert judged[0]["candidates"][0]["scores"]["relevance"] == [5.0, 5.0, 5.0]
    sources = (tmp_path / "open/SOURCES.md").read_text()
    assert "COLING 2022" in sources
    assert "unknown" in sources

    before = {p: p.read_bytes() for p in (tmp_path / "open/storyrmb_open").rglob("*.parquet")}
    again = storyalign(*command)  # pinned now, and here
    assert again.returncode == 0, again.stderr
    assert server.requests.total() == 2
    assert before == {p: p.read_bytes() for p in (tmp_path / "open/storyrmb_open").rglob("*.parquet")}

    (tmp_path / "open/downloads/hanna/annotations.csv").unlink()
    server.files["hanna/annotations.csv"] = hanna(1)
    changed = storyalign(*command)
    assert changed.returncode == 2
    assert "the file has changed: SHA256 hash of downloaded file" in changed.stderr
    assert before == {p: p.read_bytes() for p in (tmp_path / "open/storyrmb_open").rglob("*.parquet")}


def test_the_shipped_recipe_pins_all_files_but_those_of_hanna_and_litbench() -> None:
    unpinned = {source.name for source in load_open_recipe(RECIPE) for file in source.files if file.sha256 is None}
    assert unpinned == {"hanna", "litbench"}


def test_a_file_that_differs_from_its_pin_is_refused_also_with_trust(server: FileServer, tmp_path: Path) -> None:
    path = recipe(tmp_path, server, {"hanna": {"annotations.csv": hanna()}})
    content = yaml.safe_load(path.read_text())
    (file,) = content["sources"]["hanna"]["files"].values()
    file["sha256"] = hashlib.sha256(hanna()).hexdigest()
    path.write_text(yaml.safe_dump(content))
    command = ("import", "open", "--recipe", path, "--out", tmp_path / "open", "--trust-new-files")
    server.files["hanna/annotations.csv"] = hanna(1)
    refused = storyalign(*command)
    assert refused.returncode == 2
    assert f"error: {server.url}/hanna/annotations.csv: the file has changed" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert [p.name for p in (tmp_path / "open").rglob("*") if p.is_file()] == []

    server.files["hanna/annotations.csv"] = hanna()
    done = storyalign(*command)
    assert done.returncode == 0, done.stderr
    assert len(read(tmp_path / "open/raw/instances.jsonl")) == 2


def test_a_missing_file_and_a_wrong_layout_are_named(server: FileServer, tmp_path: Path) -> None:
    path = recipe(tmp_path, server, {"hanna": {"annotations.csv": b""}})
    del server.files["hanna/annotations.csv"]
    done = storyalign("import", "open", "--recipe", path, "--out", tmp_path / "open", "--trust-new-files")
    assert done.returncode == 2
    assert f"{server.url}/hanna/annotations.csv: answers 404 Not Found" in done.stderr
    server.files["hanna/annotations.csv"] = b"Prompt,Story\na,b\n"
    done = storyalign("import", "open", "--recipe", path, "--out", tmp_path / "open", "--trust-new-files")
    assert done.returncode == 2
    assert "annotations.csv:2: not a row of HANNA: 'Story ID'" in done.stderr
    assert not (tmp_path / "open/raw").exists()


real = pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")


def shared(name: str) -> list[dict[str, Any]]:
    return read(Path(os.environ["STORYALIGN_REAL_DATA"]) / f"{name}.jsonl")


KINDS = {"Human-edited": 1, "AI-generated": 2, "AI-edited": 3}
WRITERS = {"Human-edited": "llm, edited by a person", "AI-generated": "llm", "AI-edited": "llm, edited by an llm"}


def lamp_files() -> dict[str, bytes]:
    batches: dict[str, list[dict[str, Any]]] = {}
    for group in shared("lamp_rank"):
        batches.setdefault(f"batch{group['id'][6]}", []).append(group)
    agreement: dict[str, dict[str, list[list[int]]]] = {}
    files = {}
    for batch, groups in batches.items():
        items = []
        for number, group in enumerate(groups, start=1):
            stories = group["candidates"]
            kinds = {f"Response {n}": c["kind"] for n, c in enumerate(stories, start=1)}
            items.append(
                {"instruction": group["premise"], "responses": [c["story"] for c in stories], "mapping": kinds}
            )
            items[-1] |= {"id": "x", "instruction_id": number}
            for rater in range(3):
                ranked = sorted(stories, key=lambda c: c["ranks"][rater])
                agreement.setdefault(batch, {}).setdefault(f"r{rater}", []).append([KINDS[c["kind"]] for c in ranked])
        files[f"{batch}.json"] = json.dumps(items).encode()
    return {"agreement_map.json": json.dumps(agreement).encode(), **files}


def ttcw_files() -> dict[str, bytes]:
    stories, annotations = [], []
    for number, group in enumerate(shared("ttcw")):
        for candidate in group["candidates"]:
            writer = "NewYorker" if candidate["story"] is None else candidate["writer"]
            name, content = f"{number}_{writer}", candidate["story"] or candidate["story_url"]
            stories.append(
                {"story_idx": number, "story_id": name, "story_name": "-", "plot": group["premise"], "content": content}
            )
            tests = [key for key in candidate["scores"] if not key.startswith(("torrance", "passed"))]
            for index, test in enumerate(tests):
                passed = round(3 * candidate["scores"][test])
                for expert in range(3):
                    row = {
                        "story_idx": number,
                        "story_id": name,
                        "expert_idx": expert,
                        "ttcw_idx": index,
                        "category": test,
                    }
                    annotations.append(
                        {**row, "binary_verdict": "Yes" if expert < passed else "No", "explanation": "-"}
                    )
    return {"stories.json": json.dumps(stories).encode(), "annotations.json": json.dumps(annotations).encode()}


def confederacy_files() -> dict[str, bytes]:
    book = Workbook()
    book.remove(book.active)
    texts = {}
    for rater in range(2):
        sheet = book.create_sheet(f"Rater {rater + 1}")
        sheet.append(["Story", *(f"Criterion {n}" for n in range(10)), "Comments"])
        for group in shared("confederacy"):
            for candidate in group["candidates"]:
                sheet.append([candidate["code"], *candidate["by_rater"][rater], "fine"])
                texts[f"{candidate['code']}.txt"] = candidate["story"].encode(candidate["raw_encoding"])
    data = io.BytesIO()
    book.save(data)
    return {"ratings.xlsx": data.getvalue(), **texts}


def wpb_files() -> dict[str, bytes]:
    files: dict[str, list[dict[str, Any]]] = {}
    for group in shared("wpb_zh_fiction"):
        for candidate in group["candidates"]:
            question = group["id"].removeprefix("wpb-")
            answer = {"question_id": question, "__internal_tags__": [group["tag"]], "prompt": group["premise"]}
            answer |= {"predict0": candidate["story"], "response_metadata_list": [[{"finish_reason": "stop"}]]}
            files.setdefault(f"{candidate['writer']}.answers.json", []).append(answer)
            score = {"question_id": question, "score": candidate["scores"]["quality_0_3"], "comment": ""}
            files.setdefault(f"{candidate['writer']}.scores.json", []).append(score)
    return {name: json.dumps(rows).encode() for name, rows in files.items()}


@pytest.mark.real_data
@real
def test_real_judgements_in_the_original_layouts(server: FileServer, tmp_path: Path) -> None:
    groups = {
        n: {c["code"]: c["writer"] for c in g["candidates"]} for n, g in enumerate(shared("confederacy"), start=1)
    }
    contents = {
        "lamp": lamp_files(),
        "ttcw": ttcw_files(),
        "confederacy": confederacy_files(),
        "writing_preference_bench": wpb_files(),
    }
    path = recipe(tmp_path, server, contents, confederacy={"groups": groups})
    server.cut["confederacy/ratings.xlsx"] = 2_000  # a half download on the way
    done = storyalign("import", "open", "--recipe", path, "--out", tmp_path / "open", "--trust-new-files")
    assert done.returncode == 0, done.stderr
    assert server.requests["confederacy/ratings.xlsx"] == 2

    # LAMP: by hand from the ranks. Two of three writers put one version above the other, and its mean is better.
    expected = set()
    for group in shared("lamp_rank"):
        for a, b in itertools.permutations(group["candidates"], 2):
            wins = sum(x < y for x, y in zip(a["ranks"], b["ranks"], strict=True))
            if wins >= 2 and sum(a["ranks"]) < sum(b["ranks"]):
                expected.add((group["premise"].strip(), WRITERS[a["kind"]], WRITERS[b["kind"]]))
    pairs = read(tmp_path / "open/raw/pairs.jsonl")
    lamp = [row for row in pairs if row["corpus"] == "salesforce/creativity_eval/LAMP"]
    assert {(row["prompt"], row["chosen_writer"], row["rejected_writer"]) for row in lamp} == expected

    # TTCW: the magazine's stories are links and give no pair; an LLM's story is better by two tests at least.
    ttcw = [row for row in pairs if row["corpus"] == "salesforce/creativity_eval/TTCW"]
    assert ttcw
    assert all("human" not in (row["chosen_writer"], row["rejected_writer"]) for row in ttcw)

    # The confederacy corpus: the best of 13 by the sheet's own total stands first.
    instances = read(tmp_path / "open/raw/instances.jsonl")
    mine = [row for row in instances if row["corpus"] == "komoku/confederacy-of-models"]
    best = {max(g["candidates"], key=lambda c: c["scores"]["total_of_100"])["writer"] for g in shared("confederacy")}
    assert best <= {row["chosen_writer"] for row in mine}
    assert all(-1 <= row["tau_avg"] <= 1 for row in mine)
    assert any(row["dimension"] is None for row in instances)

    for row in (*instances, *pairs):
        assert row["license"] in {"bsd-3-clause", "cc-by-sa-4.0", "odc-by"}
    chinese = [row for row in (*instances, *pairs) if row["corpus"].startswith("WritingPreferenceBench")]
    assert {row["language"] for row in chinese} == {"zh"}
    assert not {row["prompt"] for row in instances} & {row["prompt"] for row in pairs}

    load = "import datasets; print(len(datasets.load_dataset('storyrmb_open', split='test')))"
    loaded = subprocess.run(
        [sys.executable, "-c", load],
        cwd=tmp_path / "open",
        env=environment(HF_HOME=str(tmp_path / "hf")),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert loaded.stdout == f"{len(instances)}\n", loaded.stderr
