from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storyalign.corpus import preference_sets as sets
from storyalign.corpus.column_mapping import parse_mapping, read_mapped
from storyalign.corpus.imported_rows import (
    CONTRADICTED,
    EQUAL_SCORES,
    REPEATED,
    SAME,
    Origin,
    clean_instances,
    clean_pairs,
    pairs_of,
)
from storyalign.corpus.tally import Tally
from storyalign.errors import RowError
from storyalign.files import Line
from storyalign.hub.export.rewardbench2 import FILE, export_rewardbench2
from storyalign.records import Instance, PreferencePair
from tests.support.rows import storyrmb_row, write_rows

PROMPT, GOOD, BAD = "A lighthouse.", "The envelope was dry.", "It was raining."
ORIGIN = Origin("set", "odc-by", "en")


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def parquet(folder: Path, *rows: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), folder / "rows.parquet")
    return folder / "rows.parquet"


def pairs(lines: Iterator[Line]) -> tuple[list[PreferencePair], Tally]:
    tally = Tally()
    return list(clean_pairs(lines, ORIGIN, tally)), tally


def test_litbench_train(tmp_path: Path) -> None:
    row = {"prompt": f"[WP] {PROMPT}", "chosen_story": GOOD, "rejected_story": BAD, "chosen_upvotes": 211}
    row |= {"rejected_upvotes": 9, "chosen_timestamp": "2016-08-22", "rejected_timestamp": "2016-08-22"}
    [pair], _ = pairs(sets.read_litbench_train(parquet(tmp_path, row)))
    assert (pair.prompt, pair.chosen, pair.rejected) == (PROMPT, GOOD, BAD)
    assert (pair.chosen_writer, pair.rejected_writer) == ("human", "human")
    assert (pair.chosen_engagement, pair.rejected_engagement) == (211.0, 9.0)
    assert (pair.construction, pair.corpus, pair.license, pair.language) == ("imported", "set", "odc-by", "en")


def test_litbench_test_is_filled_in_from_a_file_of_comments(tmp_path: Path) -> None:
    comments = [
        {"id": "a1", "body": GOOD, "score": 211, "link_title": f"[WP] {PROMPT}"},
        {"id": "t1_b2", "body": BAD, "score": 9, "link_title": f"[WP] {PROMPT}"},
        {"id": "c3", "body": "[deleted]", "score": 1, "link_title": f"[WP] {PROMPT}"},
    ]
    find = sets.comments_in(write_rows(tmp_path / "comments.jsonl", comments))
    ids = [("a1", "b2"), ("a1", "c3"), ("a1", "gone")]
    path = parquet(tmp_path, *({"chosen_comment_id": a, "rejected_comment_id": b} for a, b in ids))
    assert sets.litbench_test_ids([path]) == {"a1", "b2", "c3", "gone"}
    [pair], tally = pairs(sets.read_litbench_test(path, find))
    assert (pair.id, pair.prompt, pair.chosen, pair.rejected) == ("set-a1-b2", PROMPT, GOOD, BAD)
    assert tally.dropped == {"rejected: deleted by its author or a moderator": 1, sets.GONE: 1}


def test_only_wanted_comments_are_kept_in_memory(tmp_path: Path) -> None:
    rows = [{"id": name, "body": GOOD, "link_title": PROMPT} for name in ("a", "b")]
    find = sets.comments_in(write_rows(tmp_path / "comments.jsonl", rows), wanted=["b"])
    assert find("a") is None
    assert find("t1_b") == sets.Comment(PROMPT, GOOD)


def rewardbench2_row(**changes: Any) -> dict[str, Any]:
    row = {"id": "271", "prompt": PROMPT, "chosen": [GOOD], "rejected": [BAD, "A dog.", "Once."], "num_correct": 1}
    row |= {"num_incorrect": 3, "total_completions": 4, "models": ["m0", "m1", "m2", "m3"], "subset": "Focus"}
    return {**row, **changes}


def test_rewardbench2_as_groups_and_as_pairs(tmp_path: Path) -> None:
    tally = Tally()
    [group] = clean_instances(sets.read_rewardbench2(parquet(tmp_path, rewardbench2_row())), ORIGIN, tally)
    assert (group.id, group.chosen, group.rejected) == ("set-271", GOOD, (BAD, "A dog.", "Once."))
    assert (group.chosen_writer, group.rejected_writers) == ("m0", ("m1", "m2", "m3"))
    assert group.dimension is None
    assert [(p.id, p.rejected, p.rejected_writer) for p in pairs_of(group)] == [
        ("set-271-1", BAD, "m1"),
        ("set-271-2", "A dog.", "m2"),
        ("set-271-3", "Once.", "m3"),
    ]


def test_rewardbench2_ties_have_several_good_answers(tmp_path: Path) -> None:
    row = rewardbench2_row(chosen=[GOOD, "A gull."], num_correct=2, models=["one for all"])
    groups = list(clean_instances(sets.read_rewardbench2(parquet(tmp_path, row)), ORIGIN, Tally()))
    assert [(g.id, g.chosen) for g in groups] == [("set-271-1", GOOD), ("set-271-2", "A gull.")]
    assert groups[0].chosen_writer is None


def test_what_the_kit_exports_for_rewardbench2_comes_back(tmp_path: Path) -> None:
    instances = [Instance.from_row(storyrmb_row(n)) for n in range(10)]
    export_rewardbench2(instances, tmp_path / "rb2")
    lines = sets.read_rewardbench2(tmp_path / "rb2" / FILE)
    back = list(clean_instances(lines, Origin("set", language="en"), Tally()))
    kept = ("prompt", "stories", "dimension", "chosen_writer", "rejected_writers")
    assert [[getattr(b, name) for name in kept] for b in back] == [
        [getattr(i, name) for name in kept] for i in instances
    ]


def test_ultrafeedback_and_its_ties(tmp_path: Path) -> None:
    row = {"prompt": PROMPT, "prompt_id": "8c27", "chosen": [user(PROMPT), assistant(GOOD)]}
    row |= {"rejected": [user(PROMPT), assistant(BAD)], "messages": [], "score_chosen": 8.5, "score_rejected": 6.0}
    path = write_rows(tmp_path / "u.jsonl", [row, {**row, "score_rejected": 8.5}])
    [pair], tally = pairs(sets.read_ultrafeedback(path))
    assert (pair.id, pair.prompt, pair.chosen, pair.rejected) == ("set-8c27", PROMPT, GOOD, BAD)
    assert tally.dropped == {EQUAL_SCORES: 1}


def test_writing_preference_bench_with_objects_and_plain_texts(tmp_path: Path) -> None:
    objects = {"prompt": PROMPT, "chosen": {"text": GOOD, "score": 3}, "rejected": {"text": BAD, "score": 1}}
    path = write_rows(
        tmp_path / "w.jsonl", [{**objects, "language": "zh"}, {"prompt": "P", "chosen": GOOD, "rejected": BAD}]
    )
    found, _ = pairs(sets.read_writing_preference_bench(path))
    assert [(p.chosen, p.rejected, p.language) for p in found] == [(GOOD, BAD, "zh"), (GOOD, BAD, "en")]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": PROMPT, "chosen": GOOD, "rejected": BAD},
        {"prompt": [user(PROMPT)], "chosen": [assistant(GOOD)], "rejected": [assistant(BAD)]},
        {"chosen": [user(PROMPT), assistant(GOOD)], "rejected": [user(PROMPT), assistant(BAD)]},
    ],
)
def test_trl_in_its_three_forms(tmp_path: Path, row: dict[str, Any]) -> None:
    [pair], _ = pairs(sets.read_trl(write_rows(tmp_path / "t.jsonl", [row])))
    assert (pair.prompt, pair.chosen, pair.rejected) == (PROMPT, GOOD, BAD)


@pytest.mark.parametrize(
    ("read", "row", "message"),
    [
        (sets.read_trl, {"chosen": GOOD, "rejected": BAD}, "no prompt"),
        (sets.read_trl, {"chosen": [user("a"), assistant("x")], "rejected": [user("b"), assistant("y")]}, "different"),
        (
            sets.read_trl,
            {"prompt": [user("a"), assistant("b"), user("c")], "chosen": "x", "rejected": "y"},
            "expected one",
        ),
        (sets.read_trl, {"prompt": PROMPT, "chosen": [user("x")], "rejected": BAD}, "must end with"),
        (sets.read_litbench_train, {"prompt": PROMPT, "chosen": GOOD}, "chosen_story is missing"),
        (sets.read_rewardbench2, {"prompt": PROMPT, "chosen": GOOD, "rejected": [BAD]}, "must be lists"),
        (sets.read_writing_preference_bench, {"prompt": PROMPT, "chosen": {}, "rejected": BAD}, "text is missing"),
    ],
)
def test_a_row_of_another_format_is_named(
    tmp_path: Path, read: Callable[[Path], Iterator[Line]], row: dict[str, Any], message: str
) -> None:
    with pytest.raises(RowError, match=rf"bad\.jsonl:1.*{message}"):
        list(read(write_rows(tmp_path / "bad.jsonl", [row])))


def test_what_is_no_pair_is_counted(tmp_path: Path) -> None:
    base = {"prompt": PROMPT, "chosen": GOOD, "rejected": BAD}
    rows = [base, {**base, "rejected": f" {GOOD}\r\n"}, {**base, "prompt": "  "}, {**base, "chosen": "Error code: 500"}]
    found, tally = pairs(sets.read_trl(write_rows(tmp_path / "t.jsonl", rows)))
    assert len(found) == 1
    assert tally.dropped == {SAME: 1, "no prompt": 1, "chosen: an API error stored as a story": 1}
    assert (tally.read, tally.kept) == (4, 1)


def test_a_benchmark_in_other_columns(tmp_path: Path) -> None:
    content = {
        "columns": {
            "prompt": "query",
            "chosen": "best",
            "rejected": ["r1", "r2", "r3"],
            "dimension": "aspect",
            "id": "n",
        },
        "constants": {"source": "llm_llm"},
        "values": {"dimension": {"Plot": "coherence"}},
    }
    mapping = parse_mapping(content, "benchmark", "m.yaml")
    row = {"n": 4, "query": PROMPT, "best": GOOD, "r1": BAD, "r2": "[removed]", "r3": BAD, "aspect": "Plot"}
    tally = Tally()
    [group] = clean_instances(read_mapped(write_rows(tmp_path / "b.jsonl", [row]), mapping), ORIGIN, tally)
    assert (group.id, group.dimension, group.source) == ("set-4", "coherence", "llm_llm")
    assert group.rejected == (BAD,)  # one removed, one twice


def test_an_unknown_dimension_stops_with_its_line(tmp_path: Path) -> None:
    mapping = parse_mapping(
        {"columns": {"prompt": "p", "chosen": "c", "rejected": "r", "dimension": "d"}}, "benchmark", "m.yaml"
    )
    path = write_rows(tmp_path / "b.jsonl", [{"p": PROMPT, "c": GOOD, "r": [BAD], "d": "wit"}])
    with pytest.raises(RowError, match=r"b\.jsonl:1: unknown dimension 'wit'"):
        list(clean_instances(read_mapped(path, mapping), ORIGIN, Tally()))


def test_a_label_that_its_own_scores_contradict_is_kept_only_on_request(tmp_path: Path) -> None:
    chat = {"chosen": [user(PROMPT), assistant(GOOD)], "rejected": [user(PROMPT), assistant(BAD)]}
    chats = write_rows(tmp_path / "u.jsonl", [{**chat, "score_chosen": 6.0, "score_rejected": 8.5}])
    votes = {"prompt": PROMPT, "chosen_story": GOOD, "rejected_story": BAD, "chosen_upvotes": 3, "rejected_upvotes": 4}
    marks = {"prompt": PROMPT, "chosen": {"text": GOOD, "score": 1}, "rejected": {"text": BAD, "score": 2}}
    for lines in (
        lambda: sets.read_ultrafeedback(chats),
        lambda: sets.read_trl(chats),
        lambda: sets.read_litbench_train(parquet(tmp_path, votes)),
        lambda: sets.read_writing_preference_bench(write_rows(tmp_path / "w.jsonl", [marks])),
    ):
        found, tally = pairs(lines())
        assert (found, tally.dropped) == ([], {CONTRADICTED: 1})
        [kept] = clean_pairs(lines(), ORIGIN, Tally(), keep_contradicted=True)
        assert kept.chosen == GOOD


def test_rejected_stories_that_a_group_loses_are_counted_by_reason(tmp_path: Path) -> None:
    row = rewardbench2_row(rejected=[BAD, "", f"{BAD}\n", "[removed]"], models=[])
    tally = Tally()
    [group] = clean_instances(sets.read_rewardbench2(parquet(tmp_path, row)), ORIGIN, tally)
    assert group.rejected == (BAD,)
    assert tally.left_out == {
        "rejected: no story": 1,
        "rejected: deleted by its author or a moderator": 1,
        REPEATED: 1,
    }
    assert any("left out 1 of the groups' stories: rejected: no story" in line for line in tally.lines())


PAIR_CSV = """id,p,good,bad,up,down,lang,by
7,A tide.,The rope was cut.,It was wet.,12,,,8
8,A gull.,The gull stole it.,It flew.,,3,zh,
"""


def test_numeric_and_empty_cells_of_a_csv_of_pairs(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(PAIR_CSV)
    columns = {"id": "id", "prompt": "p", "chosen": "good", "rejected": "bad", "chosen_engagement": "up"}
    columns |= {"rejected_engagement": "down", "language": "lang", "chosen_writer": "by"}
    mapping = parse_mapping({"columns": columns}, "pairs", "m")
    first, second = pairs(read_mapped(tmp_path / "p.csv", mapping))[0]
    assert (first.id, first.chosen_engagement, first.rejected_engagement, first.chosen_writer) == (
        "set-7",
        12.0,
        None,
        "8",
    )
    assert (second.chosen_engagement, second.rejected_engagement, second.chosen_writer) == (None, 3.0, None)
    assert (first.language, second.language) == ("en", "zh")


def test_numeric_and_empty_cells_of_a_csv_of_groups(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(
        "p,c,r1,r2,d,stage,tau\nA tide.,The rope.,Wet.,,,2,0.5\nA gull.,It stole.,Flew.,,,,\n"
    )
    columns = {"prompt": "p", "chosen": "c", "rejected": ["r1", "r2"], "dimension": "d", "dimension_stage": "stage"}
    lines = read_mapped(tmp_path / "b.csv", parse_mapping({"columns": {**columns, "tau_avg": "tau"}}, "benchmark", "m"))
    first, second = clean_instances(lines, ORIGIN, Tally())
    assert (first.dimension, first.dimension_stage, first.tau_avg, first.rejected) == (None, 2, 0.5, ("Wet.",))
    assert (second.dimension_stage, second.tau_avg) == (None, None)


@pytest.mark.parametrize("cell", ["2,1", "1.204,5", "1,204"])
def test_a_number_with_two_readings_is_refused_with_file_line_and_column(tmp_path: Path, cell: str) -> None:
    (tmp_path / "p.csv").write_text(f'p,good,bad,up\nA tide.,The rope.,Wet.,"{cell}"\n')
    columns = {"prompt": "p", "chosen": "good", "rejected": "bad", "chosen_engagement": "up"}
    with pytest.raises(RowError, match=rf"p\.csv:2: column 'up' \(chosen_engagement\) is '{cell}', which can be read"):
        list(read_mapped(tmp_path / "p.csv", parse_mapping({"columns": columns}, "pairs", "m")))
