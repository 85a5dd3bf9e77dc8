"""Human stories before a judge who looks for sensitive content: only a no to everything lets a story in."""

import json
from pathlib import Path

import pytest

from storyalign.benchmark.sensitive_content import CATEGORIES
from storyalign.cli.construct_storyrmb import premises, storyrmb
from storyalign.errors import RecipeError
from storyalign.files import read_jsonl
from tests.support.scripted_authors import answer, prose, write_human_stories, write_recipe, write_verdicts
from tests.support.scripted_llm_server import Fault, Said, prompt_of, scripted_server

LLM_PREMISES = {"endpoint": None, "check": None}
ASKED = "You look through stories by people"


def rows(path: Path) -> list[dict]:
    return [line.row for line in read_jsonl(path)]


def checker(body: dict, number: int):
    """Find violence and hatred in story 0, refuse story 1, ramble about 2, leave out a category of 3, break at 4."""
    said = prompt_of(body)
    if not said.startswith(ASKED):
        return answer(body, number)
    story = next(n for n in range(6) if prose(f"human/{n}", 130) in said)
    found = dict.fromkeys(CATEGORIES, False)
    if story == 1:
        return Said("", message={"refusal": "I cannot look at this."})
    if story == 2:
        return "Nothing in it seems sensitive to me."
    if story == 3:
        del found["minors"]
    if story == 4:
        return Fault(status=500)
    if story == 0:
        found |= {"violence": True, "hatred": True}
    return json.dumps(found)


def test_only_a_story_without_any_finding_goes_on_and_every_other_one_is_counted(tmp_path: Path) -> None:
    write_human_stories(tmp_path, 6)
    out = tmp_path / "out"
    with scripted_server(checker) as running:
        human = {"wanted": 6, "check": "planner"}
        recipe = write_recipe(tmp_path, running.url, premises=LLM_PREMISES, human_premises=human)
        storyrmb(recipe=recipe, out=out)
        asked = [body for body in running.requests if prompt_of(body).startswith(ASKED)]
        # a flagged and a clean story once; refused and unreadable replies twice; a failing endpoint three times
        assert len(asked) == 1 + 1 + 2 + 2 + 2 + 3
        assert {body["model"] for body in asked} == {"planner-1"}
    assert [row["id"] for row in rows(out / "premises/human.jsonl")] == ["human-5"]
    assert [row["id"] for row in rows(out / "candidates.jsonl")] == ["human-5"]
    dropped = {row["id"]: (row["reason"], row["again"]) for row in rows(out / "premises/human_dropped.jsonl")}
    assert dropped["human-0"] == ("sensitive: violence, hatred", False)
    unchecked = {name: reason for name, (reason, _) in dropped.items() if name != "human-0"}
    assert sorted(unchecked) == ["human-1", "human-2", "human-3", "human-4"]
    assert all(reason.startswith("unchecked for sensitive content: ") for reason in unchecked.values())
    assert [name for name, (_, again) in dropped.items() if again] == ["human-4"]
    part = json.loads((out / "report.json").read_text())["parts"]["premises/human"]
    assert (part["kept"], part["dropped"]) == (1, 5)
    assert part["reasons"]["sensitive: violence, hatred"] == 1
    assert "sensitive: violence, hatred" in (out / "report.md").read_text()


def test_a_flagged_story_stays_flagged_and_a_failed_call_is_made_again(tmp_path: Path) -> None:
    write_human_stories(tmp_path, 6)
    out = tmp_path / "out"
    human = {"wanted": 6, "check": "planner"}
    with scripted_server(checker) as running:
        premises(recipe=write_recipe(tmp_path, running.url, premises=LLM_PREMISES, human_premises=human), out=out)
    clean = json.dumps(dict.fromkeys(CATEGORIES, False))
    with scripted_server(lambda body, number: clean) as running:
        premises(recipe=write_recipe(tmp_path, running.url, premises=LLM_PREMISES, human_premises=human), out=out)
        assert [prose("human/4", 130) in prompt_of(body) for body in running.requests] == [True]
    assert sorted(row["id"] for row in rows(out / "premises/human.jsonl")) == ["human-4", "human-5"]


def test_it_is_off_by_default_and_a_trial_asks_no_more_than_its_size(tmp_path: Path) -> None:
    write_human_stories(tmp_path, 6)
    with scripted_server(checker) as running:
        storyrmb(recipe=write_recipe(tmp_path, running.url, premises=LLM_PREMISES), out=tmp_path / "off")
        assert not any(prompt_of(body).startswith(ASKED) for body in running.requests)
        assert len(rows(tmp_path / "off/premises/human.jsonl")) == 3
        human = {"wanted": 6, "check": "planner"}
        recipe = write_recipe(tmp_path, running.url, premises=LLM_PREMISES, human_premises=human)
        premises(recipe=recipe, out=tmp_path / "trial", limit=2)
    assert len(rows(tmp_path / "trial/premises/human_to_check.jsonl")) == 2


def test_the_dry_run_counts_its_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_human_stories(tmp_path, 6)
    human = {"wanted": 5, "check": "planner"}
    recipe = write_recipe(tmp_path, "http://127.0.0.1:9/v1", premises=LLM_PREMISES, human_premises=human)
    storyrmb(recipe=recipe, out=tmp_path / "out", dry_run=True)
    [line] = [line for line in capsys.readouterr().out.splitlines() if "sensitive" in line]
    assert "planner" in line
    assert "5" in line.split()


def test_an_unknown_checker_is_refused(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path, "http://127.0.0.1:9/v1", human_premises={"check": "nobody"})
    with pytest.raises(RecipeError, match=r"human_premises\.check: no endpoint 'nobody'"):
        premises(recipe=recipe, out=tmp_path / "out")


def test_instances_carry_the_key_of_the_human_author_alone(tmp_path: Path) -> None:
    from storyalign.corpus.evaluation_sets import load_evaluation_set
    from storyalign.files import write_jsonl
    from storyalign.hub.build.dataset_folder import build_storyrmb

    write_human_stories(tmp_path, 3)
    keyed = [
        {**row, "author_key": f"person-{n}" if n else None} for n, row in enumerate(rows(tmp_path / "human.jsonl"))
    ]
    write_jsonl(tmp_path / "human.jsonl", keyed)
    out = tmp_path / "out"
    with scripted_server(answer) as running:
        recipe = write_recipe(tmp_path, running.url, premises={**LLM_PREMISES, "files": ["own.jsonl"]})
        write_jsonl(tmp_path / "own.jsonl", [{"prompt": prose("own", 20)}])
        storyrmb(recipe=recipe, out=out)
        write_verdicts(out, tmp_path / "verdicts.jsonl", unsure=0)
        storyrmb(recipe=recipe, out=out, verdicts=[tmp_path / "verdicts.jsonl"])
    made = rows(out / "instances.jsonl")
    assert sorted(str(row["author_key"]) for row in made) == ["None", "None", "person-1", "person-2"]
    assert all(row["source"] == "human_llm" for row in made if row["author_key"])
    assert load_evaluation_set(out / "instances.jsonl").author_keys == {"person-1", "person-2"}
    assert not any("author" in key for row in rows(out / "tasks.jsonl") for key in row)
    build_storyrmb([out / "instances.jsonl"], tmp_path / "storyrmb")
    assert load_evaluation_set(tmp_path / "storyrmb").author_keys == frozenset()
