"""Open sets with human judgements as one benchmark and one set of pairs that share no premise and no story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from storyalign.corpus.best_of_four import Clear, draw_instances, draw_pairs
from storyalign.corpus.duplicates import TextIndex
from storyalign.corpus.judged_groups import JudgedGroup
from storyalign.corpus.normalise import normalise
from storyalign.corpus.tally import Tally
from storyalign.records import Instance, PreferencePair
from storyalign.text import letters_key

VALIDATION_SHARE = 0.05
"""Of the pairs' premises."""

IN_BENCHMARK = "its premise is in the benchmark"
LEAKS = "a story of the benchmark, or one much like it"
TWICE = "the same stories for the same premise came before"
OTHER_SPLIT = "one of its stories stands in the other split"


@dataclass(slots=True)
class OpenSets:
    """Takes sets one after the other: first all judged groups, then the pairs, as the benchmark decides about these.

    Args:
        seed: of the draw.
    """

    seed: int = 0
    instances: list[Instance] = field(default_factory=list)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)
    """For each source what of its groups is not used, by reason."""
    _for_pairs: list[tuple[JudgedGroup, Clear]] = field(default_factory=list)
    _premises: TextIndex = field(default_factory=lambda: TextIndex(None))
    _stories: TextIndex = field(default_factory=TextIndex)
    _seen: set[tuple[int, ...]] = field(default_factory=set)
    _splits: dict[int, str] = field(default_factory=dict)

    def add_groups(self, source: str, groups: Iterable[JudgedGroup], clear: Clear, corpus: str) -> Tally:
        """Draw groups of four from a set; groups that give none are kept for pairs.

        Returns:
            Counts over groups: kept are those that gave instances or are kept for pairs.
        """
        tally, reasons = Tally(), self.left_out.setdefault(source, Counter())
        for raw in groups:
            tally.read += 1
            tally.keep()
            group = _cleaned(raw, corpus, tally)
            drawn, dropped = draw_instances(group, clear, self.seed)
            reasons.update(dropped)
            if not drawn:
                self._for_pairs.append((group, clear))
            for instance in drawn:
                self.instances.append(instance)
                self._premises.add(instance.id, instance.prompt)
                for story in instance.stories:
                    self._stories.add(instance.id, story)
        return tally

    def pairs_of_groups(self) -> Iterator[PreferencePair]:
        """Yield the pairs of all groups that are not in the benchmark."""
        for group, clear in self._for_pairs:
            pairs, dropped = draw_pairs(group, clear)
            self.left_out.setdefault("pairs of judged groups", Counter()).update(dropped)
            yield from pairs

    def clean_of_benchmark(self, pairs: Iterable[PreferencePair], tally: Tally) -> Iterator[PreferencePair]:
        """Yield the pairs that share nothing with the benchmark, each once and in a split by its premise.

        Args:
            pairs: counted as kept in the tally already.
            tally: takes back what goes.
        """
        for pair in pairs:
            split = "validation" if _share(pair.prompt) < VALIDATION_SHARE else "train"
            if reason := self._reason(pair, split):
                tally.take_back(reason, pair.id)
                continue
            for text in pair.stories:
                self._splits[letters_key(text)] = split
            yield replace(pair, split=split)

    def _reason(self, pair: PreferencePair, split: str) -> str | None:
        if self._premises.find(pair.prompt):
            return IN_BENCHMARK
        if any(self._stories.find(story) for story in pair.stories):
            return LEAKS
        stories = sorted(map(letters_key, pair.stories))
        if any(self._splits.get(story, split) != split for story in stories):
            return OTHER_SPLIT
        content = (letters_key(pair.prompt), *stories)
        if content in self._seen:
            return TWICE
        self._seen.add(content)
        return None


def _cleaned(group: JudgedGroup, corpus: str, tally: Tally) -> JudgedGroup:
    candidates = tuple(
        replace(c, story=None if c.story is None else normalise(c.story, tally.rules) or None) for c in group.candidates
    )
    return replace(group, premise=normalise(group.premise, tally.rules), candidates=candidates, corpus=corpus)


def _share(premise: str) -> float:
    """Return a number from 0 to 1 that depends on the premise's letters alone, so that it has one split for ever."""
    return letters_key(premise) / 2**64
