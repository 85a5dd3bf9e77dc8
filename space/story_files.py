"""Stories out of the files that a visitor drops: .txt and .md hold one story each, .jsonl holds rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visitor_limits import InputRefused, Limits

from storyalign.errors import RowError
from storyalign.files import Line, read_jsonl
from storyalign.text import same_text

SUFFIXES = (".txt", ".md", ".jsonl")


@dataclass(frozen=True, slots=True)
class Dropped:
    """What was found in the dropped files."""

    names: tuple[str, ...]
    stories: tuple[str, ...]
    premise: str | None
    notices: tuple[str, ...]


def read_story_files(paths: Sequence[str | Path], limits: Limits) -> Dropped:
    """Read every dropped file; nothing is taken over if one of them is refused.

    Args:
        paths: uploaded files; their last part is the visitor's own name for them.
        limits: the largest accepted input.

    Raises:
        InputRefused: a file is of another kind, too large, no text, or holds no stories.
    """
    if len(paths) > limits.max_stories:
        raise InputRefused(f"{len(paths)} files were dropped; at most {limits.max_stories} are read at a time.")
    names: list[str] = []
    stories: list[str] = []
    premise: str | None = None
    notices: list[str] = []
    for path in map(Path, paths):
        _check_file(path, limits)
        if path.suffix.lower() == ".jsonl":
            group = _read_rows(path, limits)
            names += group.names
            stories += group.stories
            notices += group.notices
            premise = premise or group.premise
        else:
            names.append(_short(path.name, limits))
            stories.append(_read_text(path))
    return Dropped(tuple(names), tuple(stories), premise, tuple(notices))


def _check_file(path: Path, limits: Limits) -> None:
    name = _short(path.name, limits)
    if path.suffix.lower() not in SUFFIXES:
        raise InputRefused(f"{name} is none of {', '.join(SUFFIXES)}. Save the story as plain text and drop it again.")
    size = path.stat().st_size
    if size > limits.file_bytes:
        raise InputRefused(f"{name} has {size:,} bytes; at most {limits.file_bytes:,} are accepted.")


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputRefused(f"{path.name} is no UTF-8 text. Save it as UTF-8 and drop it again.") from error
    if "\x00" in text or not text.strip():
        state = "is no text" if text.strip() else "is empty"
        raise InputRefused(f"{path.name} {state}. Drop a file with a story in it.")
    return same_text(text)


def _read_rows(path: Path, limits: Limits) -> Dropped:
    """Read a .jsonl file: its first group of stories, or one story a line."""
    singles: list[tuple[str, str]] = []
    premise: str | None = None
    groups = 0
    first: Dropped | None = None
    try:
        for line in read_jsonl(path):
            premise = premise or _premise(line.row)
            if (stories := _group(line)) is not None:
                groups += 1
                first = first or Dropped(*_named(stories, limits), _premise(line.row), ())
            else:
                name = f"{_short(path.stem, limits)}, line {line.number}"
                singles.append((name, _story(line, "story", "text", "response")))
    except RowError as error:
        raise InputRefused(f"{path.name}, line {error.line}: {error.problem}") from error
    if first and singles:
        raise InputRefused(f"{path.name} mixes groups of stories with single stories. Drop one kind at a time.")
    if first:
        more = (f"{path.name} holds {groups:,} groups of stories; the first one was taken.",) if groups > 1 else ()
        return Dropped(first.names, first.stories, first.premise, more)
    if not singles:
        raise InputRefused(f"{path.name} holds no rows. Each line is one JSON object with a story in it.")
    return Dropped(tuple(n for n, _ in singles), tuple(s for _, s in singles), premise, ())


def _group(line: Line) -> list[tuple[str, str]] | None:
    """Return (name, story) for a row that holds several stories, None for a row that holds one."""
    row = line.row
    if "chosen" in row:
        rejected = row.get("rejected")
        rejected = [rejected] if isinstance(rejected, str) else rejected
        if not isinstance(rejected, list):
            raise line.error("rejected is neither a story nor a list of stories")
        texts = [row["chosen"], *rejected]
        return [("chosen" if i == 0 else f"rejected {i}", _text(line, text)) for i, text in enumerate(texts)]
    for key in ("stories", "candidates"):
        if isinstance(row.get(key), list):
            return [_candidate(line, number, item) for number, item in enumerate(row[key], start=1)]
    return None


def _candidate(line: Line, number: int, item: Any) -> tuple[str, str]:
    if isinstance(item, Mapping):
        return str(item.get("writer") or item.get("name") or f"Story {number}"), _text(line, item.get("story"))
    return f"Story {number}", _text(line, item)


def _named(stories: Sequence[tuple[str, str]], limits: Limits) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(_short(name, limits) for name, _ in stories), tuple(text for _, text in stories)


def _story(line: Line, *keys: str) -> str:
    for key in keys:
        if key in line.row:
            return _text(line, line.row[key])
    raise line.error("no story in this row; expected story, text, stories, candidates, or chosen and rejected")


def _text(line: Line, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise line.error("a story is empty or no text")
    return value


def _premise(row: Mapping[str, Any]) -> str | None:
    for key in ("premise", "prompt"):
        if isinstance(row.get(key), str) and row[key].strip():
            return str(row[key])
    return None


def _short(name: str, limits: Limits) -> str:
    return name if len(name) <= limits.name_chars else name[: limits.name_chars - 1] + "…"
