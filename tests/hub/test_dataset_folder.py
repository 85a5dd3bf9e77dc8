from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.errors import DataError, RecipeError, RowError
from storyalign.hub.build import dataset_configs
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def storyrmb(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    return build_storyrmb([write_rows(tmp_path / "raw.jsonl", rows)], tmp_path / "storyrmb", **options).path


def preferences(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    raw = write_rows(tmp_path / "pairs.jsonl", rows)
    return build_story_preferences([raw], tmp_path / "story_preferences", **options).path


def test_every_row_comes_back_once_from_each_of_its_configs(tmp_path: Path) -> None:
    rows = [storyrmb_row(n) for n in range(7)]
    folder = str(storyrmb(tmp_path, rows))
    everything = datasets.load_dataset(folder, split="test")
    assert sorted(everything["id"][:]) == [row["id"] for row in rows]
    for source in ("human_llm", "llm_llm"):
        part = datasets.load_dataset(folder, source, split="test")
        assert part["id"][:] == [row["id"] for row in rows if row["source"] == source]
    names = everything.features["dimension"]
    for row in everything:
        raw = rows[int(row["id"][-4:])]
        assert {**row, "dimension": names.int2str(row["dimension"]), "source": raw["source"]} == raw


def test_both_splits_of_the_pairs_come_back(tmp_path: Path) -> None:
    folder = str(preferences(tmp_path, [pair_row(n) for n in range(10)]))
    everything = datasets.load_dataset(folder)
    assert {split: len(rows) for split, rows in everything.items()} == {"train": 8, "validation": 2}
    part = datasets.load_dataset(folder, "rewriting")
    assert {split: rows["id"][:] for split, rows in part.items()} == {
        "train": ["pair-0000", "pair-0002", "pair-0006", "pair-0008"],
        "validation": ["pair-0004"],
    }
    assert "split" not in everything["train"].column_names


def test_a_folder_streams(tmp_path: Path) -> None:
    folder = str(storyrmb(tmp_path, [storyrmb_row(n) for n in range(4)]))
    stream = datasets.load_dataset(folder, "llm_llm", split="test", streaming=True)
    assert [row["id"] for row in stream] == ["rmb-0001", "rmb-0003"]


def test_a_folder_is_an_evaluation_set_with_the_digest_of_its_raw_rows(tmp_path: Path) -> None:
    folder = storyrmb(tmp_path, [storyrmb_row(n) for n in range(6)])
    loaded = load_evaluation_set(folder)
    assert loaded.digest == load_evaluation_set(tmp_path / "raw.jsonl").digest
    assert loaded.name == "storyrmb"
    part = load_evaluation_set(folder, config="human_llm", split="test")
    assert [i.id for i in part.instances] == ["rmb-0000", "rmb-0002", "rmb-0004"]
    assert part.name == "storyrmb (human_llm)"


def test_pairs_can_be_scored_by_naming_the_split(tmp_path: Path) -> None:
    folder = preferences(tmp_path, [pair_row(n) for n in range(10)])
    assert len(load_evaluation_set(folder, split="validation").instances) == 2
    with pytest.raises(DataError, match="no split 'test'; name one with --split: train, validation"):
        load_evaluation_set(folder)
    with pytest.raises(DataError, match="cannot be loaded as a dataset"):
        load_evaluation_set(folder, config="llm_llm")


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [storyrmb_row(n) for n in range(5)]
    first = files(storyrmb(tmp_path, rows))
    second = files(storyrmb(tmp_path, [dict(reversed(row.items())) for row in rows]))
    assert first == second
    changed = files(storyrmb(tmp_path, [*rows[:-1], storyrmb_row(4, chosen="She burnt it unread.")]))
    assert changed.keys() == first.keys()
    assert changed["README.md"] != first["README.md"]


def test_a_digest_changes_with_its_own_configs_alone(tmp_path: Path) -> None:
    def digests(rows: list[dict[str, Any]]) -> dict[str, str]:
        data = DatasetCard.load(storyrmb(tmp_path, rows) / "README.md").data
        return {config["config_name"]: config["description"] for config in data.configs}

    before = digests([storyrmb_row(0), storyrmb_row(1)])
    after = digests([storyrmb_row(0, chosen="She burnt it unread."), storyrmb_row(1)])
    assert before["llm_llm"] == after["llm_llm"]
    assert before["human_llm"] != after["human_llm"]
    assert before["default"] != after["default"]


def test_only_a_card_and_plain_parquet(tmp_path: Path) -> None:
    folder = storyrmb(tmp_path, [storyrmb_row(n) for n in range(4)])
    names = sorted(files(folder))
    shard = "test-00000-of-00001.parquet"
    assert names == ["README.md", f"data/human_llm/{shard}", f"data/llm_llm/{shard}"]
    for name in names[1:]:
        metadata = pq.read_metadata(folder / name)
        schema = pq.read_schema(folder / name)
        assert not schema.metadata, "datasets before 4 cannot read the huggingface metadata of newer versions"
        assert {str(kind) for kind in schema.types} <= {
            "string", "int64", "int8", "double", "list<element: string>", "list<item: string>"
        }  # fmt: skip
        assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_shards_are_numbered_and_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_configs, "GROUP_ROWS", 1)
    rows = [storyrmb_row(2 * n) for n in range(3)]
    folder = storyrmb(tmp_path, rows, shard_bytes=1)
    assert sorted(p.name for p in (folder / "data/human_llm").iterdir()) == [
        f"test-0000{n}-of-00003.parquet" for n in range(3)
    ]
    assert datasets.load_dataset(str(folder), split="test")["id"][:] == [row["id"] for row in rows]


def test_row_groups_are_bounded(tmp_path: Path) -> None:
    folder = storyrmb(tmp_path, [storyrmb_row(2 * n) for n in range(2_500)])
    metadata = pq.read_metadata(folder / "data/human_llm/test-00000-of-00001.parquet")
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [1_000, 1_000, 500]


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"rejected": ["a", "b"], "rejected_writers": ["m", "m"]}, "expected 3 rejected stories, found 2"),
    ({"rejected": ["a", "b", "a"]}, "the same story stands twice in the group"),
    ({"dimension": None}, "dimension is missing"),
    ({"dimension": "plot"}, "unknown dimension 'plot'"),
    ({"source": "llm_human"}, "unknown source 'llm_human'"),
    ({"chosen_writer": None}, "chosen_writer is missing"),
    ({"rejected_writers": []}, "rejected_writers is missing"),
    ({"prompt": ""}, "prompt is empty"),
    ({"chosen": 7}, "chosen must be a string, got int"),
    ({"tau_avg": 1.5}, "tau_avg is 1.5"),
    ({"dimension_stage": 5}, "dimension_stage is 5"),
    ({"id": "rmb-0000"}, "duplicate id; it stands in"),
    (
        {"prompt": storyrmb_row(0)["prompt"] + " ", "chosen": storyrmb_row(0)["rejected"][1],
         "rejected": [storyrmb_row(0)[key] if key == "chosen" else storyrmb_row(0)["rejected"][key]
                      for key in ("chosen", 0, 2)]},
        "the same premise with the same stories stands in",
    ),
    ({"chosen_writer": "kit-author"}, "this is the synthetic sample; build it with --sample"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "problem"), BROKEN)
def test_a_broken_row_stops_the_build_and_leaves_the_old_folder_whole(
    tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    before = files(storyrmb(tmp_path, [storyrmb_row(0)]))
    with pytest.raises(RowError) as caught:
        storyrmb(tmp_path, [storyrmb_row(0), storyrmb_row(1), storyrmb_row(2, **change)])
    assert (Path(caught.value.path).name, caught.value.line) == ("raw.jsonl", 3)
    assert caught.value.row_id == change.get("id", "rmb-0002")
    assert caught.value.problem.startswith(problem) or problem in caught.value.problem
    assert files(tmp_path / "storyrmb") == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["raw.jsonl", "storyrmb"], "nothing is left lying about"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rejected": pair_row(9)["chosen"]}, "chosen and rejected are the same text"),
        ({"construction": None}, "construction is missing"),
        ({"split": "test"}, "unknown split 'test'"),
        ({"prompt": pair_row(0)["prompt"].replace(" ", "  ")}, "its premise is in split train too"),
        ({"prompt": pair_row(0)["prompt"].upper().replace(".", "!?")}, "its premise is in split train too"),
        ({"chosen": pair_row(1)["chosen"]}, "its chosen story is in split train too"),
        ({"chosen": f"“{pair_row(1)['chosen'].lower()}”"}, "its chosen story is in split train too"),
        ({"rejected": pair_row(1)["chosen"]}, "its rejected story is in split train too"),
        (
            {"prompt": pair_row(1)["prompt"], "chosen": pair_row(1)["rejected"], "rejected": pair_row(1)["chosen"]},
            "the same premise with the same stories stands in",
        ),
        ({"rejected_engagement": "many"}, "rejected_engagement is 'many'"),
    ],
)
def test_a_broken_pair_stops_the_build(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(RowError) as caught:
        preferences(tmp_path, [pair_row(0), pair_row(1), pair_row(9, **change)])
    assert caught.value.line == 3
    assert caught.value.problem.startswith(problem)
    assert not (tmp_path / "story_preferences").exists()


def test_a_file_given_twice_repeats_its_rows(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(0)])
    with pytest.raises(RowError, match=r"raw.jsonl:1 .*duplicate id; it stands in .*raw.jsonl:1 already"):
        build_storyrmb([raw, raw], tmp_path / "storyrmb")


def test_a_row_without_an_id_gets_one_from_its_content(tmp_path: Path) -> None:
    first, second = (
        datasets.load_dataset(str(storyrmb(tmp_path, [storyrmb_row(0, id=None), *more])), split="test")["id"][0]
        for more in ([], [storyrmb_row(1)])
    )
    assert first == second
    assert first.startswith("rmb-")


def test_names_are_trimmed_and_rows_may_be_split_over_files(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "1.jsonl", [storyrmb_row(0, dimension=" Creativity ")])
    two = write_rows(tmp_path / "2.jsonl", [storyrmb_row(1)])
    built = build_storyrmb([one, two], tmp_path / "storyrmb")
    assert built.statistics.table == {("creativity", "human_llm"): 1, ("creativity", "llm_llm"): 1}


@pytest.mark.parametrize("text", ["", "\n"])
def test_no_rows(tmp_path: Path, text: str) -> None:
    (tmp_path / "raw.jsonl").write_text(text)
    with pytest.raises(DataError, match="no rows; nothing was written"):
        build_storyrmb([tmp_path / "raw.jsonl"], tmp_path / "storyrmb")
    with pytest.raises(DataError, match="cannot be read"):
        build_storyrmb([tmp_path / "missing.jsonl"], tmp_path / "storyrmb")
    assert [p.name for p in tmp_path.iterdir()] == ["raw.jsonl"]


@pytest.mark.parametrize("foreign", ["notes.txt", "data/mine.parquet", ".git/config"])
def test_a_folder_that_also_holds_something_else_is_not_replaced(tmp_path: Path, foreign: str) -> None:
    folder = storyrmb(tmp_path, [storyrmb_row(0)])
    (folder / foreign).parent.mkdir(exist_ok=True)
    (folder / foreign).write_text("mine")
    before = files(folder)
    with pytest.raises(DataError, match="holds something that no build wrote"):
        storyrmb(tmp_path, [storyrmb_row(1)])
    assert files(folder) == before


@pytest.mark.parametrize("card", ["mine", "---\ntags:\n- mine\n---\n", "---\nnot: [yaml\n---\n"])
def test_a_folder_with_another_card_is_not_replaced(tmp_path: Path, card: str) -> None:
    (tmp_path / "storyrmb").mkdir()
    (tmp_path / "storyrmb/README.md").write_text(card)
    with pytest.raises(DataError, match="holds something that no build wrote"):
        storyrmb(tmp_path, [storyrmb_row(0)])
    assert files(tmp_path / "storyrmb") == {"README.md": card.encode()}


def test_an_empty_folder_is_filled_and_a_link_is_followed(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(0)])
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert build_storyrmb([raw], tmp_path / "link").path == tmp_path / "real"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "README.md").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(0)])
    with pytest.raises(DataError, match="cannot be written"):
        build_storyrmb([raw], raw / "storyrmb")


def sample_row(number: int, **changes: Any) -> dict[str, Any]:
    writers = {"chosen_writer": "kit-author", "rejected_writers": ["kit-edit:shuffle"] * 3}
    return storyrmb_row(number, **{**writers, "tau_avg": None, "route": None, **changes})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"chosen_writer": "human"}, "not by human"),
        ({"rejected_writers": ["kit-edit:shuffle", "model-a", "kit-edit:shuffle"]}, "not by model-a"),
        ({"tau_avg": 0.5}, "tau_avg and route must be null"),
        ({"route": "majority"}, "tau_avg and route must be null"),
    ],
)
def test_a_sample_is_what_its_card_says(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    storyrmb(tmp_path, [sample_row(0)], sample=True)
    with pytest.raises(RowError, match=problem):
        storyrmb(tmp_path, [sample_row(0, **change)], sample=True)


def official_rows() -> list[dict[str, Any]]:
    dimensions = {"coherence": 265, "characterization": 215, "creativity": 292, "fluency": 225, "relevance": 136}
    of_each = itertools.chain.from_iterable([name] * n for name, n in dimensions.items())
    return [
        storyrmb_row(n, dimension=dimension, source="llm_llm" if n < 624 else "human_llm")
        for n, dimension in enumerate(of_each)
    ]


def test_the_official_size(tmp_path: Path) -> None:
    rows = official_rows()
    assert len(rows) == 1_133
    folder = storyrmb(tmp_path, rows, official_size=True)
    assert len(datasets.load_dataset(str(folder), split="test")) == 1_133
    with pytest.raises(DataError, match="1132 instances instead of 1133, 508 human_llm instead of 509, 135 relevance"):
        storyrmb(tmp_path, rows[:-1], official_size=True)
    with pytest.raises(DataError, match="510 human_llm instead of 509, 623 llm_llm instead of 624"):
        storyrmb(tmp_path, [{**rows[0], "source": "human_llm"}, *rows[1:]], official_size=True)
    with pytest.raises(RecipeError, match="exclude each other"):
        storyrmb(tmp_path, rows, official_size=True, sample=True)


def test_instances_without_a_dimension_only_where_that_is_asked_for(tmp_path: Path) -> None:
    raw = write_rows(tmp_path / "raw.jsonl", [storyrmb_row(n, dimension=None if n else "fluency") for n in range(3)])
    with pytest.raises(RowError, match=r"raw\.jsonl:2 \(id rmb-0001\): dimension is missing"):
        build_storyrmb([raw], tmp_path / "storyrmb")
    built = build_storyrmb([raw], tmp_path / "storyrmb", dimension_optional=True)
    assert built.statistics.count("none") == 2
    card = (tmp_path / "storyrmb" / "README.md").read_text()
    assert "| none | 1 | 1 | 2 |" in card
    rows = load_evaluation_set(tmp_path / "storyrmb").instances
    assert sorted(str(row.dimension) for row in rows) == ["None", "None", "fluency"]
