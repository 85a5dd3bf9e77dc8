"""A card whose figures were changed by hand, and rows that were changed after the build."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.errors import DataError
from storyalign.hub.build.dataset_folder import build_story_preferences, build_storyrmb
from storyalign.hub.cards.card_figures import require_own_figures
from storyalign.hub.payload import collect
from tests.support.rows import pair_row, storyrmb_row, write_rows


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return build_storyrmb([write_rows(folder / "raw.jsonl", [storyrmb_row(i) for i in range(20)])], folder / "b").path


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "storyrmb"))


def check(folder: Path, dataset: str = "storyrmb") -> None:
    require_own_figures(collect(folder, "dataset"), dataset, False, folder.parent)  # type: ignore[arg-type]


def edit(folder: Path, old: str, new: str) -> None:
    card = (folder / "README.md").read_text()
    assert old in card
    (folder / "README.md").write_text(card.replace(old, new))


def test_what_was_built_is_whole_and_may_say_more(folder: Path) -> None:
    check(folder)
    edit(folder, "## Scoring", "These stories are about lighthouses.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Scoring")
    check(folder)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["storyrmb"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        # 4 instances of each dimension; 2 is a figure of the card as well, so that the number alone is no sign
        ("| coherence | 2 | 2 | 4 |", "| coherence | 2 | 4 | 4 |", r"rows, which say '\| coherence \| 2 \| 2 \| 4 \|'"),
        ("| model-b | 0 | 20 |\n", "", r"figures differ from the rows, which say '\| model-b \| 0 \| 20 \|'"),
        ("num_examples: 20", "num_examples: 21", "dataset_info of default differs from the rows"),
        ("description: sha256:", "description: sha256:0", "its digest is sha256:0"),
    ],
)
def test_a_figure_by_hand(folder: Path, old: str, new: str, problem: str) -> None:
    edit(folder, old, new)
    with pytest.raises(DataError, match=problem):
        check(folder)


def test_rows_that_were_changed_after_the_build(folder: Path) -> None:
    """A letter in one story: no figure of the card changes, but caches would go on with the old rows."""
    shard = folder / "data/human_llm/test-00000-of-00001.parquet"
    table = pq.read_table(shard)
    stories = [text.replace("lamp", "lamb") for text in table["chosen"].to_pylist()]
    place = table.schema.get_field_index("chosen")
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array(stories)), shard)
    with pytest.raises(
        DataError, match="they were changed after the build, or built by an older version of the kit; build it again"
    ):
        check(folder)


def test_what_people_said_goes_along(tmp_path: Path) -> None:
    people = tmp_path / "people.json"
    people.write_text(
        '{"rewriting": {"share": 0.8, "ci": [0.584, 0.919], "n": 20, "unsure": 1, "verdicts": 39, "who": "Ada"}}'
    )
    raw = write_rows(tmp_path / "raw.jsonl", [pair_row(i) for i in range(10)])
    folder = build_story_preferences([raw], tmp_path / "pairs", people=people).path
    check(folder, "story_preferences")
    assert "Ada" not in (folder / "people_agreement.json").read_text()
    edit(folder, "| 80.0% |", "| 90.0% |")
    with pytest.raises(DataError, match=r"which say '\| rewriting \| 80.0% \|"):
        check(folder, "story_preferences")
    build_story_preferences([raw], tmp_path / "pairs", people=people)  # what it wrote it also replaces
