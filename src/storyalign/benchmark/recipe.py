"""The recipe of a benchmark: who writes, who judges, how many of what. One frozen class a section, no unknown field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from storyalign.benchmark.dimension import TIE_TOLERANCE
from storyalign.benchmark.majority import THRESHOLD, Mode
from storyalign.errors import RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.settings import Count, NotNegative, Share, Temperature, checked, from_entry
from storyalign.text import digest


@checked
@dataclass(frozen=True, slots=True)
class Premises:
    """Premises by LLMs (Appendix A)."""

    endpoint: str | None = None
    """Who invents, enriches and restyles; None where all premises come from ``files``."""
    themes: str = "premise_themes.yaml"
    """File with families of themes, turns and styles; beside the recipe."""
    seeds_per_call: Count = 8
    calls_per_theme: Count = 4
    """Calls for each theme and turn."""
    check: str | None = None
    """Who looks for empty, inconsistent and sensitive premises; None leaves that to people."""
    files: tuple[str, ...] = ()
    """JSONL files with premises of one's own (``prompt``), such as those of back-generation."""
    wanted: Count | None = None
    """Premises to keep, spread evenly over the families; None keeps all."""
    most_words: Count = 60
    fewest_words: Count = 8
    max_tokens: Count = 1024
    temperature: Temperature | None = 1.0
    too_literal: Share = 0.8
    """A restyled premise that shares so much of its words with the plain one is dropped (Jaccard, 0 to 1)."""
    near_duplicate: Share = 0.5
    """MinHash similarity from which the later of two premises is dropped."""
    license: str = "unknown"
    language: str = "en"


@checked
@dataclass(frozen=True, slots=True)
class HumanPremises:
    """Premises that come with a story by a person (section 2.1)."""

    files: tuple[str, ...] = ()
    """JSONL files of human stories, as the readers of ``corpus`` write them."""
    wanted: Count | None = None
    """Premises to draw; None takes all."""
    fewest_words: Count = 100
    """Shorter human stories are dropped (Appendix C)."""
    check: str | None = None
    """Who looks through the stories drawn for sensitive content; None leaves that to people."""
    max_tokens: Count = 1024
    """Upper bound of the checker's reply, its reasoning included."""


@checked
@dataclass(frozen=True, slots=True)
class Candidates:
    """Stories (Appendix B)."""

    writers: tuple[str, ...] = ()
    """Endpoints; each writes one story for every premise without a human story."""
    human_llm_writers: tuple[str, ...] = ()
    """Endpoints that write against a human story, one fewer."""
    words: Count = 1500
    """Target length."""
    fewest_words: Count = 100
    """A shorter story is a stub and is written again."""
    max_tokens: Count = 8192
    temperature: Temperature | None = 1.0
    tries: Count = 3


@checked
@dataclass(frozen=True, slots=True)
class Ratings:
    """Judges (section 2.2)."""

    judges: tuple[str, ...] = ()
    max_tokens: Count = 2048
    temperature: Temperature | None = 0.0
    tries: Count = 2
    min_judges: Count = 3
    """A story that fewer judges rated is unrated."""


@checked
@dataclass(frozen=True, slots=True)
class Settling:
    """From ratings to rankings and dimensions."""

    threshold: Annotated[float, Ge(-1), Le(1)] = THRESHOLD
    tau: Literal["a", "b"] = "a"
    majority: Mode = "mean"
    annotators: Literal["required", "skip"] = "required"
    """``skip`` lets the judges' majority stand unseen and leaves out whatever needs a person; the report says so."""
    tie_tolerance: NotNegative = TIE_TOLERANCE


@checked
@dataclass(frozen=True, slots=True)
class Recipe:
    """All of it."""

    endpoints: Mapping[str, Endpoint]
    seed: int = 0
    premises: Premises = field(default_factory=Premises)
    human_premises: HumanPremises = field(default_factory=HumanPremises)
    candidates: Candidates = field(default_factory=Candidates)
    ratings: Ratings = field(default_factory=Ratings)
    settling: Settling = field(default_factory=Settling)
    cluster: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> Recipe:
        """Check what a YAML file holds.

        Raises:
            RecipeError: a section, field or endpoint is unknown, or the numbers of writers don't fit.
        """
        recipe = from_entry(cls, {"endpoints": {}, **{name: one for name, one in content.items() if one is not None}})
        recipe._check()
        return recipe

    def _check(self) -> None:
        for name in self.endpoints:
            if not _NAME.fullmatch(name):
                raise RecipeError(f"endpoint {name!r}: a name has letters, digits, '.', '_' and '-'; it names a folder")
        named: dict[str, Sequence[str | None]] = {
            "premises.endpoint": [self.premises.endpoint],
            "premises.check": [self.premises.check],
            "human_premises.check": [self.human_premises.check],
            "candidates.writers": self.candidates.writers,
            "candidates.human_llm_writers": self.candidates.human_llm_writers,
            "ratings.judges": self.ratings.judges,
        }
        for place, names in named.items():
            if unknown := [name for name in names if name is not None and name not in self.endpoints]:
                known = ", ".join(self.endpoints) or "none"
                raise RecipeError(f"{place}: no endpoint {unknown[0]!r}; the recipe has {known}")
            if len(set(names)) != len(names):
                raise RecipeError(f"{place}: an endpoint stands twice")
        if self.candidates.writers and len(self.candidates.writers) != 4:
            raise RecipeError(f"candidates.writers: expected 4, found {len(self.candidates.writers)}")
        if self.human_premises.files and len(self.candidates.human_llm_writers) != 3:
            raise RecipeError(
                f"candidates.human_llm_writers: expected 3, found {len(self.candidates.human_llm_writers)}"
            )
        if self.ratings.judges and not 2 <= self.ratings.min_judges <= len(self.ratings.judges):
            raise RecipeError(f"ratings.min_judges: expected 2 to {len(self.ratings.judges)}")

    def seed_for(self, *parts: str) -> int:
        """Return the seed of one call: the same for the same recipe and parts, another for others."""
        return int(digest(str(self.seed), *parts)[:8], 16) % 2**31


_NAME = re.compile(r"\w[\w.-]*")
