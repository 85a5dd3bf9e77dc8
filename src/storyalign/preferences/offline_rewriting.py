"""Rewriting without an LLM: the sample's offline edits on human stories; other stories of the shelf lend lines."""

from __future__ import annotations

from collections.abc import Iterator

from storyalign.corpus.human_story import HumanStory
from storyalign.corpus.tally import Tally
from storyalign.preferences import rewriting
from storyalign.preferences.offline_edits.operators import HELD_OUT, OPERATORS, edit_near
from storyalign.preferences.offline_edits.text import Tale
from storyalign.preferences.pair_files import MadePair
from storyalign.preferences.rewriting import Rewriting
from storyalign.preferences.story_shelf import StoryShelf, premise_of
from storyalign.text import digest, script_language

NO_EDIT = "no offline edit applies to the story"
_DONORS = 6
_LANGUAGES = ("en", "zh")


def offline_pairs(shelf: StoryShelf, settings: Rewriting, tally: Tally) -> Iterator[MadePair | tuple[str, str]]:
    """Edit stories until the target is met; a story that cannot be edited is given as ``(reason, id)``.

    Args:
        shelf: the stories; a few of the same language lend sentences and names to each edit.
        settings: target, lengths and edit distances; the kinds belong to the LLM.
        tally: counts stories that were never tried.
    """
    names = [
        n for group, edits in OPERATORS.items() for n in edits if n not in HELD_OUT[group] and group != "relevance"
    ]
    order = list(shelf.shuffled(f"offline/{settings.seed}"))
    left = settings.target
    for place, number in enumerate(order):
        if not left:
            return
        facts = shelf.facts[number]
        if not facts.has_premise:
            tally.drop(rewriting.NO_PREMISE, facts.id)
            continue
        if not settings.min_words <= facts.words <= settings.max_words:
            tally.drop(rewriting.LENGTH, facts.id)
            continue
        made = _edited(shelf.read(number), names, _donors(shelf, order, place), settings)
        left -= isinstance(made, MadePair)
        yield made


def _edited(story: HumanStory, names: list[str], donors: list[Tale], settings: Rewriting) -> MadePair | tuple[str, str]:
    tale, reason = _tale(story), NO_EDIT
    for name in sorted(names, key=lambda n: digest(str(settings.seed), story.id, n)):
        edit = edit_near(name, tale, donors, f"{settings.seed}/{story.id}", tries=4)
        if edit is None:
            continue
        if why := rewriting.refused(story.story, edit.story, settings):
            reason = why
            continue
        return rewriting.pair_of(story, tale.premise, edit.story, f"kit-edit:{name}", name, None)
    return reason, story.id


def _donors(shelf: StoryShelf, order: list[int], place: int) -> list[Tale]:
    language = shelf.facts[order[place]].language
    others = (order[(place + step) % len(order)] for step in range(1, min(len(order), 200)))
    same = (number for number in others if shelf.facts[number].language == language)
    return [_tale(shelf.read(number)) for number, _ in zip(same, range(_DONORS), strict=False)]


def _tale(story: HumanStory) -> Tale:
    language = story.language if story.language in _LANGUAGES else script_language(story.story)
    return Tale(premise_of(story), story.story, language, story.category or "")
