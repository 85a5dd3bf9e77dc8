"""Premises to write stories for, from whatever file has them.

MoPS (``{"id", "premise", ...}``), StoryRMB and any dataset with ``prompt``, judged groups, plain text with one premise
a line, and the prompt file of EQ-Bench Creative Writing v3::

    {"1": {"category": "...", "title": "...", "writing_prompt": "... <SEED> ...", "seed_modifiers": ["...", ...]}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.corpus.dataset_rows import open_dataset
from storyalign.corpus.encodings import read_whole
from storyalign.errors import DataError
from storyalign.files import read_jsonl
from storyalign.text import content_id, digest

SEED_MARK = "<SEED>"
"""Where a prompt of Creative Writing v3 takes one of its modifiers."""

REPEATED = "premises that came before"


class Premise(NamedTuple):
    """One premise and its id, which depends on the text where the file gives none."""

    id: str
    text: str
    group: str | None = None
    """The category of a prompt, where the file names one."""


@dataclass(frozen=True, slots=True)
class PremiseList:
    """Premises, each text once."""

    name: str
    premises: list[Premise]
    digest: str
    dropped: Counter[str] = field(default_factory=Counter)


def read_premises(source: str | Path) -> PremiseList:
    """Read premises from a file, a dataset folder or a Hub dataset.

    Raises:
        DataError: nothing can be read, or there is no premise.
        RowError: a row has none.
    """
    path = Path(source)
    if not path.is_file():
        name, rows = open_dataset(source, split="all")
        return _listed(name, (_premise(row.row, row.error) for row in rows))
    if path.suffix.lower() == ".json":
        return _listed(path.name, creative_writing_prompts(path))
    if path.suffix.lower() == ".txt":
        return _listed(path.name, _from_lines(path))
    return _listed(path.name, (_premise(line.row, line.error) for line in read_jsonl(path)))


def creative_writing_prompts(path: Path) -> list[Premise]:
    """Read the prompt file of Creative Writing v3; of each prompt its first modifier is used.

    Raises:
        DataError: the file has another form.
    """
    content = orjson.loads(_read(path)) if _is_json(path) else None
    if not isinstance(content, dict) or not content:
        raise DataError(f"{path}: expected one prompt under each number; JSONL needs the ending .jsonl")
    found = []
    for number, entry in content.items():
        prompt = entry.get("writing_prompt") if isinstance(entry, dict) else None
        if not isinstance(prompt, str) or not prompt.strip():
            raise DataError(f"{path}: prompt {number} has no writing_prompt")
        modifiers = entry.get("seed_modifiers") or []
        if SEED_MARK in prompt and not (isinstance(modifiers, list) and modifiers and isinstance(modifiers[0], str)):
            raise DataError(f"{path}: prompt {number} has the mark {SEED_MARK} and no seed_modifiers to put there")
        text = modifiers[0].join(prompt.split(SEED_MARK)) if SEED_MARK in prompt else prompt
        found.append(Premise(f"cw-{number}", text.strip(), entry.get("category")))
    return found


def _is_json(path: Path) -> bool:
    try:
        orjson.loads(_read(path))
    except orjson.JSONDecodeError:
        return False
    return True


def _from_lines(path: Path) -> list[Premise]:
    lines = read_whole(path).splitlines()
    return [Premise(content_id("premise", line.strip()), line.strip()) for line in lines if line.strip()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error


def _premise(row: Mapping[str, Any], error: Any) -> Premise:
    text = next((row[key] for key in ("premise", "prompt") if isinstance(row.get(key), str) and row[key].strip()), None)
    if text is None:
        raise error("no premise: expected a text under premise or prompt")
    own = row.get("id")
    return Premise(content_id("premise", text) if own in (None, "") else str(own), text)


def _listed(name: str, found: Iterable[Premise]) -> PremiseList:
    by_text: dict[str, Premise] = {}
    ids: dict[str, int] = {}
    dropped = Counter[str]()
    for number, premise in enumerate(found, start=1):
        if premise.text in by_text:
            dropped[REPEATED] += 1
            continue
        if (first := ids.setdefault(premise.id, number)) != number:
            raise DataError(f"{name}: duplicate id {premise.id}: premises {first} and {number} have it")
        by_text[premise.text] = premise
    if not by_text:
        raise DataError(f"{name}: holds no premises")
    return PremiseList(name, list(by_text.values()), digest(*by_text), dropped)
