"""Ids of imported rows: whatever a source calls its rows, each row has an id of its own, the same in every run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storyalign.corpus.filters import SAME_ROW, Filters, keep
from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.imported_rows import Origin, clean_stories
from storyalign.corpus.table_files import read_table
from storyalign.corpus.tally import Tally
from storyalign.files import Line, write_jsonl

EVERYTHING = Filters(exact_duplicates=False, near_duplicates=None)


def imported(rows: list[dict[str, Any]]) -> tuple[list[HumanStory], Tally]:
    tally = Tally()
    lines = (Line(Path("s.jsonl"), number, row) for number, row in enumerate(rows, start=1))
    return list(keep(clean_stories(lines, Origin("c", language="en"), tally), EVERYTHING, tally)), tally


def test_ids_that_restart_in_every_shard() -> None:
    shards = [{"id": n, "story": f"The tide of shard {shard}, night {n}."} for shard in "ab" for n in (0, 1)]
    rows, tally = imported(shards)
    assert [row.id for row in rows[:2]] == ["c-0", "c-1"]
    assert [row.id[:4] for row in rows[2:]] == ["c-0-", "c-1-"]
    assert tally.renamed == {"c-0": 1, "c-1": 1}
    assert any("made 2 repeated ids unique by a digest of their texts: c-0, c-1" in line for line in tally.lines())


def test_the_same_id_with_the_same_text_is_the_same_row() -> None:
    row = {"id": 4, "story": "The tide came in."}
    rows, tally = imported([row, row, {**row, "story": "It went out."}, {**row, "story": "It went out."}])
    assert [r.story for r in rows] == ["The tide came in.", "It went out."]
    assert (tally.kept, tally.dropped) == (2, {SAME_ROW: 2})


STORIES = st.sampled_from(["The tide came in.", "The tide went out.", "A gull.", "海很平静。"])
IDS = st.one_of(st.none(), st.integers(0, 2), st.sampled_from(["a", "0", " a "]))


@given(st.lists(st.fixed_dictionaries({"id": IDS, "story": STORIES}), max_size=12))
def test_ids_are_unique_and_the_same_in_every_run(rows: list[dict[str, Any]]) -> None:
    kept, tally = imported(rows)
    assert len({row.id for row in kept}) == len(kept) == tally.kept
    assert {row.story for row in kept} == {row["story"] for row in rows}
    assert [row.id for row in imported(rows)[0]] == [row.id for row in kept]


# What a CSV file cannot hold apart from its own marks: a lone CR, and NUL
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=40)


@settings(deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=5), st.sampled_from([",", ";", "\t"]))
def test_texts_survive_every_table(texts: list[str], mark: str) -> None:
    import csv

    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{"id": str(n), "story": text} for n, text in enumerate(texts)]
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("a.csv", "a.jsonl", "a.parquet")]
        with paths[0].open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, ["id", "story"], delimiter=mark, quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
        write_jsonl(paths[1], rows)
        pq.write_table(pa.Table.from_pylist(rows), paths[2])
        for path in paths:
            assert [line.row for line in read_table(path)] == rows, path.suffix
