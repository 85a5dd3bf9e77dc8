"""Many stories on disk with a few facts of each in memory, so that a construction can draw among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from storyalign.corpus.human_story import HumanStory
from storyalign.errors import DataError
from storyalign.files import read_jsonl
from storyalign.records import BadRow
from storyalign.text import count_words, digest


class StoryFacts(NamedTuple):
    """What is kept in memory of one story: some 300 bytes."""

    id: str
    file: int
    offset: int
    """Byte in the file at which its line begins."""
    words: int
    has_premise: bool
    """Whether it has a prompt, or a title and an abstract."""
    category: str | None
    author_key: str | None
    engagement: float | None
    engagement_kind: str | None
    corpus: str
    language: str


class StoryShelf:
    """Stories of several JSONL files, by number.

    Raises:
        RowError: a row is no story; names file, line and id.
        DataError: an id stands twice, or there is no story.
    """

    def __init__(self, paths: Sequence[str | Path]):
        self._paths = [Path(path) for path in paths]
        self.facts: list[StoryFacts] = []
        seen: set[str] = set()
        for number, path in enumerate(self._paths):
            for line in read_jsonl(path):
                try:
                    story = HumanStory.from_row(line.row)
                except BadRow as error:
                    raise line.error(str(error)) from error
                if story.id in seen:
                    raise line.error("another story has this id")
                seen.add(story.id)
                self.facts.append(_facts(story, number, line.offset))
        if not self.facts:
            raise DataError(f"{', '.join(map(str, paths)) or 'stories'}: no stories; import some first")

    def __len__(self) -> int:
        """Count the stories."""
        return len(self.facts)

    def read(self, number: int) -> HumanStory:
        """Read one story from its file."""
        facts = self.facts[number]
        with self._paths[facts.file].open("rb") as handle:
            handle.seek(facts.offset)
            return HumanStory.from_row(orjson.loads(handle.readline().removeprefix(b"\xef\xbb\xbf")))

    def shuffled(self, seed: str) -> Iterator[int]:
        """Yield all numbers in an order that depends on the ids and the seed alone, not on the files' order."""
        yield from sorted(range(len(self)), key=lambda number: digest(seed, self.facts[number].id))


def premise_of(story: HumanStory) -> str:
    """Return what a story was written for: its prompt, else its title and abstract, else nothing."""
    if story.prompt.strip():
        return story.prompt.strip()
    return f"{story.title}\n\n{story.abstract}".strip() if story.title and story.abstract else ""


def _facts(story: HumanStory, file: int, offset: int) -> StoryFacts:
    return StoryFacts(
        story.id,
        file,
        offset,
        count_words(story.story),
        bool(premise_of(story)),
        story.category,
        story.author_key,
        story.engagement,
        story.engagement_kind,
        story.corpus,
        story.language,
    )
