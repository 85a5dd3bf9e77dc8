from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import DatasetCard

from storyalign.errors import DataError
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from tests.support.rows import pair_row, storyrmb_row, write_rows


def card(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> DatasetCard:
    build = build_story_preferences if "construction" in rows[0] else build_storyrmb
    built = build([write_rows(tmp_path / "raw.jsonl", rows)], tmp_path / "built", **options)
    return DatasetCard.load(built.path / "README.md")


def cells(text: str, first: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_front_matter(tmp_path: Path) -> None:
    rows = [storyrmb_row(0), storyrmb_row(1, license="CC-BY-SA-4.0", language="zh"), storyrmb_row(2, license="mine")]
    data = card(tmp_path, rows).data
    assert data.license == ["cc-by-sa-4.0", "mit", "other"]
    assert data.language == ["en", "zh"]
    assert data.size_categories == ["n<1K"]
    assert data.pretty_name == "StoryRMB"
    assert {"storyalign", "reward-model"} <= set(data.tags)
    assert [c["config_name"] for c in data.configs] == ["default", "human_llm", "llm_llm"]
    assert data.configs[0]["data_files"] == [
        {"split": "test", "path": ["data/human_llm/test-*", "data/llm_llm/test-*"]}
    ]
    for config in data.configs:
        assert len(config["description"]) == len("sha256:") + 64
        assert config["version"] == f"1.0.{int(config['description'][7:15], 16)}"


def test_dataset_info(tmp_path: Path) -> None:
    data = card(tmp_path, [storyrmb_row(n) for n in range(3)]).data
    info = {config["config_name"]: config for config in data.dataset_info}
    assert {name: config["splits"][0]["num_examples"] for name, config in info.items()} == {
        "default": 3,
        "human_llm": 2,
        "llm_llm": 1,
    }
    size = sum(p.stat().st_size for p in (tmp_path / "built/data").rglob("*.parquet"))
    assert info["default"]["download_size"] == size
    assert info["default"]["dataset_size"] == info["human_llm"]["dataset_size"] + info["llm_llm"]["dataset_size"]
    [dimension] = [f for f in info["default"]["features"] if f["name"] == "dimension"]
    assert dimension["dtype"]["class_label"]["names"]["4"] == "relevance"


@pytest.mark.parametrize("n", [999, 1_000])
def test_the_size_category(tmp_path: Path, n: int) -> None:
    data = card(tmp_path, [pair_row(i) for i in range(n)]).data
    assert data.size_categories == (["n<1K"] if n < 1_000 else ["1K<n<10K"])


def test_counts_and_lengths(tmp_path: Path) -> None:
    rows = [
        storyrmb_row(0, chosen="One two three.", rejected=["One.", "Two words.", "海很平静。"]),
        storyrmb_row(1, chosen="A b c d e f.", rejected=["A.", "B.", "C."]),
    ]
    text = card(tmp_path, rows).text
    assert cells(text, "coherence") == ["1", "0", "1"]
    assert cells(text, "creativity") == ["0", "1", "1"]
    assert cells(text, "**all**") == ["1", "1", "2"]
    # words: 3 1 2 4 and 6 1 1 1; sum 19, in order 1 1 1 1 2 3 4 6
    assert cells(text, "2") == ["8", "2.4", "1.5"]
    assert cells(text, "human") == ["1", "0"]
    assert cells(text, "model-b") == ["0", "2"]
    assert cells(text, "mit") == ["writingprompts", "2"]


def test_counts_of_pairs(tmp_path: Path) -> None:
    text = card(tmp_path, [pair_row(n) for n in range(10)]).text
    assert cells(text, "rewriting") == ["4", "1", "5"]
    assert cells(text, "llm_pairs") == ["4", "1", "5"]
    assert cells(text, "guided_continuation") == ["0", "0", "0"]
    assert cells(text, "flatten") == ["10"]


def test_a_sample_says_so_first(tmp_path: Path) -> None:
    writers: dict[str, Any] = {"chosen_writer": "kit-author", "rejected_writers": ["kit-edit:shuffle"] * 3}
    rmb = card(tmp_path, [storyrmb_row(0, **writers, tau_avg=None, route=None)], sample=True)
    first = " ".join(rmb.text.split("\n\n")[1].replace("\n>", "").split())
    assert "synthetic sample to try the kit on, not StoryRMB" in first
    for word in ("`kit-author`", "`kit-edit:<operator>`", "simulated", "`tau_avg` and `route` are null"):
        assert word in first
    assert "(synthetic sample)" in rmb.data.pretty_name
    assert "synthetic" in rmb.data.tags
    pairs = card(tmp_path, [pair_row(0, chosen_writer="kit-author", rejected_writer="kit-edit:shuffle")], sample=True)
    assert "synthetic sample to try the kit on" in pairs.text.split("\n\n")[1]
    assert "synthetic sample" not in card(tmp_path, [storyrmb_row(0)]).text


def test_values_of_rows_stay_in_their_cells(tmp_path: Path) -> None:
    text = card(tmp_path, [storyrmb_row(0, chosen_writer="a|b\n<script>", license="x | y")]).text
    assert "| a\\|b &lt;script> | 1 | 0 |" in text
    assert "| x \\| y | writingprompts | 1 |" in text


def test_no_placeholder_is_left(tmp_path: Path) -> None:
    for rows in ([storyrmb_row(0)], [pair_row(0)]):
        text = card(tmp_path, rows).content
        assert "More Information Needed" not in text
        assert "{{ " not in text
        assert "title = {{StoryAlign: Evaluating and Training Reward Models for Story Generation}}" in text


def test_what_people_said_stands_in_the_card_with_its_interval(tmp_path: Path) -> None:
    people = tmp_path / "people.json"
    people.write_text('{"rewriting": {"share": 0.8, "ci": [0.584, 0.919], "n": 20, "unsure": 1, "verdicts": 39}}')
    text = card(tmp_path, [pair_row(n) for n in range(10)], people=people).text
    section = text[text.index("## Checked by people") :]
    assert cells(section.split("## Length")[0], "rewriting") == ["80.0%", "58.4% to 91.9%", "20", "39", "1"]
    assert "Checked by people" not in card(tmp_path, [pair_row(n) for n in range(10)]).text


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{}x", "not written by"),
        ('{"rewriting": {"share": 0.8}}', "not written by this version"),
        ('{"swaps": {"share": 1, "ci": [0, 1], "n": 1, "unsure": 0, "verdicts": 1}}', "unknown construction 'swaps'"),
    ],
)
def test_another_file_in_its_place_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "people.json").write_text(content)
    with pytest.raises(DataError, match=problem):
        card(tmp_path, [pair_row(n) for n in range(10)], people=tmp_path / "people.json")
