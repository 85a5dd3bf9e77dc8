"""What users type by mistake: one line that says what is wrong, exit code 2, and every input as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.audit.accuracy_table import read_table
from storyalign.cli.outputs import keep_inputs
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.charts import new_axes, save_figure
from storyalign.records import BadRow, Instance, Reward
from tests.support.command import storyalign
from tests.support.rows import storyrmb_row, write_rows


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "data.jsonl", [storyrmb_row(n) for n in range(4)])


def refused(*arguments: str | Path, **variables: str) -> str:
    done = storyalign(*arguments, **variables)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_no_output_replaces_an_input(data: Path) -> None:
    before = data.read_bytes()
    assert "is read by this command" in refused("stats", data, "--json", data.parent / "." / "data.jsonl")
    assert "is read by this command" in refused("audit", "shortcuts", data, "--json", data)
    assert "is read by this command" in refused("score", "model", data, "--out", data, "--fresh")
    assert "is read by this command" in refused("import", "pairs", "columns", data, "--out", data)
    assert data.read_bytes() == before


def test_an_input_is_known_under_another_name(data: Path) -> None:
    link = data.parent / "link.jsonl"
    link.symlink_to(data)
    with pytest.raises(RecipeError, match="is read by this command"):
        keep_inputs([None, "null:longest", data], None, link)
    keep_inputs([data], data.parent / "new.json")


def test_score_forgets_no_file_that_holds_something_else(data: Path) -> None:
    notes = data.parent / "notes.jsonl"
    notes.write_text("my notes\n")
    assert "not a row of a rewards file" in refused("score", "model", data, "--out", notes, "--fresh")
    assert notes.read_text() == "my notes\n"


@pytest.mark.parametrize("name", ["", "/", "x" * 300])
def test_names_that_are_none(name: str) -> None:
    assert "Traceback" not in refused("stats", name)


def test_an_id_neither_breaks_the_line_nor_steers_the_terminal(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "data.jsonl", [storyrmb_row(0, id="a\n\x1b[31mred", chosen=" ")])
    assert "(id a\\n\\x1b[31mred): chosen is empty" in refused("stats", path)


def test_a_terminal_without_unicode_still_gets_its_table(data: Path) -> None:
    done = storyalign("audit", "shortcuts", data, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert done.returncode == 0 and "longest" in done.stdout, done.stderr


@pytest.mark.parametrize("row_id", [["a"], {"a": 1}, False])
def test_an_id_is_a_string_or_a_number(row_id: object) -> None:
    with pytest.raises(BadRow, match="id must be a string or a number"):
        Instance.from_row(storyrmb_row(0, id=row_id))


@pytest.mark.parametrize("tokens", ["many", [1], -1, True])
def test_tokens_are_a_whole_number(tokens: object) -> None:
    row = {"id": "a", "candidate": 0, "reward": 1.0, "status": "scored", "signature": "s", "n_tokens": tokens}
    with pytest.raises(BadRow, match="n_tokens"):
        Reward.from_row(row)


def test_a_dollar_in_a_name_is_no_formula(tmp_path: Path) -> None:
    figure, axes = new_axes(3.0, 1.0)
    axes.set_title("cheap$_{model")  # as a formula this would not even parse: the brace is never closed
    axes.annotate("a $x$ b", (0, 0))
    assert "a $x$ b" in save_figure(figure, tmp_path / "chart.svg").read_text()


def test_a_published_table_says_each_name_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two columns are called c"):
        read_table("name,c,c,average\nm,5,6,7\n", "t.csv", None)
    table = tmp_path / "t.csv"
    table.write_text("name,c,average\nm,50,50\n")
    assert "--groups names c twice" in refused("audit", "table", table, "--groups", "c=10,c=20")
