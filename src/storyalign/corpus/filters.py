"""Which rows an import keeps: by length, language, engagement, licence, and what came before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from storyalign.corpus.duplicates import TextIndex
from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.records import Instance, PreferencePair
from storyalign.text import content_id, count_words

Row = TypeVar("Row", HumanStory, PreferencePair, Instance)

TOO_SHORT = "a story shorter than the minimum"
TOO_LONG = "a story longer than the maximum"
LANGUAGE = "another language"
NO_ENGAGEMENT = "engagement unknown"
LITTLE_ENGAGEMENT = "engagement below the minimum"
LICENCE = "another licence"
CUT = "a story that ends in mid-sentence"
EXACT = "an exact duplicate"
NEAR = "a near duplicate"
SAME_ROW = "the same id and texts as an earlier row"

ENDINGS = frozenset(".!?…。！？~*”’\"')]}」』）》")
"""A story whose last character is one of these is taken as whole."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a row must be to stay.

    Raises:
        RecipeError: the bounds exclude every story.
    """

    min_words: int = 1
    max_words: int | None = None
    languages: frozenset[str] = field(default_factory=frozenset)
    """Empty: all."""
    min_engagement: float | None = None
    """Stories alone; a story whose engagement is unknown goes too."""
    licenses: frozenset[str] = field(default_factory=frozenset)
    """Lower case; empty: all."""
    whole: bool = False
    """Every story must end with the end of a sentence."""
    exact_duplicates: bool = True
    """Leave out what has the same words as an earlier row."""
    near_duplicates: float | None = None
    """Leave out what is this similar to an earlier row (see ``duplicates``); None: keep it."""

    def __post_init__(self) -> None:
        """Check the bounds."""
        if self.max_words is not None and self.max_words < self.min_words:
            raise RecipeError(f"no story has at least {self.min_words} and at most {self.max_words} words")

    def reason(self, row: HumanStory | PreferencePair | Instance) -> str | None:
        """Return why a row goes, looking at it alone; None where it stays."""
        stories = _texts(row)[1:]
        if self.languages and row.language not in self.languages:
            return f"{LANGUAGE}: {row.language}"
        if self.licenses and row.license.lower() not in self.licenses:
            return f"{LICENCE}: {row.license}"
        if isinstance(row, HumanStory) and self.min_engagement is not None:
            if row.engagement is None:
                return NO_ENGAGEMENT
            if row.engagement < self.min_engagement:
                return LITTLE_ENGAGEMENT
        if self.min_words > 1 or self.max_words is not None:
            lengths = [count_words(story) for story in stories]
            if min(lengths) < self.min_words:
                return TOO_SHORT
            if self.max_words is not None and max(lengths) > self.max_words:
                return TOO_LONG
        return CUT if self.whole and not all(story.rstrip()[-1:] in ENDINGS for story in stories) else None


def _texts(row: HumanStory | PreferencePair | Instance) -> tuple[str, ...]:
    """Return the prompt and the stories."""
    return (row.prompt, row.story) if isinstance(row, HumanStory) else (row.prompt, *row.stories)


def keep(rows: Iterable[Row], filters: Filters, tally: Tally) -> Iterator[Row]:
    """Yield the rows that stay, each with an id of its own; the others are taken back from the tally with a reason.

    Rows are compared by their stories: those of a pair or group together, so that one story may stand in several.
    The first of several duplicates stays. Ids may restart in every file of a source, or repeat: a later row of the
    same id gets a digest of its texts behind it. With the same texts, too, it is the same row and dropped.
    """
    compares = filters.exact_duplicates or filters.near_duplicates is not None
    seen = TextIndex(filters.near_duplicates)
    ids: dict[str, int] = {}
    for row in rows:
        texts = _texts(row)
        if reason := filters.reason(row):
            tally.take_back(reason, row.id)
            continue
        if compares and (match := seen.find_or_add(row.id, "\n".join(texts[1:]))):
            tally.take_back(EXACT if match.exact else NEAR, f"{row.id} = {match.key}")
            continue
        if row.id in ids:
            own = content_id(row.id, *texts)
            if ids[row.id] == hash(texts) or own in ids:
                tally.take_back(SAME_ROW, row.id)
                continue
            tally.renamed[row.id] += 1
            kept: Row = replace(row, id=own)
        else:
            kept = row
        ids[kept.id] = hash(texts)
        yield kept
