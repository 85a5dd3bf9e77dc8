"""A whole release through the command line, loaded back by plain clients, and released again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from storyalign.errors import DataError
from storyalign.files import write_jsonl
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.release.manifest import Manifest, ReleasedRepository
from storyalign.hub.release.verify import require_verified, verify
from tests.support.hub_runs import REPOSITORY, RunningHub
from tests.support.rows import pair_row, storyrmb_row

pytestmark = pytest.mark.timeout(900)  # many processes, on a machine that may be busy

COMMITS = """
import json, sys
from huggingface_hub import HfApi

print(json.dumps([len(HfApi().list_repo_commits(r["repo"], repo_type=r["type"])) for r in json.loads(sys.argv[1])]))
"""


def release_all(hub: RunningHub, folder: Path, *options: str, **environment: object) -> tuple[int, str]:
    done = hub.storyalign("release", "all", "--org", "demo", *options, cwd=folder, **environment)
    return done.returncode, done.stdout + done.stderr


def test_datasets_and_metric(hub: RunningHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dry run sends nothing; every configuration loads at its commit; what goes wrong later is noticed."""
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(10)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    options = ("--tag", "v1.0.0", "--space", "none")
    code, said = release_all(hub, tmp_path, *options, "--dry-run", token=False)
    assert (code, hub.log("POST"), hub.log("PUT"), (tmp_path / "release.json").exists()) == (0, [], [], False), said
    size = (REPOSITORY / "src/storyalign/accuracy.py").stat().st_size
    for line in (
        "left out: story_preferences, as story_preferences is not there",
        "left out: model, as runs/demo/model is not there",
        f"  accuracy.py ({size / 1000:.1f} kB)",
        "dry run: nothing was sent",
    ):
        assert line in said.splitlines(), said
    for repo, kind in (("storyrmb", "dataset"), ("storyrmb_accuracy", "metric")):
        listed = said.index(f"demo/{repo} ({kind}, tag v1.0.0): ")
        assert listed < re.search(rf"^demo/{repo}: not there yet, or private: .* would be sent$", said, re.M).start()

    code, said = release_all(hub, tmp_path, *options, "--no-verify")
    assert code == 0, said
    manifest = json.loads((tmp_path / "release.json").read_text())
    assert [(r["repo"], r["tag"]) for r in manifest["repositories"]] == [
        ("demo/storyrmb", "v1.0.0"),
        ("demo/storyrmb_accuracy", "v1.0.0"),
    ]
    assert manifest["repositories"][0]["facts"]["configs"]["human_llm"]["test"]["rows"] == 5

    hub.python(
        "import json, huggingface_hub as h\n"
        "at = {'repo_id': 'demo/storyrmb', 'repo_type': 'dataset', 'path_in_repo': 'README.md'}\n"
        "h.upload_file(path_or_fileobj=b'theirs', **at)\n"
        "print('null')"
    )
    dataset, metric = manifest["repositories"]
    human = {"human_llm": {"test": {"rows": 6, "digest": "0" * 64}}}
    wrong = [
        {**dataset, "facts": {"configs": human}, "files": {**dataset["files"], "eval.yaml": "0" * 64}},
        {**dataset, "tag": "v9", "facts": {"configs": {}}},
        {**dataset, "tag": None, "facts": {"configs": {}}},
        {**metric, "sha": "1" * 40},
    ]
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for name, value in hub.environment(home="verifier").items():
        monkeypatch.setenv(name, value)
    checks = list(verify(Manifest([ReleasedRepository(**one) for one in (dataset, metric, *wrong)])))
    moved = "main holds other files by now (README.md)"
    tag, at, files = ("tag v1.0.0", None), dataset["sha"], f"{len(dataset['files'])} files"
    loaded = [f'load_dataset("{config}", split="test"), {n} rows' for config, n in (
        ("default", 10), ("human_llm", 5), ("llm_llm", 5), ("multiple_choice", 10)
    )]  # fmt: skip
    parts = ("coherence", "creativity", "characterization", "fluency", "relevance", "human_llm", "llm_llm")
    loaded += [
        f'load_dataset("multiple_choice", split="{part}"), {2 if n < 5 else 5} rows' for n, part in enumerate(parts)
    ]
    right = [(files, None), tag, *((what, None) for what in loaded), ("5 files", None), tag, ("evaluate.load", None)]
    assert [(check.what, check.problem) for check in checks[: len(right)]] == right
    assert checks[1].note == f"{moved}; load the release with revision='v1.0.0'"
    checks = checks[len(right) :]
    assert [(check.what, check.problem) for check in checks[:-1]] == [
        (files, "differ or are missing: eval.yaml"),
        tag,
        ('load_dataset("human_llm", split="test"), 6 rows', checks[2].problem),
        (files, None),
        ("tag v9", f"marks nothing, the release is {at}"),
        (files, None),
        ("main is the release", f"{moved}; the release is commit {at}, and has no tag"),
    ]
    assert str(checks[2].problem).startswith("5 rows with digest")
    assert "could not be loaded back: RevisionNotFoundError" in str(checks[-1].problem)
    with pytest.raises(DataError, match=r"^5 of 8 checks failed: demo/storyrmb: .* files: differ or are missing"):
        require_verified(checks)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_everything_twice(hub: RunningHub, tmp_path: Path) -> None:
    """Datasets, metric, model with its results, and Space; the second time nothing is committed."""
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.evaluation.results import evaluate_scorers
    from storyalign.evaluation.scored_sets import ScoredSet
    from storyalign.files import write_json
    from storyalign.models.fingerprint import folder_digest
    from tests.hub.test_posted_results import CARD
    from tests.support.tiny_models import tiny_model_folder

    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(20)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    write_jsonl(tmp_path / "pairs.jsonl", (pair_row(i) for i in range(20)))
    build_story_preferences([tmp_path / "pairs.jsonl"], tmp_path / "story_preferences")
    model = tiny_model_folder(tmp_path / "run" / "model")
    results_section = b"## Results\n\nNot measured yet. Ask path/to/model.\n\n## Text"
    (model / "README.md").write_bytes(CARD.replace(b"Text.", results_section + b"\n\nText of path/to/model.\n"))
    measured = load_evaluation_set(tmp_path / "storyrmb")
    rewards = {i.id: [1.0, 0.0, 0.0, 0.0] for i in measured.instances}
    scored = ScoredSet("mine", "model", rewards, settings={"weights": folder_digest(model)}, digest="d")
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
    code, said = release_all(hub, tmp_path, "--model", "run/model", "--tag", "v1.0.0", "--dry-run")
    assert (code, said.count(": nothing would change, ")) == (0, 5), said
    code, said = release_all(hub, tmp_path, "--model", "run/model", "--tag", "v1.0.0")
    assert (code, said.count(": unchanged")) == (0, 5), said
    assert hub.python(COMMITS, json.dumps(repositories)) == [2, 2, 2, 2, 2]
    assert (tmp_path / "release.json").read_text() == manifest
    card = hub.python(
        "import json; from huggingface_hub import hf_hub_download as get;"
        "print(json.dumps(open(get('demo/storyreward', 'README.md')).read()))"
    )
    assert "Text of demo/storyreward." in card
    assert "Not measured" not in card
    assert "| mine " in card and "100.0" in card
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
    options = ("--space", "none", "--model", "none", "--story-preferences", "none")
    code, said = release_all(hub, tmp_path, *options)
    assert (code, "a placeholder: TODO" in said) == (2, True), said
    assert not hub.log("POST", "/api/repos/create")


@pytest.mark.full
def test_nothing_is_published_when_the_tag_is_taken(hub: RunningHub, tmp_path: Path) -> None:
    """The metric's repository has the tag, for other files: the benchmark, which comes first, stays unreleased."""
    write_jsonl(tmp_path / "raw.jsonl", (storyrmb_row(i) for i in range(10)))
    build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    hub.python(
        "import huggingface_hub as h; api, name = h.HfApi(), 'demo/storyrmb_accuracy'\n"
        "api.create_repo(name, repo_type='space', space_sdk='gradio')\n"
        "api.create_tag(name, tag='v1.0.0', repo_type='space'); print('null')"
    )
    before = len(hub.log("POST"))
    for more in ((), ("--dry-run",)):
        code, said = release_all(hub, tmp_path, "--space", "none", "--tag", "v1.0.0", *more)
        assert (code, "demo/storyrmb_accuracy: tag v1.0.0 marks other files already" in said) == (2, True), said
    assert len(hub.log("POST")) == before
    code, said = release_all(hub, tmp_path, "--storyrmb", "strymb")
    assert (code, "strymb: no such folder" in said) == (2, True), said
