"""Prompt-guided rewriting (section 3.1, E.3): a human story against itself with one thing made worse.

Each kind of rewriting lowers one named dimension and keeps the rest. Only a part of the story is rewritten where the
kind allows it, and the rest stays letter for letter. A rewriting that changes too little or too much, or that is much
longer or shorter, is dropped with its reason. Without an LLM the offline edits of the sample do the same work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.tally import Tally
from storyalign.errors import MissingExtraError, RecipeError
from storyalign.llm.prompts import fence_tag, fenced, load_prompt
from storyalign.llm.steps import Request, Row, RowDropped, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.preferences.cuts import part
from storyalign.preferences.pair_files import MadePair, distinct
from storyalign.preferences.story_shelf import StoryShelf, premise_of
from storyalign.records import PreferencePair
from storyalign.settings import Temperature, checked
from storyalign.text import content_id, count_words, digest


class Kind(NamedTuple):
    """One kind of rewriting."""

    dimension: str
    """What it lowers."""
    first: float
    last: float
    """Which part of the story is rewritten, as shares of its characters."""
    task: str
    """What the prompt asks for."""


KINDS: Mapping[str, Kind] = {
    "beginning": Kind(
        "coherence", 0.0, 0.25,
        "Change how the story begins so that it prepares for another story than the one that follows: it raises "
        "questions that nobody takes up again, and promises what never comes.",
    ),
    "middle": Kind(
        "coherence", 0.35, 0.65,
        "Change what happens here so that it no longer follows from what came before and no longer leads to what "
        "comes after. Each sentence stays sensible by itself.",
    ),
    "ending": Kind(
        "creativity", 0.8, 1.0,
        "Give the story the ending that a reader expects first: everything is settled in haste, feelings are named, "
        "and somebody draws the lesson.",
    ),
    "outcome": Kind(
        "coherence", 0.75, 1.0,
        "Turn the outcome round by a stroke of luck that nothing has prepared, against what the people have done and "
        "wanted until then.",
    ),
    "plot_point": Kind(
        "coherence", 0.45, 0.75,
        "Replace the decisive turn in this part by another event that makes what follows hard to explain. Names and "
        "places stay.",
    ),
    "tone": Kind(
        "fluency", 0.3, 0.7,
        "Tell the same events in a tone that does not fit them: chatty where it was grave, solemn where it was light.",
    ),
    "motive": Kind(
        "characterization", 0.3, 0.75,
        "Let people do the same things for other reasons, reasons that do not suit them and that change from one "
        "paragraph to the next.",
    ),
    "causal_order": Kind(
        "coherence", 0.3, 0.8,
        "Tell the same events in an order in which effects come before their causes, as if it were the natural order.",
    ),
    "style": Kind(
        "fluency", 0.3, 0.8,
        "Tell the same events in overladen prose: two adjectives where one would do, worn-out comparisons, sentences "
        "that begin and end alike.",
    ),
    "inner_life": Kind(
        "characterization", 0.3, 0.8,
        "Leave out what people think, feel, notice and wish, or let them announce it in plain words. What they do and "
        "say stays.",
    ),
    "simpler_language": Kind(
        "fluency", 0.25, 0.8,
        "Tell the same events in short, flat main sentences and the most common words, without images and without "
        "rhythm.",
    ),
}  # fmt: skip
"""The kinds of E.3, each with the dimension that it lowers."""

NO_PREMISE = "no premise: neither a prompt nor a title with an abstract"
LENGTH = "shorter than min_words or longer than max_words"
NO_PART = "no paragraph or sentence ends where the part should begin or end"
COPY = "nearly a copy: edit distance below min_distance"
NEW_STORY = "nearly a new story: edit distance above max_distance"
LENGTH_CHANGED = "length changed by more than max_length_change"


@checked
@dataclass(frozen=True, slots=True)
class Rewriting:
    """How stories are rewritten."""

    target: int
    kinds: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 1.0))
    """How often each kind is used, relative to the others."""
    per_story: int = 1
    """Rewritings of one story, each of another kind."""
    min_distance: float = 0.02
    max_distance: float = 0.60
    """Bounds of the word-level Levenshtein distance, divided by the words of the longer story."""
    max_length_change: float = 0.25
    """Most by which the words of the whole story may change, as a share."""
    min_words: int = 150
    max_words: int = 6_000
    spare: float = 0.2
    extra_tokens: int = 400
    """Room of a reply beyond what its words take; reasoning models need more."""
    temperature: Temperature | None = 0.8
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse unknown kinds and bounds that nothing can meet."""
        if unknown := sorted(set(self.kinds) - set(KINDS)):
            raise RecipeError(f"rewriting: unknown kind {unknown[0]!r}; expected some of {', '.join(KINDS)}")
        if not self.kinds or min(self.kinds.values()) < 0 or not sum(self.kinds.values()):
            raise RecipeError("rewriting: kinds need weights of 0 or more, one of them above 0")
        if not 0 <= self.min_distance < self.max_distance <= 1:
            raise RecipeError("rewriting: expected 0 <= min_distance < max_distance <= 1")


def plan(shelf: StoryShelf, settings: Rewriting, tally: Tally) -> Iterator[Row]:
    """Yield one row a rewriting, with the whole story in it."""
    left = round(settings.target * (1 + settings.spare))
    for number in shelf.shuffled(f"rewriting/{settings.seed}"):
        if left <= 0:
            return
        tally.read += 1
        facts = shelf.facts[number]
        if not facts.has_premise:
            tally.drop(NO_PREMISE, facts.id)
            continue
        if not settings.min_words <= facts.words <= settings.max_words:
            tally.drop(LENGTH, facts.id)
            continue
        story = shelf.read(number)
        rows = [row for kind in kinds_for(story.id, settings) if (row := _row(story, kind))]
        if not rows:
            tally.drop(NO_PART, facts.id)
            continue
        tally.keep()
        yield from rows[:left]
        left -= len(rows)


def kinds_for(story_id: str, settings: Rewriting) -> list[str]:
    """Draw the kinds of one story, each at most once, by weight."""

    def key(kind: str) -> float:
        # Efraimidis and Spirakis: the largest u ** (1 / weight) are a weighted sample without replacement.
        u = (int(digest(str(settings.seed), story_id, kind)[:13], 16) + 1) / 16**13
        return float(u ** (1 / settings.kinds[kind]))

    weighted = [kind for kind, weight in settings.kinds.items() if weight > 0]
    return sorted(weighted, key=key, reverse=True)[: settings.per_story]


def step(settings: Rewriting) -> Step:
    """Make the step that rewrites one part of a story."""
    prompt = load_prompt("rewrite_worse")

    def request(row: Row) -> Request:
        tag = fence_tag((row["prompt"], row["before"], row["text"], row["after"]))
        text = prompt.fill(
            premise=fenced("premise", row["prompt"], tag),
            before=fenced("before", row["before"] or "(the story begins here)", tag),
            part=fenced("part", row["text"], tag),
            after=fenced("after", row["after"] or "(the story ends here)", tag),
            task=KINDS[row["kind"]].task,
            dimension=KINDS[row["kind"]].dimension,
            words=str(count_words(row["text"])),
        )
        room = 3 * count_words(row["text"]) + settings.extra_tokens
        return Request(user_message(text), room, settings.temperature, settings.seed)

    def read(row: Row, reply: str) -> Row:
        new = read_story(reply)
        chosen, rejected = row["before"] + row["text"] + row["after"], row["before"] + new + row["after"]
        if reason := refused(chosen, rejected, settings):
            raise RowDropped(reason)
        return {**row, "rejected": rejected}

    return Step("rewriting", prompt, request, read, tries=2)


def refused(chosen: str, rejected: str, settings: Rewriting) -> str | None:
    """Return why a rewriting cannot stand beside its story, None where it can."""
    words, others = chosen.split(), rejected.split()
    if count_words(chosen) > len(words):  # Chinese has no spaces
        words, others = list("".join(words)), list("".join(others))
    if abs(len(others) / len(words) - 1) > settings.max_length_change:
        return LENGTH_CHANGED
    distance = edit_distance(words, others)
    return COPY if distance < settings.min_distance else NEW_STORY if distance > settings.max_distance else None


def edit_distance(words: list[str], others: list[str]) -> float:
    """Measure the Levenshtein distance of two lists of words, divided by the longer length: 0 to 1.

    Raises:
        MissingExtraError: rapidfuzz is not installed.
    """
    try:
        from rapidfuzz.distance import Levenshtein
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "rapidfuzz") from error
    return float(Levenshtein.normalized_distance(words, others))


def made_pair(row: Row) -> MadePair:
    """Make the pair of a row that was rewritten."""
    story = HumanStory.from_row({**row["story"], "story": row["before"] + row["text"] + row["after"]})
    return pair_of(story, row["prompt"], row["rejected"], row["made_by"]["model"], row["kind"], row["made_by"])


def pair_of(
    story: HumanStory, premise: str, rejected: str, writer: str, edit: str, made_by: dict[str, Any] | None
) -> MadePair:
    """Make the pair of a story and its rewriting."""
    pair = PreferencePair(
        id=content_id("pair", premise, story.story, rejected),
        prompt=premise,
        chosen=story.story,
        rejected=rejected,
        construction="rewriting",
        chosen_writer="human",
        rejected_writer=writer,
        corpus=story.corpus,
        language=story.language,
        license=story.license,
        edit=edit,
        chosen_engagement=story.engagement,
    )
    return MadePair(pair, distinct((story.author_key,)), (story.id,), made_by)


def _row(story: HumanStory, kind: str) -> Row | None:
    piece = part(story.story, KINDS[kind].first, KINDS[kind].last)
    if piece is None:
        return None
    return {
        "id": content_id("rewriting", story.id, kind),
        "kind": kind,
        "prompt": premise_of(story),
        **piece._asdict(),
        "story": {**story.to_row(), "story": ""},
    }
