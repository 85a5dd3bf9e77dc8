"""How a scorer scores: one object from the command line to the model or judge that it is for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from storyalign.errors import RecipeError
from storyalign.scoring.voting import MODES, Mode

if TYPE_CHECKING:
    from storyalign.models.chat import Keep
    from storyalign.models.loading import DType

NULL_PREFIX = "null:"
"""Opens the name of a null scorer, which reads nothing: ``null:longest``."""

_CHOICES: dict[str, Sequence[str]] = {
    "dtype": ("fp32", "bf16"),
    "truncate": ("head", "tail", "middle"),
    "mode": MODES,
}


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What the user asked for; a field at its default asks for nothing.

    Raises:
        RecipeError: a value that no scorer knows.
    """

    dtype: DType = "fp32"
    """Precision of a model's weights."""
    max_length: int | None = None
    """Most tokens of a story with its premise; None means what the model can read."""
    truncate: Keep | None = None
    """The part of an over-long story to keep; None refuses over-long stories."""
    batch_tokens: int | None = None
    """Tokens of one forward pass; changes no reward."""
    revision: str | None = None
    """Branch, tag or commit of a model on the Hub."""
    trust_remote_code: bool = False
    mode: Mode | None = None
    """How a judge is asked, see ``voting``; None means as its entry says."""
    max_cost: float | None = None
    """US dollars that each judge may spend."""
    yes: bool = False
    """Consent to what a judge will cost."""

    def __post_init__(self) -> None:
        """Check the values."""
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in (None, *choices):
                raise RecipeError(f"--{name} {value}: unknown; choose {', '.join(choices[:-1])} or {choices[-1]}")

    @property
    def given(self) -> list[str]:
        """The fields that ask for something."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    def only(self, taken: Collection[str]) -> ScoringOptions:
        """Return the options without those that a scorer does not take."""
        left_out: dict[str, Any] = {f.name: f.default for f in fields(self) if f.name not in taken}
        return replace(self, **left_out)


DEFAULTS = ScoringOptions()

FOR_JUDGES = frozenset({"mode", "max_cost", "yes"})
FOR_MODELS = frozenset(field.name for field in fields(ScoringOptions)) - FOR_JUDGES


class Terms(NamedTuple):
    """The options that a scorer takes."""

    scorer: str
    """As the user named it."""
    taken: frozenset[str]
    why: str
    """Why it takes no others."""


def refuse_untaken(options: ScoringOptions, terms: Sequence[Terms]) -> None:
    """Refuse options that none of the scorers takes: they would change nothing, and nobody would know.

    Raises:
        RecipeError: names the options, and why each scorer has no use for them.
    """
    unused = [name for name in options.given if not any(name in one.taken for one in terms)]
    if unused:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in unused)
        scorers = ", ".join(one.scorer for one in terms) or "no scorer"
        reasons = "; ".join(dict.fromkeys(one.why for one in terms)) or "none is named"
        raise RecipeError(f"{scorers}: {named} cannot be used: {reasons}")
