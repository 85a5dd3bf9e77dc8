"""How long the stories of a dataset are (Table 9), and which of them a model could not read whole."""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from storyalign.corpus.story_groups import StoryGroup, open_story_groups
from storyalign.tables import Table
from storyalign.text import count_words


class Spread(NamedTuple):
    """Figures of one kind of length, over all stories. They describe the dataset, so there is nothing to estimate."""

    mean: float
    median: float
    p95: int
    """The shortest length that 95% of the stories do not exceed."""
    shortest: int
    longest: int
    total: int

    @property
    def cells(self) -> list[str]:
        """Mean, median, p95 and longest, as a table shows them."""
        return [f"{self.mean:,.0f}", f"{self.median:,.0f}", f"{self.p95:,}", f"{self.longest:,}"]


@dataclass(frozen=True, slots=True)
class Context:
    """Conversations that do not fit into a model's context."""

    limit: int
    n_over: int
    share: float
    n_groups: int
    """Groups with at least one such conversation."""


@dataclass(frozen=True, slots=True)
class DatasetLengths:
    """One row of Table 9, and more of the same."""

    name: str
    n_groups: int
    n_stories: int
    n_withheld: int
    """Stories whose text may not be passed on; not measured."""
    corpora: dict[str, int]
    """Groups by corpus, the largest first."""
    languages: dict[str, int]
    writers: dict[str, int]
    """Stories by writer, the busiest first."""
    words: Spread
    """Words of a story; a Chinese or Japanese character is one."""
    tokenizer: str | None = None
    tokens: Spread | None = None
    """Tokens of a whole conversation: template, premise and story."""
    contexts: list[Context] = field(default_factory=list)

    @property
    def sources(self) -> str:
        """Where the stories are from, in a few words."""
        people = [writer for writer in self.writers if writer == "human"]
        others = len(self.writers) - len(people) - ("unknown" in self.writers)
        made = [*people, f"{others} other writer{'s' if others != 1 else ''}"] if others else people
        return ", ".join([*self.corpora, *made])

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        spreads = {k: v._asdict() if v else None for k, v in (("words", self.words), ("tokens", self.tokens))}
        return {**asdict(self), **spreads, "sources": self.sources}


NOTE = "Words of single stories; a Chinese or Japanese character is one word. The figures describe the whole dataset."


def tables_of(found: Sequence[DatasetLengths]) -> list[Table]:
    """Return one row per dataset, then tokens where they were counted."""
    words = [[one.name, f"{one.n_groups:,}", f"{one.n_stories:,}", *one.words.cells] for one in found]
    tokens = [
        [one.name, *one.tokens.cells, *(f"{100 * c.share:.1f}% ({c.n_over:,})" for c in one.contexts)]
        for one in found
        if one.tokens
    ]
    notes = []
    for one in found:
        languages = ", ".join(f"{name} {n:,}" for name, n in one.languages.items())
        notes.append(f"{one.name}: {one.sources}; languages: {languages}")
        if one.n_withheld:
            notes.append(f"{one.name}: {one.n_withheld:,} stories without a text are not measured")
        notes += [
            f"{one.name}: {c.n_groups:,} groups hold a conversation over {c.limit:,} tokens"
            for c in one.contexts
            if c.n_groups
        ]
    if tokens:
        notes.append(f"Tokenizer {found[0].tokenizer}; a conversation is template, premise and story.")
    heads = ["Dataset", "Instances", "Stories", "Mean words", "Median", "95% up to", "Longest"]
    limits = [f"Over {c.limit:,}" for c in found[0].contexts]
    token_heads = ["Tokens of a conversation", "Mean", "Median", "95% up to", "Longest", *limits]
    return [Table(heads, words), Table(token_heads, tokens, notes=[*notes, NOTE])]


class LengthCounter:
    """Counts while groups pass by; 8 bytes a story are kept.

    Args:
        tokenizer: what to call the tokenizer; None where tokens are not counted.
        limits: contexts to check, in tokens.
    """

    def __init__(self, tokenizer: str | None = None, limits: Sequence[int] = ()):
        self.tokenizer, self.limits = tokenizer, tuple(limits)
        self._groups = self._withheld = 0
        self._words, self._tokens = array("I"), array("I")
        self._corpora, self._languages, self._writers = Counter[str](), Counter[str](), Counter[str]()
        self._groups_over = Counter[int]()

    def add(self, group: StoryGroup, tokens: Sequence[int] = ()) -> None:
        """Count one group.

        Args:
            group: the group.
            tokens: of each conversation, in the order of its stories; empty where they are not counted.
        """
        self._groups += 1
        self._withheld += group.n_withheld
        self._corpora[group.corpus] += 1
        self._languages[group.language] += 1
        self._writers.update(writer or "unknown" for writer in group.writers)
        self._words.extend(map(count_words, group.stories))
        self._tokens.extend(tokens)
        self._groups_over.update(limit for limit in self.limits if any(n > limit for n in tokens))

    def result(self, name: str) -> DatasetLengths | None:
        """Sum up; None without any story."""
        if not self._words:
            return None
        return DatasetLengths(
            name,
            self._groups,
            len(self._words),
            self._withheld,
            dict(self._corpora.most_common()),
            dict(self._languages.most_common()),
            dict(self._writers.most_common()),
            spread(self._words),
            self.tokenizer,
            spread(self._tokens) if self._tokens else None,
            [self._context(limit) for limit in self.limits] if self._tokens else [],
        )

    def _context(self, limit: int) -> Context:
        over = sum(n > limit for n in self._tokens)
        return Context(limit, over, over / len(self._tokens), self._groups_over[limit])


def lengths_of(data: str, config: str | None = None, split: str | None = None) -> DatasetLengths | None:
    """Measure the words of a dataset; None where no story has a text."""
    name, groups = open_story_groups(data, config, split)
    counter = LengthCounter()
    for group in groups:
        counter.add(group)
    return counter.result(name)


def spread(lengths: Sequence[int]) -> Spread:
    """Describe lengths, at least one.

    >>> spread([10, 20, 30, 40])
    Spread(mean=25.0, median=25.0, p95=40, shortest=10, longest=40, total=100)
    """
    ordered = sorted(lengths)
    at95 = ordered[-(-95 * len(ordered) // 100) - 1]
    return Spread(
        statistics.fmean(ordered), float(statistics.median(ordered)), at95, ordered[0], ordered[-1], sum(ordered)
    )


def in_batches(groups: Iterable[StoryGroup], most_stories: int = 64) -> Iterator[list[StoryGroup]]:
    """Gather groups until they hold so many stories: tokenizers are faster on many texts."""
    batch: list[StoryGroup] = []
    stories = 0
    for group in groups:
        batch.append(group)
        stories += len(group.stories)
        if stories >= most_stories:
            yield batch
            batch, stories = [], 0
    if batch:
        yield batch
