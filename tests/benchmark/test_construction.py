import csv
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from storyalign.cli.construct_runs import Calls, CostLimitReached
from storyalign.cli.construct_storyrmb import agreement, assemble, candidates, dimension, premises, storyrmb
from storyalign.errors import DataError, RowError
from storyalign.files import read_jsonl, write_jsonl
from storyalign.records import Instance
from tests.support.scripted_authors import (
    JUDGES,
    WRITERS,
    answer,
    scores,
    write_human_stories,
    write_recipe,
    write_verdicts,
)
from tests.support.scripted_llm_server import Fault, Said, prompt_of, scripted_server


def rows(path: Path) -> list[dict]:
    return [line.row for line in read_jsonl(path)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """3 themes x 2 turns x 2 seeds: 12 premises by LLMs; 3 of 4 with human stories; one human story unsure."""
    folder = tmp_path_factory.mktemp("construction")
    out = folder / "out"
    write_human_stories(folder, 4)
    with scripted_server(answer) as running:
        recipe = write_recipe(folder, running.url)
        storyrmb(recipe=recipe, out=out)
        write_verdicts(out, folder / "verdicts.jsonl", unsure=1)
        before = len(running.requests)
        storyrmb(recipe=recipe, out=out, verdicts=[folder / "verdicts.jsonl"])
        assert len(running.requests) == before
    return folder, out, running


def test_every_premise_becomes_an_instance_or_is_dropped_with_a_reason(built):
    _, out, running = built
    instances = [Instance.from_row(row).require_storyrmb() for row in rows(out / "instances.jsonl")]
    assert Counter(i.source for i in instances) == {"llm_llm": 12, "human_llm": 2}
    assert len({i.id for i in instances}) == 14
    assert rows(out / "settled_dropped.jsonl") == [
        {
            "id": rows(out / "settled_dropped.jsonl")[0]["id"],
            "reason": "annotators unsure whether the human story is best",
            "again": False,
        }
    ]
    assert [row["reason"] for row in rows(out / "premises/human_dropped.jsonl")] == ["not drawn"]
    # 6 calls for seeds; 12 premises enriched, restyled, checked; 12 x 4 + 3 x 3 stories; 15 groups x 4 judges
    assert len(running.requests) == 6 + 3 * 12 + 57 + 60


def test_rows_carry_what_produced_them(built):
    _, out, _ = built
    group = next(row for row in rows(out / "candidates.jsonl") if row["source"] == "llm_llm")
    assert [candidate["writer"] for candidate in group["candidates"]] == [f"{name}-1" for name in WRITERS]
    made = group["candidates"][0]["made_by"]
    assert made["prompt"] == "write_candidate"
    assert made["temperature"] == 1.0
    assert len(made["prompt_digest"]) == 64
    assert len({c["made_by"]["seed"] for c in group["candidates"]}) == 4
    assert (group["license"], group["family"]) == ("cc0-1.0", group["family"])
    human = next(row for row in rows(out / "instances.jsonl") if row["source"] == "human_llm")
    assert (human["chosen_writer"], human["license"], human["corpus"]) == ("human", "mit", "writingprompts")


def test_scores_belong_to_the_story_they_were_given_for_in_whatever_order_it_was_shown(built):
    _, out, _ = built
    groups = {row["id"]: row for row in rows(out / "candidates.jsonl")}
    orders = set()
    for judge in JUDGES:
        for row in rows(out / f"ratings/{judge}/rows.jsonl"):
            stories = [candidate["story"] for candidate in groups[row["id"]]["candidates"]]
            assert row["scores"] == [scores(f"{judge}-1", story) for story in stories]
            orders.add((row["id"], tuple(row["order"])))
    assert len(orders) > 30  # 60 ratings; judges of one group see it in orders of their own


def test_majority_and_annotators_each_settle_their_groups(built):
    _, out, _ = built
    tasks = {row["id"]: row for row in rows(out / "tasks.jsonl")}
    routes = {row["id"]: row for row in rows(out / "routes.jsonl")}
    assert {tasks[i]["mode"] for i, r in routes.items() if r["human"] is not None} == {"human-best"}
    for settled in rows(out / "settled.jsonl"):
        route, task = routes[settled["id"]], tasks[settled["id"]]
        if route["human"] is not None:
            assert settled["ranking"] == [0, *route["ranking"]]  # the losers stand in the judges' order
            assert 0 not in route["ranking"]
        elif route["route"] == "majority":
            assert task["mode"] == "confirm"
            assert route["tau_avg"] >= 0.6
            assert settled["ranking"] == task["ranking"]
        else:
            assert task["mode"] == "rank"
            assert settled["ranking"] == [3, 1, 0, 2]
    assert {r["route"] for r in routes.values() if r["human"] is None} == {"majority", "annotators"}


def test_the_report_adds_up(built):
    _, out, _ = built
    report = json.loads((out / "report.json").read_text())
    assert report["n_instances"] == 14
    assert sum(sum(counts.values()) for counts in report["dimensions"].values()) == 14
    assert sum(report["stages"].values()) == 14
    assert report["verdicts"]["unsure"] == 1
    wins = {name: writer["wins"] for name, writer in report["writers"].items()}
    assert wins["human_llm/human"] == 2
    assert sum(wins.values()) == 14
    assert report["writers"]["human_llm/human"]["groups"] == 2
    assert sum(cost["rows"] for cost in report["costs"]) == 159
    text = (out / "report.md").read_text()
    assert "| human_llm/human | 2 | 2 | 100.0% |" in text


def test_it_builds(built, tmp_path):
    from storyalign.hub.build.dataset_folder import build_storyrmb

    _, out, _ = built
    assert build_storyrmb([out / "instances.jsonl"], tmp_path / "storyrmb").statistics.n_rows == 14


def test_without_annotators_only_what_needs_nobody_is_kept(built, tmp_path):
    _, out, _ = built
    with scripted_server(answer) as running:
        write_human_stories(tmp_path, 4)
        recipe = write_recipe(tmp_path, running.url, settling={"annotators": "skip"})
        storyrmb(recipe=recipe, out=tmp_path / "out")
    majority = [r for r in rows(out / "routes.jsonl") if r["human"] is None and r["route"] == "majority"]
    assert len(rows(tmp_path / "out/instances.jsonl")) == len(majority)
    assert json.loads((tmp_path / "out/report.json").read_text())["unverified"] == len(majority)


def test_faults_leave_no_empty_story_and_a_second_run_asks_only_for_what_is_missing(tmp_path):
    asked: Counter[str] = Counter()
    broken = True

    def script(body, number):
        said = prompt_of(body)
        key = body["model"] + said
        asked[key] += 1
        kind = int.from_bytes(key[-60:].encode()[:2], "big") + len(key)
        if broken and said.startswith("Write a whole") and body["model"] == "writer-b-1" and asked["b"] < 4:
            asked["b"] += 1
            return (Fault(500), Fault(drop=True), Said(""), Fault(429, {"retry-after": "0"}))[kind % 4]
        if said.startswith("Write a whole") and body["model"] == "writer-c-1" and asked[key] == 1:
            return (Said("Half a sto", finish="length"), "I'm sorry, I can't write that.", "Too short.")[kind % 3]
        return answer(body, number)

    write_human_stories(tmp_path, 3)
    out = tmp_path / "out"
    with scripted_server(script) as running:
        recipe = write_recipe(tmp_path, running.url)
        storyrmb(recipe=recipe, out=out, limit=2)
        broken, before = False, len(running.requests)
        storyrmb(recipe=recipe, out=out, limit=2)
        again = running.requests[before:]
    groups = rows(out / "candidates.jsonl")
    assert len(groups) == 4
    stories = [candidate["story"] for group in groups for candidate in group["candidates"]]
    assert len(set(stories)) == 16
    assert all(len(story.split()) >= 100 for story in stories)
    assert {prompt_of(body)[:13] for body in again} <= {"Write a whole", "You are an ex"}


def test_a_dry_run_asks_nothing_and_comes_close(tmp_path, capsys):
    write_human_stories(tmp_path, 12)
    out = tmp_path / "out"

    def planned() -> dict[str, list[int]]:
        capsys.readouterr()
        storyrmb(recipe=recipe, out=out, dry_run=True)
        table = {}
        for line in capsys.readouterr().out.splitlines():
            name, _, rest = line.partition("  ")
            if name.startswith("all: "):
                table[name[5:]] = [int(cell.replace(",", "")) for cell in rest.split()[:3]]
        return table

    with scripted_server(answer) as running:
        recipe = write_recipe(tmp_path, running.url, human_premises={"wanted": 12})
        assert planned()["planner"][0] == 6 + 3 * 12
        assert not running.requests
        storyrmb(recipe=recipe, out=out, limit=2)  # the trial that corrects the estimate
        before = len(running.requests)
        figures = planned()
        assert len(running.requests) == before
        storyrmb(recipe=recipe, out=out)
        for name, (calls, prompt_tokens, reply_bound) in figures.items():
            asked = [body for body in running.requests[before:] if body["model"] == f"{name}-1"]
            counted = sum(len(prompt_of(body)) // 4 for body in asked)  # as the scripted server counts
            assert len(asked) == calls
            assert counted == pytest.approx(prompt_tokens, rel=0.1)
            assert reply_bound >= 5 * len(asked)


def test_a_plan_says_what_it_assumes(tmp_path, capsys):
    recipe = write_recipe(tmp_path, "http://localhost:9")
    storyrmb(recipe=recipe, out=tmp_path / "out", dry_run=True)
    said = capsys.readouterr()
    assert said.err.startswith(f"assumption: human.jsonl (human_premises.files in {recipe}) is not there yet")
    assert "takes 3 human stories (human_premises.wanted)" in said.err and said.err.count("\n") == 1
    write_human_stories(tmp_path, 1)
    (tmp_path / "human.jsonl").write_text("no JSON\n")
    with pytest.raises(RowError, match=r"human\.jsonl:1"):  # a broken file is no missing one
        storyrmb(recipe=recipe, out=tmp_path / "out", dry_run=True)


def test_a_cost_limit_holds_for_the_folder_and_a_higher_one_goes_on(tmp_path):
    write_human_stories(tmp_path, 1)
    out = tmp_path / "out"
    with scripted_server(answer) as running:
        recipe = write_recipe(tmp_path, running.url)
        calls = Calls(out, {}, cost_limit=0.01)
        with pytest.raises(CostLimitReached, match=r"\$0\.01 leaves no room for another call .* rows wait"):
            storyrmb(recipe=recipe, out=out, limit=2, cost_limit=0.01)
        # A dollar a million tokens of a prompt and two of a reply, as the server counts them.
        counted = sum(len(prompt_of(body)) // 4 for body in running.requests) + 2 * 5 * len(running.requests)
        assert calls.spent() == pytest.approx(counted / 1e6)
        assert 0.001 < calls.spent() <= 0.01
        before = len(running.requests)
        with pytest.raises(CostLimitReached):
            storyrmb(recipe=recipe, out=out, limit=2, cost_limit=0.01)
        assert calls.spent() <= 0.01
        storyrmb(recipe=recipe, out=out, limit=2, cost_limit=5.0)
        assert len(running.requests) > before
        asked = Counter((body["model"], prompt_of(body), body.get("seed")) for body in running.requests)
        assert max(asked.values()) == 1  # nothing twice
    assert len(rows(out / "ratings.jsonl")) == 3


def test_people_look_through_premises_between_two_runs(tmp_path, capsys):
    write_human_stories(tmp_path, 1)
    out = tmp_path / "out"
    with scripted_server(answer) as running:
        recipe = write_recipe(tmp_path, running.url)
        premises(recipe=recipe, out=out)
        before = len(running.requests)
        with (out / "premises/to_review.csv").open(encoding="utf-8-sig", newline="") as handle:
            sheet = list(csv.DictReader(handle))
        assert len(sheet) == 12
        sheet[3] |= {"keep": "no", "note": "dull"}
        with (tmp_path / "reviewed.csv").open("w", encoding="utf-8", newline="") as handle:
            table = csv.DictWriter(handle, list(sheet[0]))
            table.writeheader()
            table.writerows(sheet)
        premises(recipe=recipe, out=out, reviewed=tmp_path / "reviewed.csv")
        assert len(running.requests) == before
        assert rows(out / "premises/llm_dropped.jsonl") == [
            {"id": sheet[3]["id"], "reason": "rejected by a person", "again": False}
        ]
        assert len(rows(out / "premises.jsonl")) == 12  # 11 and the human one
        assert "not used:" not in capsys.readouterr().out
        reviewed = (tmp_path / "reviewed.csv").read_text(encoding="utf-8")
        (tmp_path / "reviewed.csv").write_text(reviewed.replace(sheet[3]["texts"], "0" * 64), encoding="utf-8")
        premises(recipe=recipe, out=out, reviewed=tmp_path / "reviewed.csv")  # an answer about another text
    assert "answers of the review not used: 1 " in capsys.readouterr().out
    assert rows(out / "premises/llm_dropped.jsonl") == []


def test_each_step_is_a_command_and_says_what_it_needs(built, tmp_path, capsys):
    folder, out, _ = built
    with pytest.raises(DataError, match=r"premises\.jsonl: missing; run `storyalign construct premises` first"):
        candidates(recipe=folder / "recipe.yaml", out=tmp_path / "empty")
    again = tmp_path / "again"
    shutil.copytree(out, again)
    for name in ("routes", "settled", "instances", "tasks"):
        (again / f"{name}.jsonl").unlink()
    agreement(recipe=folder / "recipe.yaml", out=again)
    dimension(recipe=folder / "recipe.yaml", out=again)
    assemble(recipe=folder / "recipe.yaml", out=again)
    for name in ("routes", "tasks", "settled", "instances"):
        assert (again / f"{name}.jsonl").read_bytes() == (out / f"{name}.jsonl").read_bytes()
    # A group that fewer than three judges rated can become no instance, so nobody is asked about it.
    rated = rows(again / "ratings.jsonl")
    short = rated[1]
    asked = {row["id"] for row in rows(again / "tasks.jsonl")}
    assert short["id"] in asked
    write_jsonl(
        again / "ratings.jsonl",
        [{**r, "ratings": dict(list(r["ratings"].items())[:2])} if r["id"] == short["id"] else r for r in rated],
    )
    agreement(recipe=folder / "recipe.yaml", out=again)
    assert {row["id"] for row in rows(again / "tasks.jsonl")} == asked - {short["id"]}
    write_jsonl(again / "ratings.jsonl", rated)
    agreement(recipe=folder / "recipe.yaml", out=again)
    # A verdict is about the stories that were read; it settles no others.
    groups = rows(again / "candidates.jsonl")
    groups[0]["candidates"][3]["story"] += " And then it rained."
    write_jsonl(again / "candidates.jsonl", groups)
    dimension(recipe=folder / "recipe.yaml", out=again)
    [waiting] = [row for row in rows(again / "settled_dropped.jsonl") if row["again"]]
    assert (waiting["id"], waiting["reason"][:35]) == (groups[0]["id"], "waits for annotators: its stories c")
    # Nor do old verdicts that are brought in again: they are counted and named.
    capsys.readouterr()
    dimension(recipe=folder / "recipe.yaml", out=again, verdicts=[folder / "verdicts.jsonl"])
    printed = capsys.readouterr().out
    assert "1 verdicts not taken" in printed and groups[0]["id"] in printed
    assert [row["id"] for row in rows(again / "settled_dropped.jsonl") if row["again"]] == [groups[0]["id"]]
    write_jsonl(tmp_path / "old.jsonl", [{k: v for k, v in rows(folder / "verdicts.jsonl")[0].items() if k != "texts"}])
    with pytest.raises(DataError, match=r"old\.jsonl:1 .*export the file again from its annotation store"):
        dimension(recipe=folder / "recipe.yaml", out=again, verdicts=[tmp_path / "old.jsonl"])
    write_jsonl(tmp_path / "none.jsonl", [{"id": "nowhere"}])
    with pytest.raises(DataError, match=r"no group of .* has this id"):
        dimension(recipe=folder / "recipe.yaml", out=again, verdicts=[tmp_path / "none.jsonl"])


def test_a_broken_row_of_a_file_is_named(tmp_path):
    write_human_stories(tmp_path, 1)
    (tmp_path / "own.jsonl").write_text('{"prompt": "A keeper waits for a boat that never comes."}\n{"id": "x7"}\n')
    recipe = write_recipe(
        tmp_path, "http://127.0.0.1:9/v1", premises={"endpoint": None, "check": None, "files": ["own.jsonl"]}
    )
    with pytest.raises(DataError, match=r"own\.jsonl:2 \(id x7\): prompt is missing or empty"):
        premises(recipe=recipe, out=tmp_path / "out")
