"""Leakage: texts of preference pairs that stand in an evaluation set too, word for word or nearly so.

The evaluation set is indexed, the pairs stream by; memory depends on the evaluation set alone. Three things are
compared, each with ``corpus.duplicates``, which does not mind case, punctuation, white space or a tokeniser's blanks:

- premises with premises;
- stories with stories, so that a story with a changed paragraph or under another premise is found;
- how texts begin and how they end, since a continuation or a rewritten story shares only a part of its story, and the
  premise of a continuation is the beginning of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from storyalign.corpus.duplicates import THRESHOLD, Signature, TextIndex, comparable_words, sign_words
from storyalign.records import Instance, PreferencePair

EDGE_WORDS = 120
"""Words at the beginning and at the end of a text that are compared by themselves; shorter texts have no edges."""

EXAMPLES = 10
"""So many leaks are shown for each kind."""

_SHOWN = 160


class Leak(NamedTuple):
    """One text of a pair that the evaluation set has too."""

    pair_id: str
    text: str
    """Which text of the pair: ``prompt``, ``chosen`` or ``rejected``."""
    what: str
    """What it repeats: ``premise``, ``story``, ``beginning`` or ``end``."""
    evaluation_set: str
    instance_id: str
    similarity: float
    """1 for the same words in the same order, else the estimated Jaccard similarity of the runs of three words."""
    excerpt: str

    @property
    def kind(self) -> str:
        """Name of the kind of leak, as the report counts it."""
        return f"{self.what}, {'exact' if self.similarity == 1.0 else 'near'}"


@dataclass(slots=True)
class LeakageReport:
    """What was found in all pairs."""

    pairs: int = 0
    leaking: int = 0
    """Pairs with at least one leak."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Leaks by kind; a pair may have several."""
    constructions: Counter[str] = field(default_factory=Counter)
    """Leaking pairs by construction."""
    examples: dict[str, list[Leak]] = field(default_factory=dict)
    """The first leaks of each kind."""

    def add(self, pair: PreferencePair, leaks: list[Leak]) -> None:
        """Count one pair."""
        self.pairs += 1
        if not leaks:
            return
        self.leaking += 1
        self.constructions[pair.construction] += 1
        for leak in leaks:
            self.kinds[leak.kind] += 1
            shown = self.examples.setdefault(leak.kind, [])
            if len(shown) < EXAMPLES:
                shown.append(leak)

    def to_json(self) -> dict[str, Any]:
        """Give the report as a JSON-ready object."""
        return {
            "pairs": self.pairs,
            "leaking": self.leaking,
            "kinds": dict(self.kinds),
            "constructions": dict(self.constructions),
            "examples": {kind: [leak._asdict() for leak in leaks] for kind, leaks in self.examples.items()},
        }


class CheckedText(NamedTuple):
    """What is compared of a text. Made once, it serves every search: making it is most of their work."""

    whole: Signature
    beginning: Signature | None
    """Of its first 120 words; None where the text has no more than these."""
    end: Signature | None
    """Of its last 120 words."""

    @classmethod
    def of(cls, text: str) -> CheckedText:
        """Take a text apart.

        Raises:
            MissingExtraError: rensa is not installed.
        """
        words = comparable_words(text)
        if len(words) <= EDGE_WORDS:
            return cls(sign_words(words), None, None)
        return cls(sign_words(words), sign_words(words[:EDGE_WORDS]), sign_words(words[-EDGE_WORDS:]))


class LeakageIndex:
    """The texts of evaluation sets.

    Args:
        threshold: texts whose estimated similarity reaches it are near duplicates.
    """

    def __init__(self, threshold: float = THRESHOLD):
        self._premises, self._stories = TextIndex(threshold), TextIndex(threshold)
        self._beginnings, self._ends = TextIndex(threshold), TextIndex(threshold)
        self._places: list[tuple[str, str]] = []
        self.instances = 0

    def add(self, name: str, instances: Iterable[Instance]) -> None:
        """Index one evaluation set under its name."""
        for instance in instances:
            self.instances += 1
            key = str(len(self._places))
            self._places.append((name, instance.id))
            premise, *stories = map(CheckedText.of, (instance.prompt, *instance.stories))
            self._premises.find_or_add(key, premise.whole)
            for text in (premise, *stories):
                if text.beginning is not None and text.end is not None:
                    self._beginnings.find_or_add(key, text.beginning)
                    self._ends.find_or_add(key, text.end)
            for story in stories:
                self._stories.find_or_add(key, story.whole)

    def leaks(self, pair: PreferencePair, stories: Sequence[CheckedText] | None = None) -> list[Leak]:
        """Give the leaks of one pair; each of its texts is named once, by its closest likeness.

        Args:
            pair: the pair.
            stories: what is compared of its stories, chosen and rejected, where it is at hand.
        """
        chosen, rejected = stories or map(CheckedText.of, pair.stories)
        premise = CheckedText.of(pair.prompt)
        found = (
            self._leak(pair, "prompt", premise, (("premise", self._premises), ("story", self._stories))),
            self._leak(pair, "chosen", chosen, (("story", self._stories),)),
            self._leak(pair, "rejected", rejected, (("story", self._stories),)),
        )
        return [leak for leak in found if leak]

    def _leak(
        self, pair: PreferencePair, which: str, text: CheckedText, indexes: tuple[tuple[str, TextIndex], ...]
    ) -> Leak | None:
        looked_up = [(what, index, text.whole) for what, index in indexes]
        if text.beginning is not None and text.end is not None:
            looked_up += [("beginning", self._beginnings, text.beginning), ("end", self._ends, text.end)]
        for what, index, signature in looked_up:
            if match := index.find(signature):
                name, instance_id = self._places[int(match.key)]
                shown = getattr(pair, which)[-_SHOWN if what == "end" else 0 :]
                excerpt = " ".join(shown[: 2 * _SHOWN].split())[:_SHOWN]
                return Leak(pair.id, which, what, name, instance_id, round(match.similarity, 3), excerpt)
        return None
