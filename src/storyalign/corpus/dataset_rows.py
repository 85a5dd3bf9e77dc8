"""Rows of a dataset folder or a Hub dataset, with the names of their class labels."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.errors import DataError, HubError

ALL = "all"
"""In place of a split: all of them. ``datasets`` gives no split this name."""


class DatasetRow(NamedTuple):
    """One row and where it stands."""

    dataset: str
    number: int
    """Its place in the split, counted from 1."""
    row: dict[str, Any]

    @property
    def place(self) -> str:
        """Where the row stands, for people."""
        return f"{self.dataset}, row {self.number}"

    def error(self, problem: str) -> DataError:
        """Make the error that names this row."""
        row_id = self.row.get("id")
        identity = "" if row_id is None else f" (id {row_id})"
        return DataError(f"{self.place}{identity}: {problem}")


class DatasetRows(NamedTuple):
    """One split of a dataset."""

    name: str
    """What people call it: ``storyrmb``, ``storyrmb (human_llm)``, ``someone/pairs@v1 [validation]``."""
    rows: Iterator[DatasetRow]


def open_dataset(
    data: str | Path, config: str | None = None, split: str | None = None, revision: str | None = None
) -> DatasetRows:
    """Open one split of a folder or of a Hub dataset.

    A folder is streamed: nothing of it enters the cache of ``datasets``, so no older copy can answer for it.

    Args:
        data: a folder that ``load_dataset`` understands, or a Hub id.
        config: the configuration; the default one if None.
        split: the split, or ``all`` for one after another; if None the only one there is, else ``test``.
        revision: a revision of the Hub dataset.

    Raises:
        DataError: the folder is no dataset, or has no such configuration or split.
        HubError: the Hub dataset cannot be loaded.
    """
    import datasets

    is_folder = Path(data).is_dir()
    if not str(data).strip(" /\\"):
        raise DataError(f"{str(data)!r}: no name of a dataset; give a folder, a JSONL file or a Hub id")
    if Path(data).exists() and not is_folder:
        raise DataError(f"{data}: neither a folder nor a regular file; write the rows into a file first")
    try:
        options: dict[str, Any] = {"streaming": True} if is_folder else {"revision": revision}
        splits = datasets.load_dataset(str(data), config, **options)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        reason = " ".join(str(error).split())
        if is_folder:
            unwritable = isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
            advice = "; set HF_HOME to a folder that can be written" if unwritable else ""
            raise DataError(f"{data}: cannot be loaded as a dataset ({reason}){advice}") from error
        raise HubError(f"{data}: no file or folder of that name, and not loadable from the Hub ({reason})") from error
    chosen = split or (next(iter(splits)) if len(splits) == 1 else "test")
    if chosen != ALL and chosen not in splits:
        raise DataError(f"{data}: no split {chosen!r}; name one with --split: {', '.join(map(str, splits))}")
    name = Path(data).resolve().name if is_folder else str(data)
    name += f"@{revision}" if revision else ""
    name += f" ({config})" if config and config != "default" else ""
    if chosen == ALL:
        return DatasetRows(name, chain.from_iterable(_rows(rows, f"{name} [{own}]") for own, rows in splits.items()))
    name += f" [{chosen}]" if chosen != "test" else ""
    return DatasetRows(name, _rows(splits[chosen], name))


def _rows(split: Any, name: str) -> Iterator[DatasetRow]:
    features: Mapping[str, Any] = split.features or {}
    label_names = {column: feature.names for column, feature in features.items() if hasattr(feature, "int2str")}
    number = 0
    rows = iter(split)
    while True:
        try:
            row = next(rows, None)
        except (OSError, ValueError, RuntimeError) as error:  # what pyarrow raises on damaged bytes
            reason = " ".join(str(error).split())
            raise DataError(
                f"{name}: cannot be read after row {number} ({reason}); a file is damaged: build or download it again"
            ) from error
        if row is None:
            return
        number += 1
        for column, names in label_names.items():
            label = row.get(column)
            row[column] = None if label is None or label < 0 else names[label]  # datasets writes -1 for no label
        yield DatasetRow(name, number, row)
