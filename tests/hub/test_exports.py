"""The datasets in other tools' formats, read the way these tools read them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from datasets import Dataset, load_dataset

from storyalign.errors import DataError
from storyalign.hub.export.rewardbench2 import export_rewardbench2
from storyalign.hub.export.trl_pairs import export_trl
from storyalign.records import Instance, PreferencePair
from tests.support.rows import pair_row, storyrmb_row


def test_rewardbench2(tmp_path: Path) -> None:
    """What RewardBench 2's loader does with a dataset: the test split, unrolled to one row a completion."""
    rows = [storyrmb_row(i) for i in range(12)]
    assert export_rewardbench2(map(Instance.from_row, rows), tmp_path / "out") == 12
    loaded = load_dataset(str(tmp_path / "out"), split="test")
    assert set(loaded["total_completions"]) == {4}
    assert set(loaded["num_correct"]) == {1}
    unrolled = []
    for row in loaded:
        options = row["chosen"]
        options.extend(row["rejected"])
        for output in options:
            one = {**row, "input": output}
            del one["chosen"], one["rejected"]
            unrolled.append(one)
    flat = Dataset.from_pandas(pd.DataFrame(data=unrolled))
    assert {"id", "prompt", "input", "subset"} <= set(flat.column_names)
    assert flat.num_rows == sum(loaded["total_completions"]) == 48
    # Put together again in groups: the first of each is the chosen one, the prompt and id are the group's.
    for number, row in enumerate(rows):
        group = flat.select(range(4 * number, 4 * number + 4))
        assert list(group["input"]) == [row["chosen"], *row["rejected"]]
        assert set(group["id"]) == {row["id"]}
        assert set(group["prompt"]) == {row["prompt"]}
        assert set(group["subset"]) == {row["dimension"]}


@pytest.mark.parametrize("sample", [True, False])
def test_the_sample_is_called_a_sample_in_other_columns_too(sample: bool, tmp_path: Path) -> None:
    rows = [storyrmb_row(i, chosen_writer="kit-author" if sample else "human") for i in range(2)]
    for _ in range(2):  # an older export is replaced
        export_rewardbench2(map(Instance.from_row, rows), tmp_path / "out")
    card = (tmp_path / "out/README.md").read_text()
    assert ("synthetic sample, not StoryRMB" in card, "StoryRMB" in card) == (sample, sample)


def test_trl(tmp_path: Path) -> None:
    """TRL calls it a conversational preference dataset, and its chat template keeps premise and story apart."""
    trl = pytest.importorskip("trl")
    from tests.support.tiny_models import tiny_tokenizer

    rows = [pair_row(i) for i in range(10)]
    assert export_trl(map(PreferencePair.from_row, rows), tmp_path / "out") == {"train": 8, "validation": 2}
    splits = load_dataset(str(tmp_path / "out"))
    assert {name: split.num_rows for name, split in splits.items()} == {"train": 8, "validation": 2}
    row = next(r for r in splits["train"] if r["id"] == "pair-0000")
    assert trl.is_conversational(row)
    rendered = trl.apply_chat_template(row, tiny_tokenizer())
    assert (
        rendered["prompt"] + rendered["chosen"] == f"<|im_start|>user\n{rows[0]['prompt']}<|im_end|>\n"
        f"<|im_start|>assistant\n{rows[0]['chosen']}<|im_end|>\n"
    )


def test_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rows to export"):
        export_rewardbench2([], tmp_path / "a")
    with pytest.raises(DataError, match="no rows to export"):
        export_trl([], tmp_path / "b")
    assert not list(tmp_path.iterdir())
    (tmp_path / "c").mkdir()
    (tmp_path / "c/thesis.tex").write_text("x")
    with pytest.raises(DataError, match="holds something else"):
        export_trl([PreferencePair.from_row(pair_row(0))], tmp_path / "c")


def test_no_export_replaces_the_dataset_that_it_reads(tmp_path: Path) -> None:
    """A built dataset has a README and ``data`` too; only an older export makes way."""
    built = tmp_path / "storyrmb"
    (built / "data").mkdir(parents=True)
    (built / "README.md").write_text("---\n---\n\n# StoryRMB\n")
    instances = [Instance.from_row(storyrmb_row(0))]
    pairs = [PreferencePair.from_row(pair_row(0))]
    for _ in range(2):  # the second time over the first export
        export_rewardbench2(instances, tmp_path / "rb2")
        export_trl(pairs, tmp_path / "trl")
    (tmp_path / "file").write_text("x")
    for out in (built, tmp_path / "file", tmp_path / "trl"):
        with pytest.raises(DataError, match="holds something else"):
            export_rewardbench2(instances, out)
    for out in (built, tmp_path / "file", tmp_path / "rb2"):
        with pytest.raises(DataError, match="holds something else"):
            export_trl(pairs, out)
    assert (built / "README.md").read_text() == "---\n---\n\n# StoryRMB\n"
