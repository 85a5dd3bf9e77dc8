"""The import verbs as users run them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import storyalign
from tests.support.rows import group_row, pair_row, storyrmb_row, write_rows


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_stories_through_a_mapping_with_their_counts(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("columns: {story: content, author: author, engagement: reads}")
    (tmp_path / "e.csv").write_bytes(
        b"content,author,reads\nThe sea was calm that night.,Ann,9\nThe sea was calm that night!,Bo,9\n"
        + "“Go” she said – late.,Ann,7\n".encode("cp1252")
        + b"[removed],Ann,3\n"
    )
    salt = {"STORYALIGN_SALT_FILE": str(tmp_path / "salt")}
    out, common = tmp_path / "s.jsonl", ("import", "stories", "columns", tmp_path / "e.csv", "--language", "en")
    done = storyalign(*common, "--mapping", tmp_path / "m.yaml", "--license", "mit", "--out", out, **salt)
    assert done.returncode == 0, done.stderr
    assert [row["story"] for row in read(out)] == ["The sea was calm that night.", "“Go” she said – late."]
    assert read(out)[0]["author_key"] == read(out)[1]["author_key"] != "Ann"
    assert read(out)[0]["corpus"] == "e"
    assert "read 4, kept 2, dropped 2" in done.stdout
    assert "dropped 1: an exact duplicate" in done.stdout
    assert f"{tmp_path / 'e.csv'}: read as cp1252\n" in done.stdout
    assert f"dropped 1: deleted by its author or a moderator ({tmp_path / 'e.csv'}:5)" in done.stdout


def test_a_broken_row_leaves_the_older_file_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    out.write_text("older\n")
    path = write_rows(tmp_path / "t.jsonl", [{"prompt": "p", "chosen": "a", "rejected": "b"}, {"prompt": "p"}])
    done = storyalign("import", "pairs", "trl", path, "--out", out)
    assert done.returncode == 2
    assert done.stderr.endswith(f"error: {path}:2: an answer is neither a text nor a list of messages\n")
    assert out.read_text() == "older\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.jsonl", "t.jsonl"]


def test_pairs_can_be_built_into_a_folder(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", [pair_row(n) for n in range(4)])
    done = storyalign(
        "import", "pairs", "trl", path, "--license", "mit", "--corpus", "t", "--out", tmp_path / "p.jsonl"
    )
    assert done.returncode == 0, done.stderr
    done = storyalign("build", "story_preferences", "--raw", tmp_path / "p.jsonl", "--out", tmp_path / "pairs")
    assert done.returncode == 0, done.stderr
    assert "imported" in done.stdout
    assert (tmp_path / "pairs/data/imported").is_dir()


def test_a_benchmark_is_checked_against_the_papers_counts(tmp_path: Path) -> None:
    columns = ("id", "prompt", "chosen", "rejected", "dimension", "source", "chosen_writer", "rejected_writers")
    (tmp_path / "m.yaml").write_text("columns:\n" + "".join(f"  {name}: {name}\n" for name in columns))
    path = write_rows(tmp_path / "b.jsonl", [storyrmb_row(n) for n in range(10)])
    common = ("import", "benchmark", "columns", path, "--mapping", tmp_path / "m.yaml", "--out", tmp_path / "o.jsonl")
    done = storyalign(*common, "--expect-paper-counts")
    assert done.returncode == 2
    assert "not the official size: 10 instances instead of 1133" in done.stderr
    assert not (tmp_path / "o.jsonl").exists()
    assert storyalign(*common).returncode == 0
    assert len(read(tmp_path / "o.jsonl")) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stories", "columns", "x.csv"), "columns needs a YAML file"),
        (("stories", "writingprompts", "x"), "takes two files"),
        (("pairs", "litbench-test", "x.parquet"), "name a file with the comments"),
        (("pairs", "trl", "chats.jsonl"), "no rows are left of 1 (1 of them: no prompt); nothing was written"),
    ],
)
def test_what_a_format_needs(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    write_rows(tmp_path / "chats.jsonl", [{"prompt": " ", "chosen": "a", "rejected": "b"}])
    named = [str(tmp_path / name) if name.endswith(".jsonl") else name for name in arguments]
    done = storyalign("import", *named, "--out", tmp_path / "o.jsonl")
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.real_data
@pytest.mark.skipif("STORYALIGN_REAL_DATA" not in os.environ, reason="STORYALIGN_REAL_DATA is not set")
def test_judged_groups_give_pairs(tmp_path: Path) -> None:
    path = Path(os.environ["STORYALIGN_REAL_DATA"]) / "confederacy.jsonl"
    out = tmp_path / "p.jsonl"
    done = storyalign("import", "pairs", "judged-groups", path, "--score-key", "total_of_100", "--out", out)
    assert done.returncode == 0, done.stderr
    assert len(read(out)) == 2 * 12  # two premises, 13 candidates each: the best against the others
    assert {row["construction"] for row in read(out)} == {"imported"}


def test_groups_that_are_dropped_are_read_and_stories_that_are_left_out_are_named(tmp_path: Path) -> None:
    rows = [group_row(1, {"q": 3}, {"q": 2}, None), group_row(2, {"q": 3}, {"q": 3})]
    path, out = write_rows(tmp_path / "g.jsonl", rows), tmp_path / "i.jsonl"
    done = storyalign(
        "import", "benchmark", "judged-groups", path, "--score-key", "q", "--language", "en", "--out", out
    )
    assert done.returncode == 0, done.stderr
    assert "read 2, kept 1, dropped 1, left out 1 stories of groups\n" in done.stdout
    assert "dropped 1: groups in which stories share the best score" in done.stdout
    assert "left out 1 of the groups' stories: candidates without a rating" in done.stdout


def test_notices_in_the_place_of_a_rejected_story_are_counted(tmp_path: Path) -> None:
    tide = "The tide turned before the bell rang, and nobody spoke of the rope."
    notices = ["[ Removed by reddit in response to a copyright notice. ]", "**[removed]**", "I can't help with that."]
    rows = [{"prompt": f"Tide {n}", "chosen": f"{tide} {n}", "rejected": text} for n, text in enumerate(notices)]
    rows.append({"prompt": "Tide 3", "chosen": f"{tide} 3", "rejected": "It was a wet day in the harbour."})
    out = tmp_path / "o.jsonl"
    done = storyalign("import", "pairs", "trl", write_rows(tmp_path / "p.jsonl", rows), "--out", out)
    assert done.returncode == 0, done.stderr
    assert "read 4, kept 1, dropped 3\n" in done.stdout
    assert "dropped 2: rejected: deleted by its author or a moderator" in done.stdout
    assert "dropped 1: rejected: a model's refusal stored as a story" in done.stdout

    groups = [  # the first group keeps one of four rejected stories, the second loses both
        {"p": "Tide 0", "c": f"{tide} 0", "r": [*notices, "It was a wet day in the harbour."]},
        {"p": "Tide 1", "c": f"{tide} 1", "r": ["[deleted]", "[ Removed by Reddit ]"]},
    ]
    (tmp_path / "m.yaml").write_text("columns: {prompt: p, chosen: c, rejected: r}")
    path = write_rows(tmp_path / "g.jsonl", groups)
    done = storyalign("import", "benchmark", "columns", path, "--mapping", tmp_path / "m.yaml", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "read 2, kept 1, dropped 1, left out 5 stories of groups\n" in done.stdout
    assert "left out 4 of the groups' stories: rejected: deleted by its author or a moderator" in done.stdout
    assert "left out 1 of the groups' stories: rejected: a model's refusal stored as a story" in done.stdout


def test_contradicted_pairs_are_kept_only_on_request(tmp_path: Path) -> None:
    row = {"prompt": "A tide.", "chosen": "The rope was cut.", "rejected": "It was wet."}
    rows = [{**row, "score_chosen": 9, "score_rejected": 2}, {**row, "prompt": "A gull.", "score_chosen": 1}]
    rows[1] |= {"chosen": "A gull came.", "score_rejected": 2}
    path, out = write_rows(tmp_path / "t.jsonl", rows), tmp_path / "p.jsonl"
    call = ("import", "pairs", "trl", path, "--language", "en", "--out", out)
    done = storyalign(*call)
    assert done.returncode == 0, done.stderr
    assert "dropped 1: the rejected story has the higher score; --keep-contradicted keeps such pairs" in done.stdout
    assert storyalign(*call, "--keep-contradicted").returncode == 0
    assert len(read(out)) == 2


def test_ids_that_restart_in_every_shard_stay_apart(tmp_path: Path) -> None:
    row = {"p": "A tide.", "c": "The rope was cut.", "r": "It was wet."}
    shards = [write_rows(tmp_path / f"{n}.jsonl", [{**row, "id": 0, "c": f"Rope {n} was cut."}]) for n in (1, 2)]
    (tmp_path / "m.yaml").write_text("columns: {id: id, prompt: p, chosen: c, rejected: r}")
    call = (
        "import",
        "pairs",
        "columns",
        *shards,
        "--mapping",
        tmp_path / "m.yaml",
        "--corpus",
        "t",
        "--language",
        "en",
    )
    done = storyalign(*call, "--out", tmp_path / "p.jsonl")
    assert done.returncode == 0, done.stderr
    first, second = (row["id"] for row in read(tmp_path / "p.jsonl"))
    assert first == "t-0" and second.startswith("t-0-")
    assert "made 1 repeated ids unique by a digest of their texts: t-0\n" in done.stdout


def test_jsonl_that_is_not_utf8_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        b'{"prompt": "A.", "chosen": "b", "rejected": "c"}\n{"prompt": "caf\xe9", "chosen": "b", "rejected": "c"}\n'
    )
    done = storyalign("import", "pairs", "trl", path, "--out", tmp_path / "p.jsonl")
    assert done.returncode == 2
    assert done.stderr.endswith(
        f"error: {path}:2: not valid JSON (byte 16 of the line is not UTF-8; save the file as UTF-8)\n"
    )
