"""A whole release through the command line, loaded back by plain clients, and released again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from storyalign.files import write_jsonl
from storyalign.hub.dataset_folder import build_story_preferences, build_storyrmb
from tests.hub.running import RunningHub
from tests.rows import pair_row, storyrmb_row

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

COMMITS = """
import json, sys
from huggingface_hub import HfApi

print(json.dumps([len(HfApi().list_repo_commits(r["repo"], repo_type=r["type"])) for r in json.loads(sys.argv[1])]))
"""


def release_all(hub: RunningHub, folder: Path, *options: str) -> tuple[int, str]:
    done = hub.storyalign("release", "all", "--org", "demo", *options, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_datasets_and_metric(hub: RunningHub, tmp_path: Path) -> None:
    """Every configuration loads at its commit, whole and streamed; a wrong manifest is noticed."""
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(10)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    code, said = release_all(hub, tmp_path, "--tag", "v1.0.0", "--space", "none")
    assert code == 0, said
    assert "verified: " in said
    manifest = json.loads((tmp_path / "release.json").read_text())
    assert [(r["repo"], r["tag"]) for r in manifest["repositories"]] == [
        ("demo/storyrmb", "v1.0.0"),
        ("demo/storyrmb_accuracy", "v1.0.0"),
    ]
    assert manifest["repositories"][0]["facts"]["configs"]["human_llm"]["test"]["rows"] == 5

    dataset = manifest["repositories"][0]
    dataset["facts"]["configs"] = {"human_llm": {"test": {"rows": 6, "digest": "0" * 64}}}
    dataset["files"]["eval.yaml"] = "0" * 64
    (tmp_path / "wrong.json").write_text(json.dumps({**manifest, "repositories": [dataset]}))
    done = hub.storyalign("release", "verify", "wrong.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "2 of 2 checks failed" in done.stderr
    assert 'load_dataset("human_llm", split="test"), 6 rows: 5 rows with digest' in done.stderr
    assert "files: differ or are missing: eval.yaml" in done.stderr


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_everything_twice(hub: RunningHub, tmp_path: Path) -> None:
    """Datasets, metric, model with its results, and Space; the second time nothing is committed."""
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.evaluation.results import evaluate_scorers
    from storyalign.evaluation.scored_sets import ScoredSet
    from storyalign.files import write_json
    from tests.hub.test_posted_results import CARD
    from tests.tiny_models import tiny_model_folder

    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(20)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    write_jsonl(tmp_path / "pairs.jsonl", (pair_row(i) for i in range(20)))
    build_story_preferences([tmp_path / "pairs.jsonl"], tmp_path / "story_preferences")
    model = tiny_model_folder(tmp_path / "run" / "model")
    (model / "README.md").write_bytes(CARD)
    measured = load_evaluation_set(tmp_path / "storyrmb")
    scored = ScoredSet("mine", "model", {i.id: [1.0, 0.0, 0.0, 0.0] for i in measured.instances})
    write_json(tmp_path / "run" / "results.json", evaluate_scorers(measured, [scored]).to_json())

    code, said = release_all(hub, tmp_path, "--model", "run/model", "--tag", "v1.0.0")
    assert code == 0, said
    manifest = (tmp_path / "release.json").read_text()
    repositories = [
        {"repo": r["repo"], "type": {"metric": "space"}.get(r["kind"], r["kind"])}
        for r in json.loads(manifest)["repositories"]
    ]
    assert [r["repo"] for r in repositories] == [
        f"demo/{name}" for name in ("storyrmb", "story_preferences", "storyrmb_accuracy", "storyreward", "storyalign")
    ]
    assert hub.python(COMMITS, json.dumps(repositories)) == [2, 2, 2, 2, 2]
    code, said = release_all(hub, tmp_path, "--model", "run/model", "--tag", "v1.0.0")
    assert code == 0, said
    assert hub.python(COMMITS, json.dumps(repositories)) == [2, 2, 2, 2, 2]
    assert (tmp_path / "release.json").read_text() == manifest
    variables = hub.python(
        "import json; from huggingface_hub import HfApi;"
        "print(json.dumps({k: v.value for k, v in HfApi().get_space_variables('demo/storyalign').items()}))"
    )
    released = {r["kind"]: r for r in json.loads(manifest)["repositories"]}["model"]
    assert variables == {"STORYALIGN_MODEL": "demo/storyreward", "STORYALIGN_REVISION": released["sha"]}


def test_nothing_is_published_when_one_part_is_not_whole(hub: RunningHub, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(10)))
    folder = build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb").path
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("## Scoring", "TODO\n\n## Scoring"))
    code, said = release_all(hub, tmp_path, "--space", "none")
    assert (code, "a placeholder: TODO" in said, len(said.splitlines())) == (2, True, 1), said
    assert not hub.log("POST", "/api/repos/create")
