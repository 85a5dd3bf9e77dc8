"""The verbs evaluate and compare, on real files and with a real model."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from storyalign.accuracy import top1_report
from storyalign.cli.data_options import DataChoice
from storyalign.cli.main import status
from storyalign.cli.scoring_runs import file_name
from storyalign.scoring.options import ScoringOptions
from tests.support.scored import instance, rewards_rows, right_in, write_rewards

ITEMS = [instance(n) for n in range(60)]


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Call the command line as a user does; give exit code, output and error output."""
    monkeypatch.chdir(tmp_path)

    def do(*arguments):
        monkeypatch.setattr(sys, "argv", ["storyalign", *map(str, arguments)])
        code = status()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return do


def write_data(path, items=ITEMS):
    path.write_text("".join(json.dumps(item.to_row()) + "\n" for item in items))
    return path


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "data.jsonl")


@pytest.fixture
def rewards(tmp_path):
    def write(name, share, seed=0):
        scorer = name * 64
        return write_rewards(tmp_path / f"{name}.jsonl", rewards_rows(ITEMS, right_in(share, seed), scorer), scorer)

    return write


def test_table_and_files(call, data, rewards, tmp_path):
    path = rewards("a", 0.7)
    code, out, err = call(
        *("evaluate", path, data, "--json", "out/results.json", "--html", "out/report.html"),
        *("--markdown", "out/table.md", "--charts", "out/charts"),
    )
    assert code == 0, err
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    reward = right_in(0.7)
    expected = top1_report([[reward(i, c) for c in range(4)] for i in ITEMS], [0] * 60)["accuracy"]
    assert written["scorers"][0]["accuracy"] == expected
    assert f"{100 * expected:.1f} (" in out
    for words in ("chance 25.0%", "Macro (95%)", "Ties", "Cut", "Unscored", "By dimension", "By source", "longest"):
        assert words in out
    assert written["signature"] in out.splitlines()  # whole and on one line, whatever the width
    assert written["scorers"][0]["signature"] in out.splitlines()
    assert "<!doctype html>" in (tmp_path / "out" / "report.html").read_text()
    assert (tmp_path / "out" / "table.md").read_text().startswith("| Scorer |")
    assert {p.name for p in (tmp_path / "out" / "charts").iterdir()} >= {"accuracy.png", "by_dimension.png"}


def test_null_scorers_can_be_left_out_and_ties_be_strict(call, data, tmp_path):
    flat = write_rewards(tmp_path / "flat.jsonl", rewards_rows(ITEMS, lambda i, c: 1.0, "f" * 64), "f" * 64)
    code, out, _ = call("evaluate", flat, data, "--no-null-scorers", "--json", "r.json")
    assert code == 0 and "longest" not in out and "earns 1/k" in out
    [row] = json.loads((tmp_path / "r.json").read_text())["scorers"]
    assert row["accuracy"] == 0.25 and row["n_ties"] == 60
    call("evaluate", flat, data, "--no-null-scorers", "--ties", "strict", "--json", "r.json")
    [row] = json.loads((tmp_path / "r.json").read_text())["scorers"]
    assert row["accuracy"] == 0.0


def test_sets_without_dimension_and_source(call, tmp_path):
    items = [instance(n, size=2 + n % 3, dimension=None, source=None) for n in range(9)]
    path = write_rewards(tmp_path / "r.jsonl", rewards_rows(items, right_in(0.9), "a" * 64), "a" * 64)
    code, out, err = call("evaluate", path, write_data(tmp_path / "plain.jsonl", items))
    assert code == 0, err
    assert "By dimension" not in out and "By source" not in out and "chance 36.1%" in out  # (1/2 + 1/3 + 1/4) / 3


def judged(path):
    def candidate(story, ranks, writer="model"):
        return {"story": story, "writer": writer, "scores": {}, "n_raters": len(ranks), "ranks": ranks}

    groups = [
        {
            "id": f"j-{n}",
            "premise": f"Premise {n}",
            "candidates": [
                candidate(f"Worst {n}.", [3, 3]),
                candidate(f"Best {n}.", [1, 1] if n else [2, 2]),
                candidate(f"Middle {n}.", [2, 2]),
            ],
            "license": "mit",
            "origin": "test",
            "lang": "en",
        }
        for n in range(6)
    ]
    path.write_text("".join(json.dumps(group) + "\n" for group in groups))
    return path


def test_judged_groups_that_were_scored_in_the_order_of_their_file(call, tmp_path):
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    path = judged(tmp_path / "judged.jsonl")
    as_scored = load_evaluation_set(path, needs_gold=False)
    length = write_rewards(
        tmp_path / "len.jsonl",
        rewards_rows(as_scored.instances, lambda i, c: -len(i.stories[c]), "a" * 64),
        "a" * 64,
    )
    code, out, err = call(*("evaluate", length, path, "--score-key", "ranks", "--lower-is-better", "--json", "r.json"))
    assert code == 0, err
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["scorers"][0]["accuracy"] == 1.0  # "Best" is the shortest
    assert written["data"]["n"] == 5 and sum(written["dropped"].values()) == 1
    assert "left out:" in out


@pytest.mark.real_data
def test_people_s_judgements(call, tmp_path):
    folder = os.environ.get("STORYALIGN_REAL_DATA")
    if not folder:
        pytest.skip("STORYALIGN_REAL_DATA is not set")
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    path = Path(folder) / "lamp_rank.jsonl"
    options = ("--score-key", "ranks", "--lower-is-better")
    as_scored = load_evaluation_set(path, needs_gold=False)
    rows = rewards_rows(as_scored.instances, lambda i, c: float(c), "a" * 64)
    rewards = write_rewards(tmp_path / "r.jsonl", rows, "a" * 64)
    code, _, err = call("evaluate", rewards, path, *options, "--json", "r.json")
    assert code == 0, err
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["data"]["n"] == 44  # of 50; six have two best stories
    assert written["chance"] == pytest.approx(1 / 3)
    for name in ("hanna", "fastdetect_wp", "ttcw"):
        code, _, err = call("audit", "shortcuts", Path(folder) / f"{name}.jsonl")
        assert code == 2 and "no gold order" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "a.jsonl"], "name a model or a rewards file, and then the data"),
        (["compare", "a.jsonl", "data.jsonl"], "compare needs two scorers or more"),
        (["evaluate", "missing.jsonl", "data.jsonl"], "missing.jsonl: no such file"),
        (["evaluate", "a.jsonl", "missing.jsonl"], "missing.jsonl"),
        (["evaluate", "a.jsonl", "data.jsonl", "--ties", "half"], "--ties half: unknown; choose split or strict"),
        (["evaluate", "a.jsonl", "data.jsonl", "--score-key", "x"], "leave out --score-key"),
        (["evaluate", "data.jsonl", "data.jsonl"], "data.jsonl.scorer.json: missing"),
    ],
)
def test_mistakes_end_with_one_line_and_code_2(call, data, rewards, arguments, message):
    rewards("a", 0.5)
    code, out, err = call(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err


def test_nothing_is_written_when_the_rewards_are_refused(call, data, rewards, tmp_path):
    path = rewards("a", 0.5)
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    code, _, err = call("evaluate", path, data, "--json", "r.json", "--html", "r.html")
    assert code == 2 and "1 of 240 stories of data.jsonl have no row" in err
    assert not list(tmp_path.glob("r.*"))


def test_compare(call, data, rewards, tmp_path):
    code, out, err = call(
        *("compare", rewards("a", 0.9), rewards("b", 0.3, seed=5), rewards("c", 0.35, seed=7), data),
        *("--json", "c.json"),
    )
    assert code == 0, err
    assert "a is better than b by" in out
    assert "b and c cannot be told apart with these 60 groups." in out
    assert "by dimension: coherence" in out and "only a is right in" in out and "Premise" in out
    written = json.loads((tmp_path / "c.json").read_text())
    assert len(written["comparisons"]) == 3 and len(written["scorers"]) == 3
    assert written["comparisons"][0]["told_apart"] and written["comparisons"][0]["p_holm"] < 0.001


def test_one_model_under_two_settings_is_told_apart_by_its_files(call, data, tmp_path):
    paths = []
    for name in ("x", "y"):
        rows = rewards_rows(ITEMS, right_in(0.5, seed=ord(name)), name * 64)
        paths.append(write_rewards(tmp_path / f"{name}.jsonl", rows, name * 64, model="same"))
    code, out, _ = call("compare", *paths, data)
    assert code == 0 and f"same [{paths[0]}]" in out


def test_one_model_in_two_precisions_is_told_apart_by_them(call, data, tmp_path):
    paths = []
    for name in ("fp32", "bf16"):
        rows = rewards_rows(ITEMS, right_in(0.5, seed=ord(name[0])), name[0] * 64)
        paths.append(write_rewards(tmp_path / f"{name}.jsonl", rows, name[0] * 64, model="same", dtype=name))
    code, out, _ = call("compare", *paths, data)
    assert code == 0 and "same (fp32)" in out and "same (bf16)" in out and ".jsonl]" not in out


def test_brackets_in_names_are_no_markup(call, data, tmp_path):
    rows = rewards_rows(ITEMS, right_in(0.5), "m" * 64)
    path = write_rewards(tmp_path / "m.jsonl", rows, "m" * 64, model="[red]model[/red]")
    code, out, _ = call("evaluate", path, data)
    assert code == 0 and "[red]model[/red]" in out


def test_a_model_is_scored_first_and_the_second_time_its_rewards_are_there(call, tmp_path):
    from tests.support.tiny_models import tiny_model_folder, words

    model = tiny_model_folder(tmp_path / "model")
    items = [
        instance(n, chosen=words(12, seed=n), rejected=tuple(words(12 + k, seed=100 * n + k) for k in (1, 2, 3)))
        for n in range(6)
    ]
    data = write_data(tmp_path / "data.jsonl", items)
    code, out, err = call("evaluate", "model", data, "--json", "r.json")
    assert code == 0, err
    assert "24 stories (24 new" in out
    first = json.loads((tmp_path / "r.json").read_text())
    assert first["scorers"][0]["name"] == "model" and first["scorers"][0]["n"] == 6
    assert "dtype=fp32" in first["scorers"][0]["signature"] and "template=" in first["scorers"][0]["signature"]
    code, out, err = call("evaluate", "model", data, "--json", "r.json")
    assert "24 stories (0 new, 24 from before)" in out
    assert json.loads((tmp_path / "r.json").read_text()) == first
    assert model.is_dir() and len(list((tmp_path / "runs" / "rewards").glob("*.jsonl"))) == 1
    code, out, err = call("evaluate", "model", data, "--max-length", "30", "--truncate", "head")
    assert code == 0, err
    assert len(list((tmp_path / "runs" / "rewards").glob("*.jsonl"))) == 2  # other settings, another file


def test_models_at_similar_paths_a_gold_order_of_choice_and_an_edited_reward(call, tmp_path):
    from tests.support.tiny_models import tiny_model_folder

    groups = [
        {
            "id": f"g{n}",
            "premise": f"Premise {n}.",
            "candidates": [
                # Two scores of which neither speaks for the whole story: the file alone has no gold order.
                {"story": f"The keeper counted {n} boats.", "writer": "human", "scores": {"style": 4, "plot": 1}},
                {"story": f"There was a sea {n}.", "writer": "m1", "scores": {"style": 4, "plot": 3}},
                {"story": f"Nobody lit lamp {n}.", "writer": "m2", "scores": {"style": 1, "plot": 2}},
            ],
        }
        for n in range(3)
    ]
    data = tmp_path / "groups.jsonl"
    data.write_text("".join(json.dumps(group) + "\n" for group in groups))
    for place in ("runs/a/model", "runs-a/model"):
        tiny_model_folder(tmp_path / place)
    models = ("runs/a/model", "runs-a/model")
    code, out, err = call("evaluate", *models, data, "--assume-human-best", "--json", "r.json")
    assert code == 0, err
    scorers = json.loads((tmp_path / "r.json").read_text())["scorers"]
    assert [(s["name"], s["n"]) for s in scorers[:2]] == [(name, 3) for name in models]

    code, _, err = call("score", "runs/a/model", data, "--out", "own.jsonl")
    assert code == 0, err
    for order in (("--assume-human-best",), ("--score-key", "plot")):
        code, out, err = call("evaluate", "own.jsonl", data, *order, "--json", "own.json")
        assert code == 0, err
    before = json.loads((tmp_path / "own.json").read_text())["scorers"][0]["accuracy"]
    first, *rest = (tmp_path / "own.jsonl").read_text().splitlines()
    edited = json.dumps({**json.loads(first), "reward": 99.0})
    (tmp_path / "own.jsonl").write_text("\n".join([edited, *rest]) + "\n")
    code, _, err = call("evaluate", "own.jsonl", data, "--score-key", "plot")
    assert code == 2 and "own.jsonl" in err
    code, out, err = call("score", "runs/a/model", data, "--out", "own.jsonl")
    assert code == 0 and "9 stories (1 new" in out, out + err
    code, out, err = call("evaluate", "own.jsonl", data, "--score-key", "plot", "--json", "own.json")
    assert code == 0, err
    assert json.loads((tmp_path / "own.json").read_text())["scorers"][0]["accuracy"] == before


def test_an_unknown_model_is_an_error_of_one_line(call, data):
    code, _, err = call("evaluate", "no/such-model", data)
    assert code == 2 and err.count("error: ") == 1 and "no/such-model" in err


def test_each_scorer_has_a_rewards_file_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "here" / "runs" / "a" / "model").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "model").mkdir(parents=True)
    (tmp_path / "here" / "runs-a" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    choice = DataChoice("data.jsonl")
    names = [
        file_name(scorer, choice, ScoringOptions()) for scorer in ("runs/a/model", "../runs/a/model", "runs-a/model")
    ]
    assert len(set(names)) == 3
    assert file_name("./runs/a/model", choice, ScoringOptions()) == names[0]
    options = [ScoringOptions(revision="x"), ScoringOptions(mode="rate"), ScoringOptions(dtype="bf16")]
    assert len({file_name("m", choice, own) for own in options} | {file_name("m", choice, ScoringOptions())}) == 4


def test_null_scorers_stand_where_rewards_files_stand(call, data, rewards):
    path = rewards("a", 0.7)
    for arguments in (
        ("evaluate", "null:longest", path, data),
        ("compare", path, "null:longest", data),
        ("linguistics", "null:longest", data),
        ("audit", "shortcuts", data, "null:longest"),
    ):
        code, _, err = call(*arguments)
        assert code == 0, (arguments, err)
    code, _, err = call("evaluate", "null:tallest", data)
    assert code == 2 and "null:tallest: no such null scorer" in err


def test_a_rewards_file_needs_a_name_that_is_read_again(call, data, tmp_path):
    code, _, err = call("score", "model", data, "--out", "x.r")
    assert code == 2 and "must end in .jsonl" in err and not (tmp_path / "x.r").exists()


def test_groups_that_one_gold_order_cannot_rank_are_scored_for_another(tmp_path):
    from storyalign.corpus.evaluation_sets import load_evaluation_set

    path = judged(tmp_path / "judged.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    scored = load_evaluation_set(path, needs_gold=False, every_story=True)
    assert {i.id for i in scored.instances} == {row["id"] for row in rows}
    by_id = {i.id: set(i.stories) for i in scored.instances}
    for options in ({"score_key": "ranks", "lower_is_better": True},):
        for item in load_evaluation_set(path, **options).instances:
            assert set(item.stories) <= by_id[item.id]
