"""The recipe of the preference pairs: endpoints, and one section for each construction and the mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.preferences.back_generation import BackGeneration
from storyalign.preferences.guided_continuation import GuidedContinuation
from storyalign.preferences.llm_pairs import LlmPairs, Pairing
from storyalign.preferences.mix import Mix
from storyalign.preferences.rewriting import Rewriting
from storyalign.records import CONSTRUCTIONS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PreferenceRecipe:
    """All of it. A construction without a section is not made."""

    endpoints: Mapping[str, Endpoint]
    stories: tuple[str, ...] = ()
    """JSONL files of human stories, as the importers write them."""
    premises: tuple[str, ...] = ()
    """JSONL files with ``id`` and ``prompt``; premises of back-generation join them."""
    back_generation: BackGeneration | None = None
    back_generation_endpoint: str | None = None
    rewriting: Rewriting | None = None
    rewriters: tuple[str, ...] = ()
    """Endpoints that rewrite, in turn; none for the offline edits."""
    guided_continuation: GuidedContinuation | None = None
    continuers: tuple[str, ...] = ()
    """Endpoints of one strength; each continues with and without the guide."""
    llm_pairs: LlmPairs | None = None
    mix: Mix | None = None
    against: tuple[str, ...] = ()
    """Evaluation sets whose texts must not stand in the mix."""
    also: tuple[str, ...] = ()
    """Further JSONL files of pairs that go into the mix."""
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """Settings of ``--executor slurm`` and ``ray``; see ``Cluster``."""

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> PreferenceRecipe:
        """Check what a YAML file holds.

        Raises:
            RecipeError: a section, a field or an endpoint is unknown, missing or wrong.
        """
        known = {"seed", "endpoints", "stories", "premises", "mix", "cluster", *CONSTRUCTIONS}
        if unknown := sorted(set(content) - known):
            raise RecipeError(f"unknown section {unknown[0]!r}")
        entries = content.get("endpoints") or {}
        endpoints = {str(name): Endpoint.from_recipe(str(name), entry) for name, entry in entries.items()}
        sections = {name: dict(content[name] or {}) for name in (*CONSTRUCTIONS, "mix") if name in content}
        for section in sections.values():
            section.setdefault("seed", content.get("seed", 0))
        back, rewriting, guided = (sections.get(name) for name in CONSTRUCTIONS[:3])
        pairs, mix = sections.get("llm_pairs"), sections.get("mix")
        recipe = cls(
            endpoints,
            stories=_names(content, "stories"),
            premises=_names(content, "premises"),
            back_generation_endpoint=back.pop("endpoint", None) if back is not None else None,
            rewriters=_names(rewriting, "writers", take=True),
            continuers=_names(guided, "writers", take=True),
            against=_names(mix, "against", take=True),
            also=_names(mix, "also", take=True),
            back_generation=_section(BackGeneration, "back_generation", back),
            rewriting=_section(Rewriting, "rewriting", rewriting),
            guided_continuation=_section(GuidedContinuation, "guided_continuation", guided),
            llm_pairs=_section(LlmPairs, "llm_pairs", _with_pairings(pairs)),
            mix=_section(Mix, "mix", mix),
            cluster=content.get("cluster") or {},
        )
        recipe._check()
        return recipe

    def _check(self) -> None:
        named = [*self.rewriters, *self.continuers]
        if self.back_generation is not None:
            named.append(self.back_generation_endpoint or "")
        if self.guided_continuation is not None and not self.continuers:
            raise RecipeError("guided_continuation: writers is missing; name one endpoint or more")
        for pairing in self.llm_pairs.pairings if self.llm_pairs is not None else ():
            named += [pairing.smaller, pairing.larger]
        for name in named:
            if name not in self.endpoints:
                known = ", ".join(self.endpoints) or "none"
                raise RecipeError(f"no endpoint {name!r}; endpoints has {known}")
        if not self.stories and (self.back_generation or self.rewriting or self.guided_continuation):
            raise RecipeError("stories is missing; name JSONL files of human stories")


def _section(kind: type[T], name: str, entry: Mapping[str, Any] | None) -> T | None:
    if entry is None:
        return None
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(entry) - set(known)):
        raise RecipeError(f"{name}: unknown field {unknown[0]!r}; known are {', '.join(known)}")
    missing = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING and n not in entry]
    if missing:
        raise RecipeError(f"{name}: {missing[0]} is missing")
    values = {n: tuple(value) if isinstance(value, list) else value for n, value in entry.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise RecipeError(f"{name}: {error}") from error


def _with_pairings(entry: dict[str, Any] | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    try:
        return {**entry, "pairings": [Pairing(**pairing) for pairing in entry.get("pairings") or ()]}
    except TypeError as error:
        raise RecipeError("llm_pairs: pairings must be a list of {smaller: ENDPOINT, larger: ENDPOINT}") from error


def _names(entry: dict[str, Any] | Mapping[str, Any] | None, field: str, *, take: bool = False) -> tuple[str, ...]:
    if entry is None:
        return ()
    value = entry.pop(field, None) if take and isinstance(entry, dict) else entry.get(field)
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise RecipeError(f"{field} must be a name or a list of names")
    return tuple(listed)
