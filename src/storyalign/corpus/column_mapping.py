"""Files in columns of anybody's choice, read through a mapping that a recipe gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from storyalign.corpus.numbers import read_optional_number
from storyalign.corpus.table_files import read_table
from storyalign.errors import RecipeError
from storyalign.files import Line
from storyalign.records import BadRow

STORY_FIELDS = (
    "id", "prompt", "story", "title", "abstract", "category", "author", "engagement", "engagement_kind", "language",
    "corpus", "license",
)  # fmt: skip
"""``author`` never reaches a row."""
PAIR_FIELDS = (
    "id", "prompt", "chosen", "rejected", "chosen_writer", "rejected_writer", "chosen_engagement",
    "rejected_engagement", "language", "corpus", "license", "split",
)  # fmt: skip
INSTANCE_FIELDS = (
    "id", "prompt", "chosen", "rejected", "dimension", "source", "dimension_stage", "chosen_writer",
    "rejected_writers", "language", "corpus", "license", "tau_avg", "route",
)  # fmt: skip

KINDS: Mapping[str, tuple[str, ...]] = {"stories": STORY_FIELDS, "pairs": PAIR_FIELDS, "benchmark": INSTANCE_FIELDS}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "stories": ("story",),
    "pairs": ("prompt", "chosen", "rejected"),
    "benchmark": ("prompt", "chosen", "rejected"),
}
NUMBERS = frozenset({"engagement", "chosen_engagement", "rejected_engagement", "dimension_stage", "tau_avg"})
LISTS = ("rejected", "rejected_writers")
"""Fields of a benchmark that may be put together from several columns."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Which column is which field.

    A recipe in YAML::

        columns:                  # field of ours: column of the file
          story: content
          title: title
          author: author
          engagement: reads
        constants:                # what holds for every row
          corpus: short-shelf
          language: zh
          license: cc-by-4.0
          engagement_kind: reads
        values:                   # other names for what a column holds
          category: {悬疑: mystery}
        decimal: "."              # the decimal mark of numbers in text; without it "1,204" is refused

    A dot reads inside an object or list: ``chosen.text``, ``messages.0.content``. ``rejected`` and ``rejected_writers``
    of a benchmark may be a column that holds a list, or a list of columns.
    """

    columns: Mapping[str, str | list[str]]
    constants: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    decimal: str | None = None

    def row(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row under our names; an empty cell is null, a number that stands as text is read.

        Raises:
            BadRow: a column is missing, or holds something else than one number.
        """
        row: dict[str, Any] = dict(self.constants)
        for ours, theirs in self.columns.items():
            value = [_at(raw, name) for name in theirs] if isinstance(theirs, list) else _at(raw, theirs)
            value = self.values.get(ours, {}).get(str(value), value) if ours in self.values else value
            if ours in NUMBERS:
                value = read_optional_number(value, f"column {theirs!r} ({ours})", self.decimal)
            row[ours] = None if isinstance(value, str) and not value.strip() else value
        return row


def load_mapping(path: str | Path, kind: str) -> ColumnMapping:
    """Read a mapping from a YAML file.

    Args:
        path: the file.
        kind: one of ``KINDS``: what the rows are to be.

    Raises:
        RecipeError: the file cannot be read, or holds anything but a mapping for this kind.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML in UTF-8 ({' '.join(str(error).split())})") from error
    return parse_mapping(content, kind, str(path))


def parse_mapping(content: Any, kind: str, where: str) -> ColumnMapping:
    """Check a mapping that was read from YAML.

    Raises:
        RecipeError: it names an unknown field, misses one that is needed, or is no mapping; says where.
    """
    if not isinstance(content, dict) or not isinstance(content.get("columns"), dict):
        raise RecipeError(f"{where}: expected 'columns:' with lines like 'story: NAME OF THE COLUMN'")
    if unknown := set(content) - {"columns", "constants", "values", "decimal"}:
        raise RecipeError(
            f"{where}: unknown {', '.join(sorted(map(str, unknown)))}; expected columns, constants, values, decimal"
        )
    columns, constants, values = content["columns"], content.get("constants") or {}, content.get("values") or {}
    if not isinstance(constants, dict) or not isinstance(values, dict):
        raise RecipeError(f"{where}: constants and values must be mappings")
    if (decimal := content.get("decimal")) not in (None, ".", ","):
        raise RecipeError(f"{where}: decimal is {decimal!r}; expected '.' or ','")
    known = KINDS[kind]
    for section in (columns, constants, values):
        if strange := [str(name) for name in section if name not in known]:
            raise RecipeError(f"{where}: unknown field {strange[0]!r}; {kind} have {', '.join(known)}")
    if missing := [name for name in NEEDED[kind] if name not in columns]:
        raise RecipeError(f"{where}: no column for {', '.join(missing)}")
    for ours, theirs in columns.items():
        several = isinstance(theirs, list) and kind == "benchmark" and ours in LISTS
        if not (isinstance(theirs, str) or (several and theirs and all(isinstance(name, str) for name in theirs))):
            raise RecipeError(f"{where}: the column of {ours} must be a name, not {theirs!r}")
    if wrong := [name for name, value in constants.items() if not isinstance(value, str)]:
        raise RecipeError(f"{where}: the constant {wrong[0]} must be a text; put it in quotation marks")
    if wrong := [str(name) for name, table in values.items() if not isinstance(table, dict) or name not in columns]:
        raise RecipeError(f"{where}: values of {wrong[0]} must be a mapping, and {wrong[0]} must have a column")
    named = {str(n): {str(k): str(v) for k, v in table.items()} for n, table in values.items()}
    return ColumnMapping(dict(columns), dict(constants), named, decimal)


def read_mapped(path: str | Path, mapping: ColumnMapping) -> Iterator[Line]:
    """Read a JSONL, JSON, CSV, TSV or Parquet file through a mapping.

    An export in the manner of Douban, as CSV, which the example in ``ColumnMapping`` fits::

        title,abstract,content,category,author,reads,upvotes
        守灯人,一封写给第一任守灯人的信。,信封没有受潮。……,悬疑,听潮,12904,318

    Raises:
        RowError: a row lacks a column; names file, line and the columns that are there.
    """
    for line in read_table(path):
        try:
            yield line._replace(row=mapping.row(line.row))
        except BadRow as error:
            raise line.error(str(error)) from error


def _at(raw: Mapping[str, Any], name: str) -> Any:
    if name in raw:
        return raw[name]
    value: Any = raw
    for part in name.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.removeprefix("-").isdecimal() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            raise BadRow(f"no column {name!r}; found {', '.join(map(str, list(raw)[:12]))}")
    return value
