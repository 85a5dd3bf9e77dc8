"""Best of N: a scorer chooses one of several stories for a premise (section 5).

Ties and missing rewards count as in every other table: stories that share the highest reward are chosen in equal parts,
and a group with a missing reward has no choice and is counted. One story has to be read or judged all the same: it is
drawn by the texts, never by position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from storyalign.choices import ranked_highest
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.evaluation.head_to_head import Orders, Share, share_of, shown
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.records import Instance
from storyalign.tables import Table, figure, label, percent
from storyalign.text import count_words, digest

Scorer = Callable[[str, Sequence[str]], Iterable[Any]]
"""(premise, stories) -> one reward a story: a number, None where there is none, or a row with ``.reward``."""


class Choice(NamedTuple):
    """What a scorer chooses of the stories for one premise."""

    chosen: int | None
    """Index of the story; None where a story has no reward, since it might have been the best."""
    rewards: tuple[float | None, ...]
    tied: tuple[int, ...]
    """All stories that share the highest reward, the chosen one among them; one where there is no tie."""
    unscored: tuple[int, ...]
    """Stories without a reward."""


def best_of_n(scorer: Scorer, premise: str, stories: Sequence[str]) -> Choice:
    """Return a scorer's choices.

    Nothing is chosen where a story has no reward: it might have been the best. Of equal highest rewards the choice
    falls by a draw that depends on the texts alone, never on the order in which the stories came.

    Args:
        scorer: any callable; see ``Scorer``. What ``storyalign.scoring.reward_models.load_scorer`` gives is one.
        premise: what the stories were written for.
        stories: at least one.

    Raises:
        ValueError: there are no stories, or the scorer gives another number of rewards.

    >>> best_of_n(lambda premise, stories: [len(s) for s in stories], "A lost dog.", ["It came.", "It came home."])
    Choice(chosen=1, rewards=(8.0, 13.0), tied=(1,), unscored=())
    """
    if not stories:
        raise ValueError("no stories to choose from")
    given = [getattr(reward, "reward", reward) for reward in scorer(premise, list(stories))]
    if len(given) != len(stories):
        raise ValueError(f"the scorer gave {len(given)} rewards for {len(stories)} stories")
    return choose(premise, stories, [_number(reward) for reward in given])


def choose(premise: str, stories: Sequence[str], rewards: Sequence[float | None]) -> Choice:
    """Choose by rewards that are there already; see ``best_of_n``."""
    unscored = tuple(place for place, reward in enumerate(rewards) if reward is None)
    tied = ranked_highest(rewards)
    chosen = min(tied, key=lambda place: digest("draw between equal rewards", premise, stories[place]), default=None)
    return Choice(chosen, tuple(rewards), tied, unscored)


def _number(reward: Any) -> float | None:
    if reward is None:
        return None
    value = float(reward)
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class BestOfN:
    """What one scorer's choices look like, over all premises."""

    name: str
    n: int
    """Premises with a choice."""
    n_without: int
    """Premises in which a story has no reward."""
    n_unscored: int
    """Stories without a reward."""
    n_ties: int
    """Premises in which several stories share the highest reward."""
    words: float | None
    """Mean words of the chosen stories; of a tie, the mean of the tied ones."""
    words_all: float
    """Mean words of all stories that could be chosen."""
    n_ordered: int
    """Premises with a choice and a reference order; the figures below are of these."""
    best: Share | None
    """Share of choices that nothing stands above in the order."""
    best_by_chance: float | None
    beats: Share | None
    """Chance that the choice stands above another story of its group drawn at random; equal rank counts half."""
    place: float | None
    """Mean place of the choice, 1 is best; equal ranks share the mean of their places."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        shares = {"best": self.best and self.best.to_json(), "beats": self.beats and self.beats.to_json()}
        return {**asdict(self), **shares}


def choices_of(instances: Sequence[Instance], scored: ScoredSet) -> dict[str, Choice]:
    """Return a scorer's choice in every group."""
    return {i.id: choose(i.prompt, i.stories, scored.rewards[i.id]) for i in instances}


def sum_up(instances: Sequence[Instance], scored: ScoredSet, orders: Orders | None = None) -> BestOfN:
    """Describe a scorer's choices, and measure them against a reference order where there is one.

    Args:
        instances: the groups.
        scored: the scorer's rewards.
        orders: instance id -> a value for each story, lower is better.
    """
    choices = choices_of(instances, scored)
    chosen = [(i, c.tied) for i in instances if (c := choices[i.id]).tied]
    ordered = [(i, orders[i.id], tied) for i, tied in chosen if orders and i.id in orders]
    premises = [i.prompt for i, _, _ in ordered]
    # Stories that share the highest reward are chosen in equal parts, so each figure is a mean over them.
    places = [float(stats.rankdata(order)[list(tied)].mean()) for _, order, tied in ordered]
    best = [sum(order[place] == min(order) for place in tied) / len(tied) for _, order, tied in ordered]
    # With k stories a place of p means that k - p of the k - 1 others stand below, equal ones by halves.
    beats = [(len(order) - p) / (len(order) - 1) for (_, order, _), p in zip(ordered, places, strict=True)]
    by_chance = [list(order).count(min(order)) / len(order) for _, order, _ in ordered]
    words = [math.fsum(count_words(i.stories[place]) for place in tied) / len(tied) for i, tied in chosen]
    all_words = [count_words(story) for i in instances for story in i.stories]
    return BestOfN(
        name=scored.name,
        n=len(chosen),
        n_without=len(instances) - len(chosen),
        n_unscored=sum(len(c.unscored) for c in choices.values()),
        n_ties=sum(len(c.tied) > 1 for c in choices.values()),
        words=math.fsum(words) / len(words) if words else None,
        words_all=math.fsum(all_words) / len(all_words),
        n_ordered=len(ordered),
        best=share_of(np.array(best), premises) if best else None,
        best_by_chance=math.fsum(by_chance) / len(by_chance) if by_chance else None,
        beats=share_of(np.array(beats), premises) if beats else None,
        place=math.fsum(places) / len(places) if places else None,
    )


def choice_rows(instances: Sequence[Instance], scored_sets: Sequence[ScoredSet]) -> Iterator[dict[str, Any]]:
    """Yield one JSON row per scorer and group: the chosen story, and what the choice rests on."""
    for scored in scored_sets:
        for item in instances:
            choice = choose(item.prompt, item.stories, scored.rewards[item.id])
            yield {
                "id": item.id,
                "scorer": scored.name,
                "premise": item.prompt,
                "story": None if choice.chosen is None else item.stories[choice.chosen],
                "reward": None if choice.chosen is None else choice.rewards[choice.chosen],
                "n": len(item.stories),
                "n_tied": len(choice.tied),
                "n_unscored": len(choice.unscored),
                "signature": scored.digest,
            }


def table_of(
    data: EvaluationSet, figures: Sequence[BestOfN], reference: str | None, signatures: Sequence[str]
) -> Table:
    """Return one row per scorer: what it chose, and how good that is where there is an order.

    Args:
        data: the groups.
        figures: one per scorer.
        reference: whose order it is.
        signatures: of data and scorers.
    """
    sizes = [len(i.stories) for i in data.instances]
    n_stories = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    ordered = next((one for one in figures if one.n_ordered), None)
    rows = [
        [
            *(label(one.name), str(one.n), str(one.n_ties), str(one.n_unscored), figure(one.words, ",.0f")),
            *([shown(one.best), shown(one.beats), figure(one.place)] if ordered else []),
        ]
        for one in figures
    ]
    heads = ["Scorer", "Choices", "Ties", "Unscored", "Mean words"]
    notes = [f"Mean words of all stories: {figures[0].words_all:,.0f}."]
    if ordered:
        heads += ["Best one chosen (95%)", "Beats another (95%)", "Mean place"]
        by_chance = sum(1 + size for size in sizes) / 2 / len(sizes)
        notes.append(
            f"Percent of {ordered.n_ordered} premises; reference: {reference}. By chance: best one "
            f"{percent(ordered.best_by_chance)}, beats another 50.0, mean place {by_chance:.2f}. Beats another: the "
            "chance that the choice stands above another story of its group, equal rank by halves."
        )
    notes += [
        f"{label(one.name)}: {one.n_without} premises without any reward, so without a choice"
        for one in figures
        if one.n_without
    ]
    notes += [f"left out: {reason} ({n})" for reason, n in data.dropped.items()]
    title = f"{data.name}: best of {n_stories} stories for {len(sizes)} premises"
    return Table(heads, rows, title, notes, signatures)
