"""The recipe for open data: which sets, from where, under which licence, and what of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from storyalign.errors import RecipeError
from storyalign.records import DIMENSIONS

LAYOUTS = ("hanna", "lamp", "ttcw", "confederacy", "writing_preference_bench", "litbench")


@dataclass(frozen=True, slots=True)
class OpenFile:
    """One file of a source."""

    name: str
    """What it is to the layout, such as ``annotations``; also its name here."""
    url: str
    sha256: str | None
    """None where nobody has pinned it yet."""


@dataclass(frozen=True, slots=True)
class OpenSource:
    """One set of stories with judgements."""

    name: str
    layout: str
    """How its files are read: one of ``LAYOUTS``."""
    corpus: str
    """Where it comes from, as each row will say."""
    license: str
    citation: str
    language: str | None
    """None: detected for each premise."""
    files: tuple[OpenFile, ...]
    score: str = ""
    """The score that speaks for a whole story; empty for sets of pairs."""
    min_margin: float = 0.0
    """A better story's mean score is at least so much above the other's."""
    min_agreement: float = 2 / 3
    """Share of the raters (or of pairs of raters) who must prefer the better story."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """Criterion -> dimension, for criteria that mean the same."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the layout alone needs to know."""


def load_open_recipe(path: str | Path) -> list[OpenSource]:
    """Read a recipe like ``recipes/open.yaml``.

    Raises:
        RecipeError: it cannot be read, or a source lacks something or has something unknown; names the source.
    """
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML in UTF-8 ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict) or not isinstance(content.get("sources"), dict) or not content["sources"]:
        raise RecipeError(f"{path}: expected 'sources:' with at least one source")
    return [_source(str(name), raw, f"{path}: source {name}") for name, raw in content["sources"].items()]


_KEYS = {
    "layout", "corpus", "license", "citation", "language", "files", "score", "min_margin", "min_agreement",
    "dimensions", "options",
}  # fmt: skip


def _source(name: str, raw: Any, where: str) -> OpenSource:
    if not isinstance(raw, dict):
        raise RecipeError(f"{where}: expected a mapping")
    if unknown := set(raw) - _KEYS:
        raise RecipeError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}")
    if missing := [key for key in ("layout", "corpus", "license", "citation", "files") if not raw.get(key)]:
        raise RecipeError(f"{where}: no {', '.join(missing)}")
    if raw["layout"] not in LAYOUTS:
        raise RecipeError(f"{where}: unknown layout {raw['layout']!r}; expected one of {', '.join(LAYOUTS)}")
    dimensions = raw.get("dimensions") or {}
    if wrong := [value for value in dimensions.values() if value not in DIMENSIONS]:
        raise RecipeError(f"{where}: unknown dimension {wrong[0]!r}; expected one of {', '.join(DIMENSIONS)}")
    agreement, margin = raw.get("min_agreement", 2 / 3), raw.get("min_margin", 0.0)
    if not isinstance(agreement, int | float) or not 0 <= agreement <= 1:
        raise RecipeError(f"{where}: min_agreement is {agreement!r}; expected a share from 0 to 1")
    if not isinstance(margin, int | float) or margin < 0:
        raise RecipeError(f"{where}: min_margin is {margin!r}; expected a number that is not negative")
    return OpenSource(
        name=name,
        layout=raw["layout"],
        corpus=raw["corpus"],
        license=raw["license"],
        citation=" ".join(str(raw["citation"]).split()),
        language=raw.get("language"),
        files=tuple(_file(str(file), value, where) for file, value in raw["files"].items()),
        score=raw.get("score", ""),
        min_margin=float(margin),
        min_agreement=float(agreement),
        dimensions=dimensions,
        options=raw.get("options") or {},
    )


def _file(name: str, raw: Any, where: str) -> OpenFile:
    if not isinstance(raw, dict) or not isinstance(raw.get("url"), str) or set(raw) - {"url", "sha256"}:
        raise RecipeError(f"{where}: file {name}: expected url and sha256")
    digest = raw.get("sha256")
    if digest is not None and not (
        isinstance(digest, str) and len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    ):
        raise RecipeError(f"{where}: file {name}: sha256 must be 64 hexadecimal digits in lower case, or null")
    if "/" in name or name.startswith("."):
        raise RecipeError(f"{where}: file {name}: a name must have no slash and no dot at its beginning")
    return OpenFile(name, raw["url"], digest)
