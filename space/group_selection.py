"""Which groups of a dataset a visitor wants to see, and in which order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storyalign.choices import margin
from storyalign.records import Instance

Rewards = Mapping[str, Sequence[float | None]]
"""Instance id -> one reward a candidate, the chosen story first; None where there is none."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What to show; None and an empty text ask for nothing."""

    dimension: str | None = None
    source: str | None = None
    writer: str | None = None
    words: str = ""
    """Text that the premise or a story holds, upper and lower case alike."""
    hardest_for: Rewards | None = None
    """Rewards of a scorer: the groups that it loses by the widest margin come first, those without a reward last."""


def select(instances: Sequence[Instance], wish: Wish) -> list[int]:
    """Return the places of the wanted groups, in the wanted order."""
    words = wish.words.strip().casefold()
    found = [
        place
        for place, instance in enumerate(instances)
        if (wish.dimension is None or instance.dimension == wish.dimension)
        and (wish.source is None or instance.source == wish.source)
        and (wish.writer is None or wish.writer in (instance.chosen_writer, *instance.rejected_writers))
        and (not words or any(words in text.casefold() for text in (instance.prompt, *instance.stories)))
    ]
    rewards = wish.hardest_for
    if rewards is not None:
        margins = {i.id: margin(own) for i in instances if (own := rewards.get(i.id))}
        found.sort(key=lambda place: math.inf if (own := margins.get(instances[place].id)) is None else own)
    return found


def names_in(instances: Sequence[Instance], field: str) -> list[str]:
    """List the values of a field, the most frequent first."""
    counts = Counter(value for instance in instances if (value := getattr(instance, field)))
    return [name for name, _ in counts.most_common()]


def writers_in(instances: Sequence[Instance]) -> list[str]:
    """List all writers by name."""
    return sorted({w for i in instances for w in (i.chosen_writer, *i.rejected_writers) if w})
