"""Premise back-generation (section 3.1, E.2): two human stories of one cluster, one premise made for both afterwards.

A cluster is a genre label or an author's column of one corpus and language. The story with clearly more engagement is
chosen; ties, ratios that are too low and stories that hardly anybody read are left out and counted. The premise enters
the premise pool too.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.llm.prompts import fence_tag, fenced, load_prompt
from storyalign.llm.steps import Request, Row, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.preferences.pair_files import MadePair, distinct
from storyalign.preferences.story_shelf import StoryFacts, StoryShelf
from storyalign.records import PreferencePair
from storyalign.settings import Temperature, checked
from storyalign.text import content_id, digest

NO_ENGAGEMENT = "nobody counted the story's readers"
FEW_READERS = "fewer readers than min_count"
ALONE = "no cluster: neither a category nor an author with another story"
TIED = "drawn pairs with equally many readers"
TOO_CLOSE = "drawn pairs whose reader counts differ by less than min_ratio"

_DRAWS = 8
"""Pairs to draw for each story of a cluster, at most."""
_OPENING = 1_200
"""Characters of a story that stand for a missing abstract."""
_PREMISE_WORDS = (8, 400)


@checked
@dataclass(frozen=True, slots=True)
class BackGeneration:
    """How pairs are drawn."""

    target: int
    """Pairs that are wanted at the end; somewhat more are drawn, as some replies are of no use."""
    min_ratio: float = 2.0
    """The chosen story has at least so many times the readers of the other one."""
    min_count: float = 20.0
    """Stories with fewer readers are not drawn."""
    clusters: tuple[str, ...] = ("category", "author")
    """What makes a cluster."""
    max_uses: int = 2
    """Pairs of one story, at most."""
    spare: float = 0.1
    """Share to draw beyond the target."""
    max_tokens: int = 512
    temperature: Temperature | None = 0.7
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that would let ties through."""
        if self.min_ratio <= 1:
            raise RecipeError(f"back_generation: min_ratio is {self.min_ratio}; expected more than 1")
        if unknown := set(self.clusters) - {"category", "author"}:
            raise RecipeError(f"back_generation: unknown cluster {unknown.pop()!r}; expected category or author")


def plan(shelf: StoryShelf, settings: BackGeneration, tally: Tally) -> Iterator[Row]:
    """Draw pairs and give one row a premise to make, with both stories in it.

    Args:
        shelf: the stories.
        settings: how pairs are drawn.
        tally: counts stories that stay out, and pairs that were drawn and refused.
    """
    drawn = _draw(shelf.facts, settings, tally)
    drawn.sort(key=lambda pair: digest(str(settings.seed), *(shelf.facts[number].id for number in pair[:2])))
    for chosen, rejected, cluster in drawn[: round(settings.target * (1 + settings.spare))]:
        yield _row(shelf.read(chosen), shelf.read(rejected), cluster, settings.seed)


def step(settings: BackGeneration) -> Step:
    """Make the step that writes the premises."""
    prompt = load_prompt("premise_of_two_stories")

    def request(row: Row) -> Request:
        first, second = row["shown"]
        tag = fence_tag((first, second))
        text = prompt.fill(first=fenced("story 1", first, tag), second=fenced("story 2", second, tag))
        return Request(user_message(text), settings.max_tokens, settings.temperature, settings.seed)

    def read(row: Row, reply: str) -> Row:
        least, most = _PREMISE_WORDS
        return {**row, "prompt": read_story(reply, min_words=least, max_words=most)}

    return Step("back_generation", prompt, request, read, tries=2)


def made_pair(row: Row) -> MadePair:
    """Make the pair of a row whose premise was written."""
    chosen, rejected = HumanStory.from_row(row["chosen"]), HumanStory.from_row(row["rejected"])
    pair = PreferencePair(
        id=content_id("pair", row["prompt"], chosen.story, rejected.story),
        prompt=row["prompt"],
        chosen=chosen.story,
        rejected=rejected.story,
        construction="back_generation",
        chosen_writer="human",
        rejected_writer="human",
        corpus=chosen.corpus,
        language=chosen.language,
        license=chosen.license if chosen.license == rejected.license else f"{chosen.license} and {rejected.license}",
        chosen_engagement=chosen.engagement,
        rejected_engagement=rejected.engagement,
    )
    authors = distinct((chosen.author_key, rejected.author_key))
    return MadePair(pair, authors, (chosen.id, rejected.id), row.get("made_by"))


def pool_row(row: Row) -> dict[str, Any]:
    """Make the premise's row of the premise pool."""
    return {
        "id": content_id("premise", row["prompt"]),
        "prompt": row["prompt"],
        "language": row["chosen"]["language"],
        "corpus": row["chosen"]["corpus"],
        "origin": "back_generation",
        "made_by": row.get("made_by"),
    }


def _draw(facts: list[StoryFacts], settings: BackGeneration, tally: Tally) -> list[tuple[int, int, str]]:
    clusters: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, story in enumerate(facts):
        tally.read += 1
        if story.engagement is None:
            tally.drop(NO_ENGAGEMENT, story.id)
        elif story.engagement < settings.min_count:
            tally.drop(FEW_READERS, story.id)
        elif not (keys := _clusters_of(story, settings.clusters)):
            tally.drop(ALONE, story.id)
        else:
            tally.keep()
            for key in keys:
                clusters[key].append(number)
    drawn: list[tuple[int, int, str]] = []
    uses: Counter[int] = Counter()
    seen: set[tuple[int, int]] = set()
    for key in sorted(clusters):
        members = sorted(clusters[key], key=lambda number: facts[number].id)
        rng = random.Random(f"{settings.seed}/{'/'.join(key)}")
        for _ in range(_DRAWS * len(members) if len(members) > 1 else 0):
            first, second = rng.sample(members, 2)
            pair = (min(first, second), max(first, second))
            if pair in seen or max(uses[first], uses[second]) >= settings.max_uses:
                continue
            seen.add(pair)
            more, less = sorted(pair, key=lambda number: -(facts[number].engagement or 0.0))
            high, low = facts[more].engagement or 0.0, facts[less].engagement or 0.0
            if high == low:
                tally.rules[TIED] += 1
            elif high < settings.min_ratio * low:
                tally.rules[TOO_CLOSE] += 1
            else:
                uses.update(pair)
                drawn.append((more, less, key[0]))
    return drawn


def _clusters_of(story: StoryFacts, kinds: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Name the clusters of a story. Reads of one site are not compared with upvotes of another."""
    values = {"category": story.category, "author": story.author_key}
    same = (story.corpus, story.language, story.engagement_kind or "")
    return [(kind, value, *same) for kind in kinds if (value := values[kind])]


def _row(chosen: HumanStory, rejected: HumanStory, cluster: str, seed: int) -> Row:
    row_id = content_id("back", chosen.id, rejected.id)
    shown = [_summary(chosen), _summary(rejected)]
    random.Random(f"{seed}/{row_id}").shuffle(shown)  # the place says nothing about the readers
    return {
        "id": row_id,
        "shown": shown,
        "cluster": cluster,
        "chosen": chosen.to_row(),
        "rejected": rejected.to_row(),
    }


def _summary(story: HumanStory) -> str:
    """Return title and abstract; how the story begins where it has no abstract."""
    return "\n\n".join(filter(None, (story.title, story.abstract or story.story[:_OPENING])))
