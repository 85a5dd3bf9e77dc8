"""From rewards to a ranking with win probabilities, and to the warnings that belong beside it. Nothing here draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from story_facts import StoryFacts, story_facts
from story_scorer import Scored

from storyalign.scoring.ranking import length_warning, win_probability
from storyalign.text import same_text


@dataclass(frozen=True, slots=True)
class RankedStory:
    """One story in its place."""

    name: str
    text: str
    scored: Scored
    facts: StoryFacts
    place: int | None
    """1 is best, equal rewards share a place; None for a story without a reward."""
    beats_next: float | None
    """Probability that it is preferred to the story below (Bradley-Terry); None for the last one."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """A premise and its stories, best first, those without a reward last."""

    premise: str
    stories: tuple[RankedStory, ...]
    warnings: tuple[str, ...]
    scorer: str
    signature: str
    learned_from: str = ""
    """What the scorer learned from, in one sentence; empty where it does not say."""

    @property
    def placed(self) -> tuple[RankedStory, ...]:
        """The stories that have a reward."""
        return tuple(story for story in self.stories if story.place is not None)


def rank_stories(
    premise: str,
    names: Sequence[str],
    stories: Sequence[str],
    scored: Sequence[Scored],
    *,
    scorer: str,
    signature: str = "",
    learned_from: str = "",
) -> Ranking:
    """Order stories by reward, highest first; stories with equal rewards keep the order in which they were given.

    Args:
        premise: the writing prompt.
        names: one name a story.
        stories: their texts.
        scored: what the scorer said of each.
        scorer: the scorer's name.
        signature: digest of the scorer's settings, or nothing.
        learned_from: what the scorer learned from, or nothing.
    """
    order = sorted(range(len(stories)), key=lambda i: (-_height(scored[i]), i))
    ranked: list[RankedStory] = []
    for position, i in enumerate(order):
        reward = scored[i].reward
        place: int | None = None
        if reward is not None:
            tied = bool(ranked) and ranked[-1].scored.reward == reward
            place = ranked[-1].place if tied else position + 1
        below = scored[order[position + 1]].reward if position + 1 < len(order) else None
        beats = None if reward is None or below is None else win_probability(reward, below)
        ranked.append(RankedStory(names[i], stories[i], scored[i], story_facts(stories[i]), place, beats))
    return Ranking(premise, tuple(ranked), tuple(find_warnings(ranked)), scorer, signature, learned_from)


def find_warnings(stories: Sequence[RankedStory]) -> list[str]:
    """Return what a reader should know before trusting the order; names of stories stand as they were given."""
    placed = [story for story in stories if story.place is not None]
    warnings = []
    if same_text := _same_text(stories):
        warnings.append(f"{_list(same_text)} are the same text.")
    if cut := [story.name for story in stories if story.scored.truncated]:
        verb = "was" if len(cut) == 1 else "were"
        warnings.append(f"{_list(cut)} {verb} too long for the model, which read only part of it.")
    if tied_by_cut := _tied_by_cut(placed):
        warnings.append(f"{_list(tied_by_cut)} differ, but not in the part that was read: their tie means nothing.")
    rewards = [story.scored.reward or 0.0 for story in placed]
    if by_length := length_warning(rewards, [story.facts.words for story in placed]):
        warnings.append(by_length)
    for story in stories:
        if story.facts.invisible:
            plural = "" if story.facts.invisible == 1 else "s"
            warnings.append(f"{story.name} holds {story.facts.invisible} invisible character{plural}.")
    return warnings


def _height(scored: Scored) -> float:
    return -math.inf if scored.reward is None else scored.reward


def _same_text(stories: Sequence[RankedStory]) -> list[str]:
    for story in stories:
        same = [other.name for other in stories if same_text(other.text) == same_text(story.text)]
        if len(same) > 1:
            return same
    return []


def _tied_by_cut(placed: Sequence[RankedStory]) -> list[str]:
    return [
        story.name
        for story in placed
        if story.scored.truncated
        and any(
            other.scored.truncated and other.scored.reward == story.scored.reward and other.text != story.text
            for other in placed
        )
    ]


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
