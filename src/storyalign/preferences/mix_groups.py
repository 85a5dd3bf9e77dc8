"""Pairs that must not be parted: which share a premise, an author, a story or nearly a story, and the two splits."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

from storyalign.text import digest


class Groups:
    """Numbers 0, 1, 2, ..., put together step by step; 4 bytes a number, 8 and a dictionary's place a key."""

    def __init__(self) -> None:
        self._parents = array("I")
        self._holders: dict[int, int] = {}

    def __len__(self) -> int:
        """Count the numbers."""
        return len(self._parents)

    def add(self, keys: Iterable[int]) -> int:
        """Enter the next number; it joins all that had one of its keys."""
        number = len(self._parents)
        self._parents.append(number)
        for key in keys:
            self.join(number, self._holders.setdefault(key, number))
        return number

    def join(self, first: int, second: int) -> None:
        """Put the groups of two numbers together."""
        first, second = self.of(first), self.of(second)
        self._parents[max(first, second)] = min(first, second)

    def of(self, number: int) -> int:
        """Return the smallest number of the group."""
        while (parent := self._parents[number]) != number:
            self._parents[number] = self._parents[parent]
            number = parent
        return number


def validation_groups(
    groups: Sequence[int], constructions: Sequence[str], names: Sequence[str], share: float, seed: int
) -> set[int]:
    """Choose whole groups for validation, so that each construction has about its share there.

    Args:
        groups: the group of each pair.
        constructions: the construction of each pair.
        names: something stable of each pair, such as its id; the draw depends on these and the seed alone.
        share: of each construction's pairs, 0 to 1.
        seed: of the draw.

    Returns:
        Groups for validation. A group that would exceed what is wanted of one of its constructions stays in train.
    """
    wanted = {name: round(share * n) for name, n in Counter(constructions).items()}
    sizes: dict[int, Counter[str]] = {}
    labels: dict[int, str] = {}
    for group, construction, name in zip(groups, constructions, names, strict=True):
        sizes.setdefault(group, Counter())[construction] += 1
        labels[group] = min(labels.get(group, name), name)
    chosen: set[int] = set()
    for group in sorted(sizes, key=lambda g: digest("validation", str(seed), labels[g])):
        if all(n <= wanted[construction] for construction, n in sizes[group].items()):
            chosen.add(group)
            for construction, n in sizes[group].items():
                wanted[construction] -= n
    return chosen
