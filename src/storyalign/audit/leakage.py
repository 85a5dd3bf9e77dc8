"""Leakage: texts of preference pairs that stand in an evaluation set too, word for word or nearly so.

The evaluation set is indexed, the pairs stream by; memory depends on the evaluation set alone. Case, punctuation, white
space and a tokeniser's blanks do not count. Three things are compared:

- premises with premises, and stories with stories, each with ``corpus.duplicates``, so that a premise with a changed
  word and a story with a changed paragraph or under another premise are found;
- every text with every passage of the evaluation set (``corpus.passages``), so that the beginning of a story as
  premise, a part of it inside another story, and a whole one inside a longer text are found, from 30 words in a row on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from storyalign.accuracy import wilson_interval
from storyalign.corpus.duplicates import (
    PREMISE_THRESHOLD,
    RUN,
    THRESHOLD,
    Signature,
    TextIndex,
    comparable_words,
    sign_words,
)
from storyalign.corpus.passages import Hashes, PassageIndex, hashed
from storyalign.records import Instance, PreferencePair
from storyalign.tables import Table

EXAMPLES = 10
"""So many leaks are shown for each kind."""

_SHOWN = 160


class Leak(NamedTuple):
    """One text of a pair that the evaluation set has too."""

    pair_id: str
    text: str
    """Which text of the pair: ``prompt``, ``chosen`` or ``rejected``."""
    what: str
    """What it repeats: ``premise``, ``story`` or ``passage``."""
    evaluation_set: str
    instance_id: str
    similarity: float
    """1 for the same words in the same order, else the estimated Jaccard similarity: of premises by their different
    words, of stories by their runs of three words."""
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
        """Return the report as a JSON-ready object."""
        return {
            "pairs": self.pairs,
            "leaking": self.leaking,
            "kinds": dict(self.kinds),
            "constructions": dict(self.constructions),
            "examples": {kind: [leak._asdict() for leak in leaks] for kind, leaks in self.examples.items()},
        }


def table_of(report: LeakageReport, compared_with: str) -> Table:
    """Return the leaks by kind, with three examples of each.

    Args:
        report: what was found.
        compared_with: the evaluation sets, in words.
    """
    notes = [
        f"{kind}: {leak.pair_id} {leak.text} = {leak.instance_id} of {leak.evaluation_set}, similarity "
        f"{leak.similarity:.2f}: {leak.excerpt}"
        for kind, leaks in report.examples.items()
        for leak in leaks[:3]
    ]
    share = ""
    if report.pairs:
        low, high = wilson_interval(report.leaking / report.pairs, report.pairs)
        share = f" ({report.leaking / report.pairs:.2%}, 95% interval {low:.2%} to {high:.2%})"
    notes.append(f"{report.leaking:,} of {report.pairs:,} pairs leak{share}; compared with {compared_with}")
    return Table(["leak", "texts"], [[kind, f"{n:,}"] for kind, n in report.kinds.most_common()], notes=notes)


class CheckedText(NamedTuple):
    """What is compared of a text. Made once, it serves every search: making it is most of their work."""

    whole: Signature
    words: Hashes

    @classmethod
    def of(cls, text: str, *, run: int = RUN) -> CheckedText:
        """Take a story apart, or with ``run=1`` a premise.

        Raises:
            MissingExtraError: rensa is not installed.
        """
        words = comparable_words(text)
        return cls(sign_words(words, run=run), hashed(words))


class LeakageIndex:
    """The texts of evaluation sets.

    Args:
        threshold: texts whose estimated similarity reaches it are near duplicates.
    """

    def __init__(self, threshold: float = THRESHOLD):
        self._premises, self._stories = TextIndex(PREMISE_THRESHOLD), TextIndex(threshold)
        self._passages = PassageIndex()
        self._places: list[tuple[str, str]] = []
        self.instances = 0
        self.author_keys: set[str] = set()
        """Keys of the authors whose stories stand in the evaluation sets."""

    def add(self, name: str, instances: Iterable[Instance], author_keys: Iterable[str] = ()) -> None:
        """Index one evaluation set under its name."""
        self.author_keys.update(author_keys)
        for instance in instances:
            self.instances += 1
            number = len(self._places)
            self._places.append((name, instance.id))
            premise, stories = CheckedText.of(instance.prompt, run=1), list(map(CheckedText.of, instance.stories))
            self._premises.find_or_add(str(number), premise.whole)
            for story in stories:
                self._stories.find_or_add(str(number), story.whole)
            for text in (premise, *stories):
                self._passages.add(number, text.words)

    def leaks(self, pair: PreferencePair, texts: Sequence[CheckedText] | None = None) -> list[Leak]:
        """Return the leaks of one pair; each of its texts is named once, by its closest likeness.

        Args:
            pair: the pair.
            texts: what is compared of its premise, chosen and rejected story, where it is at hand.
        """
        premise, chosen, rejected = texts or (CheckedText.of(pair.prompt, run=1), *map(CheckedText.of, pair.stories))
        found = (
            self._leak(pair, "prompt", premise, "premise", self._premises),
            self._leak(pair, "chosen", chosen, "story", self._stories),
            self._leak(pair, "rejected", rejected, "story", self._stories),
        )
        return [leak for leak in found if leak]

    def _leak(self, pair: PreferencePair, which: str, text: CheckedText, what: str, index: TextIndex) -> Leak | None:
        shown = getattr(pair, which)
        if match := index.find(text.whole):
            number, similarity = int(match.key), round(match.similarity, 3)
        elif passage := self._passages.find(text.words):
            number, what, similarity = passage.key, "passage", 1.0
            # About where it begins: words by which texts are compared are a few more or fewer than those on the page.
            shown = shown[len(shown) * passage.start // max(1, len(text.words)) :]
        else:
            return None
        name, instance_id = self._places[number]
        return Leak(pair.id, which, what, name, instance_id, similarity, " ".join(shown[: 2 * _SHOWN].split())[:_SHOWN])
