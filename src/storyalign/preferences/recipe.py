"""The recipe of the preference pairs: endpoints, and one section for each construction and the mix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.preferences.back_generation import BackGeneration
from storyalign.preferences.guided_continuation import GuidedContinuation
from storyalign.preferences.llm_pairs import LlmPairs
from storyalign.preferences.mix import Mix
from storyalign.preferences.rewriting import Rewriting
from storyalign.records import CONSTRUCTIONS
from storyalign.settings import from_entry

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
        known = ("seed", "endpoints", "stories", "premises", "mix", "cluster", *CONSTRUCTIONS)
        if unknown := sorted(set(content) - set(known)):
            near = get_close_matches(str(unknown[0]), known, 1)
            raise RecipeError(
                f"{unknown[0]} is unknown; " + (f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}")
            )
        seed = from_entry(int, content.get("seed", 0), "seed")
        entries = from_entry(Mapping[str, Any], content.get("endpoints") or {}, "endpoints")  # type: ignore[type-abstract]
        endpoints = {name: Endpoint.from_recipe(f"endpoints.{name}", entry) for name, entry in entries.items()}
        sections = {
            name: {"seed": seed, **from_entry(Mapping[str, Any], content[name] or {}, name)}  # type: ignore[type-abstract]
            for name in (*CONSTRUCTIONS, "mix")
            if name in content
        }
        back, rewriting, guided, pairs, mix = map(sections.get, (*CONSTRUCTIONS[:3], "llm_pairs", "mix"))
        writer = from_entry(str, back.pop("endpoint", ""), "back_generation.endpoint") if back is not None else None
        rewriters = _names(rewriting, "writers", "rewriting.")
        continuers = _names(guided, "writers", "guided_continuation.")
        against, also = _names(mix, "against", "mix."), _names(mix, "also", "mix.")
        for section, name in ((rewriting, "writers"), (guided, "writers"), (mix, "against"), (mix, "also")):
            (section or {}).pop(name, None)
        recipe = cls(
            endpoints,
            stories=_names(content, "stories"),
            premises=_names(content, "premises"),
            back_generation_endpoint=writer,
            rewriters=rewriters,
            continuers=continuers,
            against=against,
            also=also,
            back_generation=_section(BackGeneration, "back_generation", back),
            rewriting=_section(Rewriting, "rewriting", rewriting),
            guided_continuation=_section(GuidedContinuation, "guided_continuation", guided),
            llm_pairs=_section(LlmPairs, "llm_pairs", pairs),
            mix=_section(Mix, "mix", mix),
            cluster=from_entry(Mapping[str, Any], content.get("cluster") or {}, "cluster"),  # type: ignore[type-abstract]
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
    return None if entry is None else from_entry(kind, entry, name)


def _names(entry: Mapping[str, Any] | None, field: str, section: str = "") -> tuple[str, ...]:
    """Return a list of names; one name may stand alone."""
    value = (entry or {}).get(field)
    if value is None:
        return ()
    return from_entry(tuple[str, ...], [value] if isinstance(value, str) else value, section + field)
