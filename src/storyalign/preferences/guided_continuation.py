"""Human-guided continuation (section 3.1, E.4): two continuations of one beginning; one writer saw the true one.

The first part of a human story is the premise. The guided continuation is chosen, the unguided one rejected. Both come
from the same writers in turn, so that no habit of a writer tells them apart, and a guided continuation that copies too
much of the true one is dropped. With ``chosen: human`` the true continuation is chosen itself: the paper's first
attempt, which taught a model surface cues (below 30% on StoryRMB).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from storyalign.corpus.duplicates import comparable_words
from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.llm.prompts import fence_tag, fenced, load_prompt
from storyalign.llm.steps import Request, Row, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.preferences.cuts import cut
from storyalign.preferences.pair_files import MadePair, distinct
from storyalign.preferences.story_shelf import StoryShelf
from storyalign.records import PreferencePair
from storyalign.settings import Temperature, checked
from storyalign.text import content_id, count_words, digest

LENGTH = "shorter than min_words or longer than max_words"
NO_PLACE = "no paragraph or sentence ends where the story should be cut"
NO_TITLE = "no title to write from"
COPIED = "the guided continuation copies more of the true one than copy_cap"
LENGTHS_APART = "one continuation is more than length_ratio times as long as the other"
SAME = "both continuations are the same text"
ONE_SIDED = "one of both continuations is missing"

COPY_RUN = 8
"""A run of so many words that stands in the true continuation too counts as copied."""


@checked
@dataclass(frozen=True, slots=True)
class GuidedContinuation:
    """How stories are cut and continued."""

    target: int
    chosen: Literal["guided", "human"] = "guided"
    """``guided``, or ``human`` for the true continuation."""
    premise: Literal["first_part", "title"] = "first_part"
    """What the unguided writer sees: ``first_part``, or ``title`` as in Table 5."""
    first_part: float = 0.35
    """Share of the story that is its first part."""
    min_words: int = 300
    max_words: int = 6_000
    copy_cap: float = 0.3
    """Most of the guided continuation's runs of eight words that may stand in the true one."""
    length_ratio: float = 1.6
    spare: float = 0.2
    extra_tokens: int = 400
    """Room of a reply beyond what its words take; reasoning models need more."""
    temperature: Temperature | None = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse a share that leaves nothing on one side."""
        if not 0 < self.first_part < 1:
            raise RecipeError(f"guided_continuation: first_part is {self.first_part}; expected a share between 0 and 1")


def plan(shelf: StoryShelf, settings: GuidedContinuation, tally: Tally) -> Iterator[Row]:
    """Cut stories and give one row each; the caller has it continued twice."""
    left = round(settings.target * (1 + settings.spare))
    for number in shelf.shuffled(f"guided/{settings.seed}"):
        if not left:
            return
        tally.read += 1
        facts = shelf.facts[number]
        if not settings.min_words <= facts.words <= settings.max_words:
            tally.drop(LENGTH, facts.id)
            continue
        story = shelf.read(number)
        if settings.premise == "title" and not story.title:
            tally.drop(NO_TITLE, facts.id)
        elif (parts := cut(story.story, settings.first_part)) is None:
            tally.drop(NO_PLACE, facts.id)
        else:
            tally.keep()
            left -= 1
            premise = parts[0].strip() if settings.premise == "first_part" else story.title
            yield {
                "id": content_id("guided", story.id),
                "premise": premise,
                "continuation": parts[1].strip(),
                "words": count_words(parts[1]),
                "story": {**story.to_row(), "story": ""},
            }


def writers_of(row: Row, writers: list[str], seed: int) -> tuple[str, str]:
    """Return the guided and the unguided writer of a row: each pairing, and each the other way round, equally often."""
    number = int(digest(str(seed), row["id"])[:8], 16)
    return writers[number % len(writers)], writers[number // len(writers) % len(writers)]


def step(settings: GuidedContinuation, *, guided: bool) -> Step:
    """Make the step that continues, with or without the true continuation in sight."""
    prompt = load_prompt("continue_with_guide" if guided else "continue_story")

    def request(row: Row) -> Request:
        tag = fence_tag((row["premise"], row["continuation"]))
        values = {"beginning": fenced("beginning", row["premise"], tag), "words": str(row["words"])}
        if guided:
            values["guide"] = fenced("draft", row["continuation"], tag)
        room = 3 * row["words"] + settings.extra_tokens
        return Request(user_message(prompt.fill(**values)), room, settings.temperature, settings.seed)

    def read(row: Row, reply: str) -> Row:
        least = max(20, row["words"] // 4)
        return {**row, "text": read_story(reply, min_words=least, max_words=4 * row["words"] + 200)}

    return Step("guided" if guided else "unguided", prompt, request, read, tries=2)


def made_pair(guided: Row | None, unguided: Row, settings: GuidedContinuation) -> MadePair | str:
    """Make the pair of both continuations, or say why there is none.

    Args:
        guided: the row with the guided continuation; None with ``chosen: human``.
        unguided: the row with the unguided one.
        settings: which is chosen, and how much may be copied.
    """
    story = HumanStory.from_row({**unguided["story"], "story": "-"})
    if settings.chosen == "human":
        chosen, writer = unguided["continuation"], "human"
    elif guided is None:
        return ONE_SIDED
    else:
        chosen, writer = guided["text"], guided["made_by"]["model"]
        if copied_share(chosen, guided["continuation"]) > settings.copy_cap:
            return COPIED
    rejected = unguided["text"]
    if chosen.split() == rejected.split():
        return SAME
    shorter, longer = sorted((count_words(chosen), count_words(rejected)))
    if settings.chosen == "guided" and longer > settings.length_ratio * shorter:
        return LENGTHS_APART
    pair = PreferencePair(
        id=content_id("pair", unguided["premise"], chosen, rejected),
        prompt=unguided["premise"],
        chosen=chosen,
        rejected=rejected,
        construction="guided_continuation",
        chosen_writer=writer,
        rejected_writer=unguided["made_by"]["model"],
        corpus=story.corpus,
        language=story.language,
        license=story.license,
        edit=settings.chosen,
    )
    made_by: Mapping[str, object] = {"chosen": guided and guided.get("made_by"), "rejected": unguided.get("made_by")}
    return MadePair(pair, distinct((story.author_key,)), (story.id,), dict(made_by))


def copied_share(text: str, source: str) -> float:
    """Measure how much of a text is copied: the share of its runs of eight words that stand in the source.

    A text of fewer words is one run.
    """
    runs = _runs(comparable_words(text))
    there = set(_runs(comparable_words(source)))
    return sum(run in there for run in runs) / len(runs)


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + COPY_RUN]) for i in range(max(1, len(words) - COPY_RUN + 1))]
