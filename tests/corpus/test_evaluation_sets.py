from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.corpus.judged_groups import TIED
from storyalign.errors import DataError, HubError, RecipeError, RowError
from tests.support.rows import group_row, pair_row, storyrmb_row, write_rows


def test_storyrmb_rows(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(0), storyrmb_row(1, dimension=" Creativity ")])
    loaded = load_evaluation_set(path)
    assert [i.id for i in loaded.instances] == ["rmb-0000", "rmb-0001"]
    assert [i.dimension for i in loaded.instances] == ["coherence", "creativity"]
    assert loaded.instances[0].stories[1] == "Letter 0 was lost and that was that."
    assert (loaded.name, loaded.has_gold, loaded.dropped) == ("rmb.jsonl", True, {})


@pytest.mark.parametrize("n_rejected", [1, 4])
def test_groups_of_two_and_of_five(tmp_path: Path, n_rejected: int) -> None:
    row = storyrmb_row(0, rejected=[f"Story {i}." for i in range(n_rejected)], rejected_writers=["m"] * n_rejected)
    [item] = load_evaluation_set(write_rows(tmp_path / "rmb.jsonl", [row])).instances
    assert len(item.stories) == n_rejected + 1


def test_preference_pairs_are_groups_of_two(tmp_path: Path) -> None:
    [item] = load_evaluation_set(write_rows(tmp_path / "pairs.jsonl", [pair_row(0)])).instances
    assert item.stories == (pair_row(0)["chosen"], pair_row(0)["rejected"])
    assert item.rejected_writers == ("model-a",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rejected": [], "rejected_writers": []}, "expected at least 1 rejected story, found 0"),
        ({"rejected": None}, "rejected is missing"),
        ({"dimension": ""}, "unknown dimension ''"),
        ({"source": "aliens"}, "unknown source 'aliens'"),
        ({"id": "rmb-0000"}, "duplicate id rmb-0000: "),
        ({"chosen": "  "}, "chosen is empty"),
        ({"rejected": ["a", storyrmb_row(1)["chosen"], "b"]}, "rejected[1] is the chosen story"),
        ({"rejected_writers": ["m", None, "m"]}, "rejected_writers[1] is missing"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    path = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(0), storyrmb_row(1, **change)])
    with pytest.raises(RowError) as caught:
        load_evaluation_set(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ("[1, 2]\n", "expected a JSON object, found list"),
        ('{"rmb-0000": [0.1, 0.2]}\n', "neither a group"),
        ('{"id": "m1", "premise": "A cat.", "theme": "cats"}\n', "a premise without stories.*best-of-n"),
        ('{"id": "a", "candidate": 0, "reward": 1.5, "status": "scored"}\n', "this is a row of a rewards file"),
        ("prompt,chosen\na,b\n", "not valid JSON"),
    ],
)
def test_files_that_hold_something_else(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=problem):
        load_evaluation_set(path)


def test_the_digest_follows_content_alone(tmp_path: Path) -> None:
    rows = [storyrmb_row(n) for n in range(3)]
    one = load_evaluation_set(write_rows(tmp_path / "a.jsonl", rows)).digest
    shuffled = [dict(reversed(list(row.items()))) for row in reversed(rows)]
    assert load_evaluation_set(write_rows(tmp_path / "b.jsonl", shuffled)).digest == one
    changed = [*rows[:2], storyrmb_row(2, chosen="Another ending.")]
    assert load_evaluation_set(write_rows(tmp_path / "c.jsonl", changed)).digest != one
    assert len(one) == 64


def test_judged_groups(tmp_path: Path) -> None:
    rows = [group_row(1, {"q": 1}, {"q": 3}, {"q": 2}), group_row(2, {"q": 1}, {"q": 1})]
    loaded = load_evaluation_set(write_rows(tmp_path / "judged.jsonl", rows))
    [item] = loaded.instances
    assert item.stories == ("Story 1 of group 1.", "Story 2 of group 1.", "Story 0 of group 1.")
    assert (item.id, item.chosen_writer, item.license) == ("g1", "model-1", "MIT")
    assert loaded.dropped == {TIED: 1}
    assert loaded.name == "judged.jsonl (best by q)"


def test_without_a_gold_order_the_reason_and_the_keys_are_told(tmp_path: Path) -> None:
    rows = [group_row(n, {"a": n, "b": 1}, {"a": 2, "b": 2}) for n in (1, 2)]
    path = write_rows(tmp_path / "judged.jsonl", rows)
    with pytest.raises(DataError, match=r"2 scores, and none .*--score-key can be 'b' \(leaves 2 of 2 groups\)$"):
        load_evaluation_set(path)
    assert len(load_evaluation_set(path, score_key="b").instances) == 2
    with pytest.raises(DataError, match="no story has the score 'c'"):
        load_evaluation_set(path, score_key="c")


def test_a_score_that_leaves_a_single_group_is_not_recommended(tmp_path: Path) -> None:
    tied = [group_row(n, {"a": 1, "b": 2}, {"a": 1, "b": 2}) for n in range(3)]
    path = write_rows(tmp_path / "judged.jsonl", [*tied, group_row(3, {"a": 1, "b": 2}, {"a": 2, "b": 2})])
    with pytest.raises(DataError) as caught:
        load_evaluation_set(path)
    assert str(caught.value).removeprefix(f"{path}: ") == (
        "no gold order, so no accuracy: each of 2 scores was tried on each of 4 groups, and 7 of 8 tries find no best "
        "story, all of them in groups in which stories share the best score; no --score-key leaves more than 1 of 4 "
        "groups, too few for an accuracy; storyalign score gives rewards without a gold order"
    )


def test_stories_without_a_gold_order_can_still_be_scored(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "judged.jsonl", [group_row(1, None, None, None)])
    with pytest.raises(DataError, match="no gold order, so no accuracy: nobody judged the stories"):
        load_evaluation_set(path)
    loaded = load_evaluation_set(path, needs_gold=False)
    assert not loaded.has_gold
    assert loaded.instances[0].stories == tuple(f"Story {i} of group 1." for i in range(3))


def test_options_must_fit_the_data(tmp_path: Path) -> None:
    rmb = write_rows(tmp_path / "rmb.jsonl", [storyrmb_row(0)])
    judged = write_rows(tmp_path / "judged.jsonl", [group_row(1, {"q": 1}, {"q": 2})])
    with pytest.raises(RecipeError, match="leave out --score-key"):
        load_evaluation_set(rmb, score_key="q")
    with pytest.raises(RecipeError, match="leave out --config, --split"):
        load_evaluation_set(rmb, config="default", split="test")
    with pytest.raises(RecipeError, match="--lower-is-better needs --score-key"):
        load_evaluation_set(judged, lower_is_better=True)
    with pytest.raises(RecipeError, match="add --lower-is-better"):
        load_evaluation_set(judged, score_key="ranks")


def test_a_name_that_is_nowhere(tmp_path: Path) -> None:
    with pytest.raises(HubError, match="no file or folder of that name"):
        load_evaluation_set(tmp_path / "nowhere")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be loaded as a dataset"):
        load_evaluation_set(tmp_path)


REAL_DATA = os.environ.get("STORYALIGN_REAL_DATA")


@pytest.mark.real_data
@pytest.mark.skipif(not REAL_DATA, reason="STORYALIGN_REAL_DATA is not set")
class TestRealFiles:
    """Figures counted by hand with the standard library from the files themselves."""

    @pytest.mark.parametrize(
        ("file", "options", "n", "candidates", "tied"),
        [
            ("lamp_rank", {}, 44, {3}, 6),
            ("lamp_rank", {"score_key": "ranks", "lower_is_better": True}, 44, {3}, 6),
            ("confederacy", {}, 2, {13}, 0),
            ("wpb_zh_fiction", {}, 7, {4}, 5),
            ("hanna", {"assume_human_best": True}, 24, {7}, 0),
            ("fastdetect_wp", {"assume_human_best": True}, 45, {2, 3, 4}, 0),
        ],
    )
    def test_with_a_gold_order(
        self, file: str, options: dict[str, Any], n: int, candidates: set[int], tied: int
    ) -> None:
        loaded = load_evaluation_set(Path(REAL_DATA or "") / f"{file}.jsonl", **options)
        assert len(loaded.instances) == n
        assert {len(i.stories) for i in loaded.instances} == candidates
        assert loaded.dropped[TIED] == tied

    def test_the_human_is_not_always_best(self) -> None:
        path = Path(REAL_DATA or "") / "confederacy.jsonl"
        assert [i.chosen_writer for i in load_evaluation_set(path).instances] == ["chatgpt-gpt4", "human"]
        assert {i.chosen_writer for i in load_evaluation_set(path, assume_human_best=True).instances} == {"human"}

    def test_ranks_and_their_mean_agree_with_the_standard_library(self) -> None:
        path = Path(REAL_DATA or "") / "lamp_rank.jsonl"
        chosen = {i.id: i.chosen for i in load_evaluation_set(path, score_key="ranks", lower_is_better=True).instances}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            totals = [sum(c["ranks"]) for c in row["candidates"]]
            if totals.count(min(totals)) == 1:
                assert chosen.pop(row["id"]) == row["candidates"][totals.index(min(totals))]["story"]
        assert not chosen

    @pytest.mark.parametrize(
        ("file", "reason"),
        [
            ("hanna", "fewer than 2 rated stories"),
            ("fastdetect_wp", "nobody judged the stories"),
            ("ttcw", "best story has no text"),
            ("mops/curated", "a premise without stories"),
        ],
    )
    def test_without_a_gold_order(self, file: str, reason: str) -> None:
        with pytest.raises(DataError, match=reason):
            load_evaluation_set(Path(REAL_DATA or "") / f"{file}.jsonl")

    def test_keys_that_leave_one_group_are_not_recommended(self) -> None:
        with pytest.raises(DataError, match="no --score-key leaves more than 1 of 5 groups"):
            load_evaluation_set(Path(REAL_DATA or "") / "ttcw.jsonl")

    def test_withheld_texts_are_counted(self) -> None:
        loaded = load_evaluation_set(Path(REAL_DATA or "") / "ttcw.jsonl", needs_gold=False)
        assert (len(loaded.instances), loaded.has_gold) == (5, False)
        assert loaded.dropped == {"candidates without a text": 5}
