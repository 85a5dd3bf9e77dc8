"""Rewards made elsewhere come in, and evaluate reads them."""

import json
import sys

import numpy
import pytest

from storyalign.cli.main import status
from storyalign.errors import DataError, RecipeError
from storyalign.scoring.own_rewards import write_own_rewards
from tests.support.scored import instance

ITEMS = [instance(n, size=2 + n % 2) for n in range(6)]
# Right in the first four groups, wrong in the last two.
VALUES = {(item.id, c): float((c == 0) == (n < 4)) for n, item in enumerate(ITEMS) for c in range(len(item.stories))}
GROUPS = [[VALUES[item.id, c] for c in range(len(item.stories))] for item in ITEMS]


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(item.to_row()) + "\n" for item in ITEMS))

    def do(*arguments):
        monkeypatch.setattr(sys, "argv", ["storyalign", *arguments])
        code = status()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return do


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def write(folder, form):
    if form == "csv":
        rows = [f"{key},{c},{value}" for (key, c), value in reversed(VALUES.items())]
        (folder / "mine.csv").write_text("id,candidate,reward\n" + "\n".join(rows) + "\n")
        return "mine.csv"
    if form == "npy":
        numpy.save(folder / "mine.npy", numpy.array([value for group in GROUPS for value in group], dtype="float32"))
        return "mine.npy"
    rows = {
        "rows": [{"id": key, "candidate": c, "reward": value} for (key, c), value in VALUES.items()],
        "by id": [{"id": item.id, "rewards": group} for item, group in zip(ITEMS, GROUPS, strict=True)],
        "in order": [{"rewards": group} for group in GROUPS],
    }[form]
    (folder / "own.jsonl").write_text(lines(rows))
    return "own.jsonl"


@pytest.mark.parametrize("form", ["csv", "npy", "rows", "by id", "in order"])
def test_every_form_gives_the_same_figures(call, tmp_path, form):
    file = write(tmp_path, form)
    code, out, err = call(
        *("import", "rewards", file, "data.jsonl", "--name", "mine", "--setting", "dtype=bf16", "--out", "r.jsonl")
    )
    assert code == 0, err
    assert "r.jsonl: 15 stories of mine" in out and "scored 15 | unscored 0" in out
    code, out, err = call("evaluate", "r.jsonl", "data.jsonl", "--json", "results.json", "--no-null-scorers")
    assert code == 0, err
    [row] = json.loads((tmp_path / "results.json").read_text())["scorers"]
    assert (row["name"], row["accuracy"], row["n"]) == ("mine", 4 / 6, 6)
    assert "dtype=bf16" in row["signature"] and "imported=True" in row["signature"]


def test_from_python_and_what_is_no_number_is_unscored(call, tmp_path):
    groups = [[float("nan"), *GROUPS[0][1:]], [None, *GROUPS[1][1:]], *GROUPS[2:]]
    counts = write_own_rewards(groups, tmp_path / "data.jsonl", tmp_path / "r.jsonl", name="mine")
    assert (counts.scored, counts.unscored) == (13, 2)
    call("evaluate", "r.jsonl", "data.jsonl", "--json", "results.json", "--no-null-scorers")
    [row] = json.loads((tmp_path / "results.json").read_text())["scorers"]
    assert row["n_unscored"] == 2 and row["accuracy"] == 2 / 4
    assert [one["reason"].split()[2] for one in row["unscored"]] == ["not_finite:", "failed:"]
    write_own_rewards(VALUES, tmp_path / "data.jsonl", tmp_path / "r.jsonl", name="mine")  # a second import replaces it
    call("evaluate", "r.jsonl", "data.jsonl", "--json", "results.json", "--no-null-scorers")
    assert json.loads((tmp_path / "results.json").read_text())["scorers"][0]["n_unscored"] == 0


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lines([{"rewards": g} for g in GROUPS[:-1]]), "has 6 groups, the rewards 5"),
        (lines([{"rewards": [1, *g]} for g in GROUPS]), "group 1 (g-000): 3 rewards for 2 stories"),
        (lines([{"id": "g-000", "candidate": 0, "reward": 1}]), "14 stories have no reward, the first is g-000"),
        (lines([{"id": "g-000", "candidate": 0, "reward": 1}] * 2), "duplicate reward for g-000, candidate 0"),
        (lines([{"id": "g-000", "candidate": -1, "reward": 1}]), "candidate is -1"),
        (lines([{"id": "g-000", "candidate": 0, "reward": "high"}]), "reward must be a number, got 'high'"),
        (lines([{"id": "g-000", "rewards": [1, 2]}, {"rewards": [1, 2]}]), "some rows have an id and some have none"),
        (lines([{"score": 3}]), "expected id, candidate and reward"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line_and_nothing_is_written(call, tmp_path, content, problem):
    (tmp_path / "own.jsonl").write_text(content)
    code, _, err = call("import", "rewards", "own.jsonl", "data.jsonl", "--name", "mine", "--out", "r.jsonl")
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1 and problem in err
    assert not list(tmp_path.glob("r.jsonl*"))


def test_an_id_that_the_data_lacks_a_reserved_setting_and_pickles(call, tmp_path):
    data, out = tmp_path / "data.jsonl", tmp_path / "r.jsonl"
    with pytest.raises(DataError, match="1 stories are not in the data, the first is x candidate 0"):
        write_own_rewards({**VALUES, ("x", 0): 1.0}, data, out, name="mine")
    with pytest.raises(RecipeError, match="the setting kind is the kit's own"):
        write_own_rewards(VALUES, data, out, name="mine", settings={"kind": "judge"})
    numpy.save(tmp_path / "own.npy", numpy.array([{"a": 1}], dtype=object), allow_pickle=True)
    code, _, err = call("import", "rewards", "own.npy", "data.jsonl", "--name", "mine", "--out", "r.jsonl")
    assert code == 2 and "cannot be read as an array of numbers" in err


def test_rewards_of_a_run_are_not_replaced(tmp_path):
    from tests.support.scored import rewards_rows, write_rewards

    out = write_rewards(tmp_path / "r.jsonl", rewards_rows(ITEMS, lambda i, c: 1.0, "f" * 64), "f" * 64)
    (tmp_path / "data.jsonl").write_text(lines(item.to_row() for item in ITEMS))
    before = out.read_bytes()
    with pytest.raises(DataError, match="holds rewards that were scored here"):
        write_own_rewards(VALUES, tmp_path / "data.jsonl", out, name="mine")
    assert out.read_bytes() == before


def test_evaluate_names_the_verb(call, tmp_path):
    for file in (write(tmp_path, "rows"), write(tmp_path, "csv"), write(tmp_path, "npy")):
        code, _, err = call("evaluate", file, "data.jsonl")
        assert code == 2 and "storyalign import rewards" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "verb",
    [
        ("evaluate", "null:longest", "data.jsonl"),
        ("compare", "null:longest", "null:random", "data.jsonl"),
        ("head-to-head", "null:longest", "null:random", "data.jsonl"),
        ("best-of-n", "null:longest", "data.jsonl", "--out", "bon"),
        ("linguistics", "null:longest", "data.jsonl"),
        ("audit", "shortcuts", "data.jsonl", "null:longest"),
    ],
)
def test_null_scorers_stand_wherever_rewards_can(call, verb):
    code, out, err = call(*verb)
    assert code == 0, err
    assert "longest" in out


def test_a_verb_that_loads_a_model_says_where_null_scorers_stand(call, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the sea")
    for verb in (
        ("score", "null:longest", "data.jsonl", "--out", "r.jsonl"),
        ("rank", "--model", "null:longest", "--premise", "p", "a.txt", "b.txt"),
    ):
        code, _, err = call(*verb)
        assert code == 2 and "null:longest: a null scorer needs no scoring" in err
