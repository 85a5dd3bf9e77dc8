"""Building the folders ``storyrmb/`` and ``story_preferences/``: Parquet and a card, each a whole Hub repository."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from storyalign.errors import DataError, RecipeError
from storyalign.files import RawLine, atomic_folder, read_lines, write_json
from storyalign.hub.build.dataset_configs import SHARD_BYTES, ConfigFiles
from storyalign.hub.build.dataset_statistics import (
    PEOPLE_FILE,
    DatasetStatistics,
    PeopleFigure,
    people_json,
    read_people_figures,
)
from storyalign.hub.build.row_checks import Repetitions, check_no_sample, check_official_size, check_sample
from storyalign.hub.cards.dataset_card import CardFacts, is_built_folder, render_card
from storyalign.records import PAIR_LABELS, SOURCES, SPLITS, BadRow, Instance, PreferencePair

Track = Callable[[Iterable[RawLine]], Iterable[RawLine]]
"""Wraps the lines on their way, for a progress bar."""


class BuiltFolder(NamedTuple):
    """What a build wrote."""

    path: Path
    digest: str
    """``sha256:`` and 64 hexadecimal digits over all rows in their order; it stands in the card too."""
    statistics: DatasetStatistics


class _Kind(NamedTuple):
    """What differs between the two datasets."""

    name: str
    parse: Callable[[Mapping[str, Any]], Instance | PreferencePair]
    configs: tuple[str, ...]
    config_column: str
    splits: tuple[str, ...]


_STORYRMB = _Kind("storyrmb", lambda row: Instance.from_row(row).require_storyrmb(), SOURCES, "source", ("test",))
_OPEN = _STORYRMB._replace(parse=lambda row: Instance.from_row(row).require_storyrmb(dimension=False))
_PREFERENCES = _Kind("story_preferences", PreferencePair.from_row, PAIR_LABELS, "construction", SPLITS)


def build_storyrmb(
    raw: Sequence[str | Path],
    out: str | Path,
    *,
    sample: bool = False,
    official_size: bool = False,
    dimension_optional: bool = False,
    track: Track = iter,
    shard_bytes: int = SHARD_BYTES,
) -> BuiltFolder:
    """Check raw rows and write them as the benchmark's folder: all of it, or nothing.

    Args:
        raw: JSONL files with the columns of StoryRMB.
        out: the folder; an older build there is replaced, anything else is not.
        sample: the rows are the kit's synthetic sample; they are checked for that, and the card says so first.
        official_size: refuse any other number of instances than the paper's 1,133, with its counts by group.
        dimension_optional: an instance may have no dimension.
        track: called with the rows of all files; for a progress bar.
        shard_bytes: text in one Parquet file, about.

    Raises:
        RowError: a row is broken or repeats another one; names file, line and id.
        DataError: there are no rows, they are not the official size, or ``out`` holds something that no build wrote.
    """
    if sample and official_size:
        raise RecipeError("--sample and --official-size exclude each other")
    kind = _OPEN if dimension_optional else _STORYRMB
    return _build(kind, raw, Path(out), sample, official_size, track, shard_bytes)


def build_story_preferences(
    raw: Sequence[str | Path],
    out: str | Path,
    *,
    sample: bool = False,
    people: str | Path | None = None,
    track: Track = iter,
    shard_bytes: int = SHARD_BYTES,
) -> BuiltFolder:
    """Check raw pairs and write them as a folder: all of it, or nothing.

    Args:
        raw: JSONL files with the columns of the pairs, and ``split`` (``train`` where it is missing).
        out: the folder; an older build there is replaced, anything else is not.
        sample: the rows are the kit's synthetic sample; they are checked for that, and the card says so first.
        people: what ``storyalign construct people-agreement --json`` wrote; the card says it.
        track: called with the rows of all files; for a progress bar.
        shard_bytes: text in one Parquet file, about.

    Raises:
        RowError: a row is broken, repeats another one, or shares a text with the other split.
        DataError: there are no rows, or ``out`` holds something that no build wrote.
    """
    figures = () if people is None else read_people_figures(people)
    return _build(_PREFERENCES, raw, Path(out), sample, False, track, shard_bytes, figures)


def _build(
    kind: _Kind,
    raw: Sequence[str | Path],
    out: Path,
    sample: bool,
    official: bool,
    track: Track,
    shard_bytes: int,
    people: tuple[PeopleFigure, ...] = (),
) -> BuiltFolder:
    out = out.resolve()
    _require_replaceable(out)
    features, statistics, repetitions = _script(kind.name).FEATURES, DatasetStatistics(), Repetitions()
    lines = track(itertools.chain.from_iterable(map(read_lines, raw)))
    names = ", ".join(map(str, raw))
    check_origin = check_sample if sample else check_no_sample
    try:
        with atomic_folder(out) as folder, ExitStack() as on_error:
            files = ConfigFiles(folder, kind.configs, kind.splits, features, shard_bytes)
            on_error.callback(files.abandon)
            for raw_line in lines:
                line = raw_line.parse()
                try:
                    row = kind.parse(line.row)
                    check_origin(row)
                    repetitions.check(row, line.path, line.number)
                except BadRow as error:
                    raise line.error(str(error)) from error
                statistics.add(row)
                columns = row.to_row()
                files.add(columns[kind.config_column], columns.get("split", kind.splits[0]), columns)
            if not statistics.n_rows:
                raise DataError(f"{names or '--raw'}: no rows; nothing was written")
            if official:
                check_official_size(statistics.table, names)
            configs = files.close()
            card = render_card(CardFacts(kind.name, sample, official, configs, features, statistics, people))
            (folder / "README.md").write_text(card, encoding="utf-8")
            if people:
                write_json(folder / PEOPLE_FILE, people_json(people))
    except OSError as error:
        raise DataError(f"{out}: cannot be written ({error.strerror or error}); nothing was changed") from error
    return BuiltFolder(out, configs[0].digest, statistics)


def _require_replaceable(out: Path) -> None:
    if not out.exists() or (out.is_dir() and (not any(out.iterdir()) or is_built_folder(out))):
        return
    raise DataError(f"{out}: holds something that no build wrote; name another --out, or move it away")


def _script(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"storyalign.dataset_scripts.{name}")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("storyalign.dataset_scripts"):
            raise
        raise DataError(
            "src/storyalign/dataset_scripts is no link to dataset_scripts/: this checkout has no symbolic links "
            "(on Windows: git config core.symlinks true, and check out again), or install the wheel"
        ) from error
