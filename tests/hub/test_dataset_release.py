"""Dataset folders on their way out: names, licences, people, withheld texts and back, and other tools' formats."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import load_dataset

from storyalign.errors import DataError
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.export.rewardbench2 import export_rewardbench2
from storyalign.hub.payload import Payload, front_matter
from storyalign.hub.release.dataset_release import prepare_dataset
from storyalign.hub.release.rehydrate import rehydrate
from storyalign.hub.release.release_one import check
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.hub.release.withholding import text_digest
from storyalign.records import Instance
from tests.support.rows import pair_row, storyrmb_row

Prepare = Callable[..., Payload]


FRONT = """---
license: mit
pretty_name: Rows
language: [en]
task_categories: [text-ranking]
size_categories: [n<1K]
configs: [{config_name: default, data_files: [{split: test, path: '*.parquet'}]}]
dataset_info: {features: [{name: id, dtype: string}]}
---

Text.
"""


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def unpack(payload: Payload, folder: Path) -> Path:
    """Put the files of a payload down as the Hub would hold them."""
    for path in payload.files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(payload.read(path))
    return folder


@pytest.fixture
def prepare(tmp_path: Path) -> Prepare:
    def run(
        rows: list[dict[str, Any]], repo: str = "demo/storyrmb", *, sample: bool = False, **options: Any
    ) -> Payload:
        build = build_storyrmb if "rejected_writers" in rows[0] else build_story_preferences
        folder = build([write(tmp_path / "raw.jsonl", rows)], tmp_path / "built", sample=sample).path
        work = tmp_path / "work"
        work.mkdir()
        return prepare_dataset(
            folder, repo, work, ReleaseOptions(say=lambda line: None, salt=tmp_path / "salt", **options)
        )

    return run


def rows_of(folder: Path, config: str = "default") -> list[dict[str, Any]]:
    splits = load_dataset(str(folder), config)
    return [{**row, "split": name} for name, rows in splits.items() for row in rows]


def sample_row(number: int) -> dict[str, Any]:
    edits = [f"kit-edit:{name}" for name in ("shuffle", "flatten", "swap")]
    kit = {"chosen_writer": "kit-author", "rejected_writers": edits, "tau_avg": None, "route": None}
    return storyrmb_row(number, **kit)


def test_the_sample_has_one_name(prepare: Prepare) -> None:
    with pytest.raises(DataError, match="synthetic sample; it is released as storyrmb-sample and under no other name"):
        prepare([sample_row(i) for i in range(10)], "demo/storyrmb", sample=True)


@pytest.mark.parametrize(
    ("make", "repo", "what"),
    [
        (storyrmb_row, "demo/StoryRMB-sample", "the synthetic sample of storyrmb"),
        (storyrmb_row, "demo/story_preferences", "story_preferences"),
        (pair_row, "demo/storyrmb", "storyrmb"),
    ],
)
def test_the_kits_names_hold_what_they_say(prepare: Prepare, make: Any, repo: str, what: str) -> None:
    with pytest.raises(DataError, match=f"is a name for {what}, and this is something else"):
        prepare([make(i) for i in range(10)], repo)


def test_a_table_of_another_kind_has_no_name_of_the_kit(tmp_path: Path) -> None:
    """The sample in another tool's columns is the sample still."""
    export_rewardbench2([Instance.from_row(sample_row(i)) for i in range(3)], tmp_path / "rb2")
    (tmp_path / "rb2/README.md").write_text(FRONT)
    options = ReleaseOptions(say=lambda line: None)
    with pytest.raises(DataError, match="storyrmb is a name for storyrmb, and this is something else"):
        prepare_dataset(tmp_path / "rb2", "demo/storyrmb", tmp_path, options)
    with pytest.raises(DataError, match="stories of the kit's synthetic sample; put `sample` into"):
        prepare_dataset(tmp_path / "rb2", "demo/stories", tmp_path, options)


@pytest.mark.parametrize("name", ["raw.jsonl", "data/rows.csv", "backup.zip", "notes.txt", "data/human_llm/more.json"])
def test_rows_that_nobody_can_check(prepare: Prepare, tmp_path: Path, name: str) -> None:
    prepare([storyrmb_row(i) for i in range(4)])
    (tmp_path / "built" / name).write_text("{}")
    (tmp_path / "built/figure.png").write_bytes(b"x")
    with pytest.raises(DataError, match=rf"built: {re.escape(name)}: no Parquet, card, licence or picture"):
        prepare_dataset(tmp_path / "built", "demo/storyrmb", tmp_path, ReleaseOptions(say=lambda line: None))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("license: mit\n", "", "no license in the front matter"),
        ("configs:", "other:", "no configs in the front matter"),
        ("split: test", "splat: test", "configuration default does not name its splits and files"),
        ("dataset_info:", "info:", "no dataset_info in the front matter"),
        ("---\n", "", "no front matter"),
    ],
)
def test_gaps_in_the_front_matter(prepare: Prepare, tmp_path: Path, old: str, new: str, problem: str) -> None:
    prepare([storyrmb_row(i) for i in range(4)])
    card = tmp_path / "built/README.md"
    assert old in card.read_text()
    card.write_text(card.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=problem):
        prepare_dataset(tmp_path / "built", "demo/storyrmb", tmp_path, ReleaseOptions(say=lambda line: None))


def test_a_table_without_a_column_for_licences(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["calm", "sea"]}), tmp_path / "rows.parquet")
    (tmp_path / "README.md").write_text(FRONT)
    with pytest.raises(DataError, match="2 rows name no licence"):
        prepare_dataset(tmp_path, "demo/rows", tmp_path, ReleaseOptions(say=lambda line: None))


def test_a_downloaded_release_is_the_same_release(prepare: Prepare, tmp_path: Path) -> None:
    """Withheld rows and all: what came from the Hub goes back without a change."""
    rows = [storyrmb_row(i, license="all-rights-reserved" if i < 4 else "mit") for i in range(10)]
    first = prepare(rows, withhold=True)
    folder = unpack(first, tmp_path / "hub")
    (tmp_path / "again").mkdir()
    options = ReleaseOptions(say=lambda line: None, withhold=True)
    again = prepare_dataset(folder, "demo/storyrmb", tmp_path / "again", options)
    check(again)
    assert again.sha256 == first.sha256


def test_a_clean_dataset_goes_out_as_it_is(prepare: Prepare, tmp_path: Path) -> None:
    rows = [storyrmb_row(i) for i in range(20)]
    payload = prepare(rows)
    check(payload)
    assert not [path for path in payload.files if path.endswith(".py")]
    folder = unpack(payload, tmp_path / "hub")
    assert sorted(row["id"] for row in rows_of(folder)) == [row["id"] for row in rows]
    assert 'load_dataset("demo/storyrmb"' in payload.text("README.md")
    assert "ORG/NAME" not in payload.text("README.md")


@pytest.mark.parametrize("licence", ["unknown", ""])
def test_every_row_needs_a_licence(prepare: Prepare, licence: str) -> None:
    with pytest.raises(DataError, match="1 rows name no licence"):
        prepare([storyrmb_row(i, license=licence if i == 3 else "mit") for i in range(10)])


def test_closed_licences_are_refused_until_somebody_decides(prepare: Prepare, tmp_path: Path) -> None:
    rows = [pair_row(i, license="all-rights-reserved" if i < 4 else "CC BY 4.0") for i in range(10)]
    with pytest.raises(DataError, match=r"not known to allow passing texts on: all-rights-reserved \(4 rows\)"):
        prepare(rows, "demo/story_preferences")
    (tmp_path / "work").rmdir()
    payload = prepare(rows, "demo/story_preferences", may_pass_on=("All rights reserved",))
    assert len(rows_of(unpack(payload, tmp_path / "hub"))) == 10


def test_what_was_made_of_no_derivatives_texts_needs_a_word_of_consent(prepare: Prepare, tmp_path: Path) -> None:
    rows = [pair_row(i, license="CC BY-NC-ND 4.0" if i < 4 else "CC BY-NC 4.0") for i in range(10)]
    message = r"cc-by-nc-nd-4\.0 \(4 rows\) allows no derivatives.* --withhold .* --may-pass-on cc-by-nc-nd-4\.0 if"
    with pytest.raises(DataError, match=message):
        prepare(rows, "demo/story_preferences")
    (tmp_path / "work").rmdir()
    payload = prepare(rows, "demo/story_preferences", may_pass_on=("cc-by-nc-nd-4.0",))
    assert len(rows_of(unpack(payload, tmp_path / "hub"))) == 10


@pytest.mark.parametrize("kind", ["storyrmb", "story_preferences"])
def test_withheld_and_back_again(prepare: Prepare, tmp_path: Path, kind: str) -> None:
    make = storyrmb_row if kind == "storyrmb" else pair_row
    rows = [make(i, license="all-rights-reserved" if i % 3 == 0 else "mit") for i in range(20)]
    closed = rows[::3]
    payload = prepare(rows, f"demo/{kind}", withhold=True)
    check(payload)
    folder = unpack(payload, tmp_path / "hub")

    texts = [text for row in closed for text in (row["prompt"], row["chosen"], *_list(row["rejected"]))]
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    shown = json.dumps([rows_of(folder, c["config_name"]) for c in front_matter(payload)["configs"]])
    assert not [text for text in texts if text.encode() in everything or text in shown]
    assert {row["id"] for row in rows_of(folder)} == {row["id"] for row in rows} - {row["id"] for row in closed}
    hidden = {row["id"]: row for row in rows_of(folder, "withheld")}
    assert set(hidden) == {row["id"] for row in closed}
    assert hidden[closed[0]["id"]]["chosen_sha256"] == text_digest(closed[0]["chosen"])

    # The source: another file, other columns, Windows line ends, and texts that nobody asked for.
    source = tmp_path / "corpus" / "posts.jsonl"
    source.parent.mkdir()
    write(source, [{"posts": [{"body": text + "\r\n"}, {"body": "other"}]} for text in texts])
    done = rehydrate(folder, [source.parent], tmp_path / "full")
    assert (done.rows, done.filled) == (20, len(closed))
    whole = {row["id"]: row for row in rows_of(tmp_path / "full")}
    built = {row["id"]: row for row in rows_of(tmp_path / "built")}
    assert whole == built


def test_a_source_with_gaps_writes_nothing(prepare: Prepare, tmp_path: Path) -> None:
    rows = [storyrmb_row(i, license="all-rights-reserved" if i < 2 else "mit") for i in range(6)]
    folder = unpack(prepare(rows, withhold=True), tmp_path / "hub")
    source = write(tmp_path / "one.jsonl", rows[:1])
    with pytest.raises(DataError, match=r"texts of 1 of 2 withheld rows were not found \(first: rmb-0001\)"):
        rehydrate(folder, [source], tmp_path / "full")
    assert not (tmp_path / "full").exists()


@pytest.mark.parametrize("older", [None, 1])
def test_a_digest_of_an_older_format_is_named(prepare: Prepare, tmp_path: Path, older: int | None) -> None:
    """Releases of earlier versions name no format; their digest can not be compared with one of today's."""
    rows = [storyrmb_row(i, license="all-rights-reserved" if i < 2 else "mit") for i in range(6)]
    folder = unpack(prepare(rows, withhold=True), tmp_path / "hub")
    original = json.loads((folder / "withheld/original.json").read_text())
    assert original.pop("digest_format") == 2
    if older is not None:
        original["digest_format"] = older
    (folder / "withheld/original.json").write_text(json.dumps(original))
    with pytest.raises(DataError, match="digest has format 1, this version of the kit computes format 2"):
        rehydrate(folder, [write(tmp_path / "source.jsonl", rows)], tmp_path / "full")
    assert not (tmp_path / "full").exists()


def test_a_dataset_of_closed_rows_alone(prepare: Prepare) -> None:
    with pytest.raises(DataError, match="nothing would be left"):
        prepare([storyrmb_row(i, license="all-rights-reserved") for i in range(5)], withhold=True)


def test_people_become_keys(prepare: Prepare, tmp_path: Path) -> None:
    names = ["u/night_owl", "@ada", "reader@example.org"]
    rows = [storyrmb_row(i, chosen_writer=names[i % 3], source="human_llm") for i in range(9)]
    payload = prepare(rows)
    check(payload)
    folder = unpack(payload, tmp_path / "hub")
    assert not [n for n in names if n.encode() in b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())]
    writers = [row["chosen_writer"] for row in rows_of(folder)]
    assert len(set(writers)) == 3
    assert all(writer.startswith("person-") and len(writer) == 19 for writer in writers)
    assert [rows_of(folder)[i]["rejected_writers"][0] for i in range(2)] == ["model-b", "model-b"]
    assert (tmp_path / "salt").stat().st_mode & 0o777 == 0o600


def test_multiple_choice_and_eval_yaml(prepare: Prepare, tmp_path: Path) -> None:
    rows = {row["id"]: row for row in (storyrmb_row(i) for i in range(40))}
    payload = prepare(list(rows.values()))
    folder = unpack(payload, tmp_path / "hub")
    splits = load_dataset(str(folder), "multiple_choice")
    assert splits["test"].num_rows == 40
    assert {name: s.num_rows for name, s in splits.items() if name != "test"} == {
        **dict.fromkeys(("coherence", "creativity", "characterization", "fluency", "relevance"), 8),
        **dict.fromkeys(("human_llm", "llm_llm"), 20),
    }
    for row in splits["test"]:
        original = rows[row["id"]]
        assert row["choices"][row["answer"]] == original["chosen"]
        assert sorted(row["choices"]) == sorted([original["chosen"], *original["rejected"]])
        assert row["question"].endswith(original["prompt"])
    # Forty fair draws from four places: each between 2 and 20 but for one case in 10,000.
    places = [row["answer"] for row in splits["test"]]
    assert all(2 <= places.count(place) <= 20 for place in range(4))
    tasks = yaml.safe_load(payload.read("eval.yaml"))["tasks"]
    assert {task["id"]: task["split"] for task in tasks} == {
        "storyrmb": "test",
        **{name: name for name in splits if name != "test"},
    }


def test_the_sample_s_task_has_the_sample_s_name(prepare: Prepare) -> None:
    payload = prepare([sample_row(i) for i in range(10)], "demo/storyrmb-sample", sample=True)
    registered = yaml.safe_load(payload.read("eval.yaml"))
    assert registered["name"] == "StoryRMB (synthetic sample)"
    assert registered["tasks"][0]["id"] == "storyrmb-sample"
    assert "inspect eval hf/demo/storyrmb-sample/storyrmb-sample --model MODEL" in payload.text("README.md")


def test_only_the_dataset_s_own_name_is_rewritten(prepare: Prepare, tmp_path: Path) -> None:
    others = 'load_dataset("Ayush-Singh/reward-bench-2")\nload_dataset("org/storyrmb-notes", "a")\n'
    prepare([storyrmb_row(i) for i in range(4)], "demo/storyrmb")
    card = tmp_path / "built/README.md"
    card.write_text(card.read_text().replace("## Citation", f"## See also\n\n```python\n{others}```\n\n## Citation"))
    for number, repo in enumerate(("demo/storyrmb", "other/storyrmb")):  # built, then downloaded and released elsewhere
        work = tmp_path / f"again-{number}"
        work.mkdir()
        folder = tmp_path / "built" if not number else tmp_path / "hub"
        payload = prepare_dataset(folder, repo, work, ReleaseOptions(say=lambda line: None, salt=tmp_path / "salt"))
        text = payload.text("README.md")
        assert others in text
        named = re.findall(r'load_dataset\("([^"]+)"', text.replace(others, ""))
        assert set(named) == {repo}
        assert len(named) == 2
        unpack(payload, tmp_path / "hub")


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
