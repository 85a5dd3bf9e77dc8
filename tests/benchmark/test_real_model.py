"""The whole recipe against a real model behind a real server: SmolLM2-135M with ``transformers serve``.

It ignores JSON schemas and writes badly, so most rows come to nothing; what counts is that each one says why.
"""

from pathlib import Path

import pytest
import yaml

from storyalign.benchmark.candidates import Writing, writing_step
from storyalign.benchmark.ratings import rating_step
from storyalign.benchmark.recipe import Recipe
from storyalign.cli.construct_storyrmb import storyrmb
from storyalign.files import read_jsonl, write_jsonl
from storyalign.llm.estimate import counted_calls, tokenizer_count
from storyalign.llm.step_runs import run_step
from tests.support.scripted_authors import write_human_stories, write_recipe
from tests.support.transformers_serve import served_model

pytestmark = [pytest.mark.full, pytest.mark.timeout(1500)]


def rows(path: Path) -> list[dict]:
    return [line.row for line in read_jsonl(path)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served_model(tmp_path_factory.mktemp("serve") / "log") as served:
        yield served


def test_every_row_is_accounted_for_and_prompt_tokens_are_those_of_the_estimate(server, tmp_path):
    url, model = server
    write_jsonl(tmp_path / "own.jsonl", [{"prompt": "A lighthouse keeper gets a letter that he wrote himself."}])
    write_human_stories(tmp_path, 1)
    recipe = write_recipe(
        tmp_path,
        url,
        premises={"seeds_per_call": 1, "max_tokens": 60, "check": None, "files": ["own.jsonl"], "wanted": 1},
        human_premises={"wanted": 1},
        candidates={"words": 20, "fewest_words": 5, "max_tokens": 110, "tries": 1},
        ratings={"max_tokens": 24, "tries": 1},
    )
    text = recipe.read_text().replace(
        "max_concurrency: 8", "max_concurrency: 1\n    timeout: 600\n    tokenizer: " + model
    )
    for name in ("planner", *(f"writer-{x}" for x in "abcd"), *(f"judge-{x}" for x in "abcd")):
        text = text.replace(f"model: {name}-1", f"model: {model}")
    recipe.write_text(text)
    out = tmp_path / "out"
    storyrmb(recipe=recipe, out=out, limit=1)

    settings = Recipe.from_mapping(yaml.safe_load(recipe.read_text()))
    for note in sorted(out.rglob("asked.json")):
        folder = note.parent
        ids = [row["id"] for name in ("rows", "dropped") for row in rows(folder / f"{name}.jsonl")]
        asked = [row["id"] for path in folder.glob("replies/*.jsonl") for row in rows(path)]
        assert sorted(ids) == sorted(asked)
        assert len(set(ids)) == len(ids)
        for row in rows(folder / "dropped.jsonl"):
            assert row["reason"] and row["again"] is False, row
    pool = rows(out / "premises.jsonl")
    assert {row["source"] for row in pool} == {"llm_llm", "human_llm"}
    groups, lost = rows(out / "candidates.jsonl"), rows(out / "candidates_dropped.jsonl")
    assert len(groups) + len(lost) == len(pool)
    print(f"{len(pool)} premises, {len(groups)} groups, {len(lost)} lost: {[row['reason'] for row in lost]}")
    print((out / "report.md").read_text())

    # A judge of four stories: read or dropped with a reason; and our count of its prompt is the server's own.
    stories = [{"story": f"The keeper waited {n} nights for the boat. Then it came."} for n in range(4)]
    group = {"id": "g", "prompt": "A keeper waits for a boat.", "candidates": stories}
    write_jsonl(tmp_path / "group.jsonl", [group])
    judge, endpoints = rating_step("judge-a", settings), settings.endpoints
    counts = run_step(judge, tmp_path / "group.jsonl", endpoints["judge-a"], tmp_path / "judge")
    assert (counts.rows + counts.dropped, counts.failed) == (1, 0)
    print(counts)
    writing, written = writing_step(Writing("writer-a", "llm_llm"), settings), out / "candidates/writer-a"
    counted = [
        *counted_calls(judge, tmp_path / "group.jsonl", endpoints["judge-a"], tmp_path / "judge"),
        *counted_calls(writing, written / "source.jsonl", endpoints["writer-a"], written),
    ]
    for messages, tokens in counted:
        assert tokens == pytest.approx(tokenizer_count(model)(messages), rel=0.1)
