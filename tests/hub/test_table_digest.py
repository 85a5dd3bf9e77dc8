from __future__ import annotations

import pyarrow as pa
import pytest

from storyalign.hub.table_digest import TableDigest

TABLE = pa.table(
    {
        "id": pa.array(["a", "b", None, "", "海"]),
        "stories": pa.array([["x", "y"], [], None, ["", "z"], ["xy"]]),
        "number": pa.array([1.5, None, 0.0, -2.0, 3.0]),
        "label": pa.array([0, 1, None, 0, 1], pa.int64()),
    }
)


def digest(*tables: pa.Table) -> str:
    made = TableDigest("train")
    for table in tables:
        made.update(table)
    return made.hexdigest()


def test_it_does_not_matter_where_the_rows_are_cut() -> None:
    whole = digest(TABLE)
    assert digest(TABLE.slice(0, 2), TABLE.slice(2)) == whole
    assert digest(*(TABLE.slice(n, 1) for n in range(5))) == whole
    assert digest(pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)])) == whole
    assert digest(TABLE.take(list(range(5)))) == whole


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", ["a", "b", "", None, "海"]),
        ("id", ["ab", "", None, "", "海"]),
        ("stories", [["x"], ["y"], None, ["", "z"], ["xy"]]),
        ("stories", [["x", "y"], None, [], ["", "z"], ["xy"]]),
        ("stories", [["x", "y"], [], None, ["z", ""], ["xy"]]),
        ("number", [1.5, 0.0, None, -2.0, 3.0]),
        ("label", [0, 1, 0, None, 1]),
    ],
)
def test_every_value_and_every_null_counts(column: str, values: list[object]) -> None:
    place = TABLE.schema.get_field_index(column)
    changed = TABLE.set_column(place, column, pa.array(values, TABLE.schema.field(column).type))
    assert digest(changed) != digest(TABLE)


def test_the_order_of_rows_and_the_heading_count() -> None:
    assert digest(TABLE.take([1, 0, 2, 3, 4])) != digest(TABLE)
    other = TableDigest("validation")
    other.update(TABLE)
    assert other.hexdigest() != digest(TABLE)
