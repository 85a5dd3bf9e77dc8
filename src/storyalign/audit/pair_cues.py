"""What tells chosen from rejected without reading: for each surface cue, how often the chosen story has more of it.

A rule that looks at one cue alone ("the longer story is chosen") should be right half of the time. Where it is not, a
reward model can learn the cue instead of the story. Rules are stated, not fitted, so the share needs no test set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from storyalign.accuracy import wilson_interval
from storyalign.audit.writer_balance import WriterBalance
from storyalign.records import PreferencePair
from storyalign.tables import Table
from storyalign.text import beyond_ascii, count_words

CUES = ("words", "paragraphs", "quotation marks a word", "dashes a word", "commas a word", "exclamations a word")
LENGTH = "words"

_MARKS = (
    (('"',), "“”„«»「」『』"),
    ((" - ", "--"), "—–"),
    ((",",), "，、"),
    (("!",), "！"),
)
"""Quotation marks, dashes, commas, exclamation marks, as in ``CUES``: in ASCII, and beyond."""


class CueRule(NamedTuple):
    """How a rule that knows one cue does on the pairs of one construction."""

    cue: str
    n: int
    accuracy: float
    """Share of pairs whose chosen story has more of the cue; ties count half."""
    ties: int

    @property
    def best(self) -> float:
        """Accuracy of the better of both rules, "more is chosen" and "less is chosen"."""
        return max(self.accuracy, 1 - self.accuracy)

    @property
    def rule(self) -> str:
        """The better rule in words."""
        return f"{'more' if self.accuracy >= 0.5 else 'fewer'} {self.cue}"

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of ``best`` (Wilson)."""
        return wilson_interval(self.best, self.n)


@dataclass(slots=True)
class PairCues:
    """Counts over pairs, by construction."""

    pairs: Counter[str] = field(default_factory=Counter)
    more: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    ties: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    writers: defaultdict[str, WriterBalance] = field(default_factory=lambda: defaultdict(WriterBalance))

    def add(self, pair: PreferencePair) -> tuple[int, int]:
        """Count one pair; gives the words of both stories."""
        chosen, rejected = _cues(pair.chosen), _cues(pair.rejected)
        self.pairs[pair.construction] += 1
        self.writers[pair.construction].add(pair.chosen_writer, pair.rejected_writer)
        for cue, a, b in zip(CUES, chosen, rejected, strict=True):
            self.more[pair.construction][cue] += a > b
            self.ties[pair.construction][cue] += a == b
        return int(chosen[0]), int(rejected[0])

    def rules(self, construction: str) -> list[CueRule]:
        """Return the rules of one construction, in the order of ``CUES``."""
        n, more, ties = self.pairs[construction], self.more[construction], self.ties[construction]
        return [CueRule(cue, n, (more[cue] + ties[cue] / 2) / n, ties[cue]) for cue in CUES] if n else []

    def to_json(self) -> dict[str, Any]:
        """Return all rules as a JSON-ready object."""
        return {
            name: [
                {"rule": r.rule, "accuracy": r.best, "ci": list(r.interval), "n": r.n, "n_ties": r.ties}
                for r in self.rules(name)
            ]
            for name in sorted(self.pairs)
        }


def _cues(story: str) -> tuple[float, ...]:
    words = count_words(story)
    paragraphs = sum(1 for line in story.splitlines() if line.strip())
    beyond = beyond_ascii(story)
    marks = (
        (sum(map(story.count, signs)) + sum(map(beyond.count, others))) / max(words, 1) for signs, others in _MARKS
    )
    return (words, paragraphs, *marks)


def table_of(cues: PairCues) -> Table:
    """Return the rule by length and the rule that tells most, of each construction."""
    rows = []
    for name in sorted(cues.pairs):
        rules = cues.rules(name)
        length = next(rule for rule in rules if rule.cue == LENGTH)
        for rule in dict.fromkeys((length, max(rules, key=lambda rule: rule.best))):
            low, high = rule.interval
            rows.append([f"{name}: {rule.rule}", f"{rule.best:.1%}", f"{low:.1%} to {high:.1%}", f"{rule.n:,}"])
    note = "a rule that reads nothing should be near 50%; length, and the cue that tells most, are shown"
    return Table(["construction: rule", "accuracy", "95% interval", "n"], rows, notes=[note])
