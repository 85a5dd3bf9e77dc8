"""What a scorer leans on: length and burstiness, whatever the better stories happen to be like.

* The *length gap*: how much more often the chosen story beats a rejected one that is shorter than one that is longer.
  Flagged from ``MIN_GAP`` with ``MIN_PAIRS`` on both sides.
* The *length-matched accuracy*: top-1 against those rejected stories alone that are within ``TOLERANCE`` of the chosen
  one's length.
* The *correlation* of reward with length and with burstiness: Spearman's inside each group, averaged over the groups,
  beside the same figure for the gold choice. Flagged when it goes beyond the gold one by ``MIN_EXTRA`` or more.

Both flags need a 95% interval (bootstrap over premises) that leaves out zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storyalign.accuracy import chance, chosen_places, credit
from storyalign.audit.surface import surface_cues
from storyalign.bootstrap import Floats, bootstrap_interval, summarize_over_premises
from storyalign.records import Instance

TOLERANCE = 0.10
MIN_GAP = 0.20
MIN_PAIRS = 10
MIN_EXTRA = 0.20

GroupRewards = Mapping[str, Sequence[float | None]]
"""Instance id -> one reward a story, None where there is none."""


@dataclass(frozen=True, slots=True)
class LengthGap:
    """Pairs of the chosen and one rejected story, by which of them is longer; each a summary of accuracies."""

    shorter_rejected: dict[str, Any]
    matched: dict[str, Any]
    longer_rejected: dict[str, Any]
    gap: float | None
    """Accuracy against shorter rejected stories minus accuracy against longer ones, -1 to 1."""
    ci: tuple[float, float] | None
    flagged: bool


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation of reward and cue inside the groups, averaged over them."""

    rho: float | None
    ci: tuple[float, float] | None
    gold: float | None
    """The same for the gold choice, 1 for the chosen story and 0 for the others."""
    n: int
    """Groups in which reward and cue both vary."""
    flagged: bool


@dataclass(frozen=True, slots=True)
class RewardBias:
    """What one scorer leans on."""

    name: str
    overall: dict[str, Any]
    length_matched: dict[str, Any]
    """With the ``chance`` of these smaller groups."""
    length_gap: LengthGap
    correlation: dict[str, Correlation]
    """By cue: ``length``, ``burstiness``."""

    @property
    def flags(self) -> list[str]:
        """One sentence for each bias found."""
        found = []
        gap = self.length_gap
        if gap.flagged and gap.gap is not None:
            found.append(
                f"{self.name}: the chosen story beats shorter rejected ones in "
                f"{100 * gap.shorter_rejected['accuracy']:.1f}% of pairs and longer ones in "
                f"{100 * gap.longer_rejected['accuracy']:.1f}%: the reward leans on length"
            )
        found += [
            f"{self.name}: reward and {cue} correlate at {c.rho:.2f} inside the groups, the gold choice and {cue} at "
            f"{c.gold:.2f} (n={c.n}): the reward leans on {cue}"
            for cue, c in self.correlation.items()
            if c.flagged
        ]
        return found


def audit_rewards(instances: Sequence[Instance], rewards: GroupRewards, name: str) -> RewardBias:
    """Measure what a scorer's rewards lean on.

    Args:
        instances: at least one.
        rewards: rewards for every instance; a group with a missing one counts as unscored.
        name: what to call the scorer.
    """
    cues = {i.id: [surface_cues(story, i.language) for story in i.stories] for i in instances}
    words = {key: [cue.words for cue in group] for key, group in cues.items()}
    bursts = {key: [cue.burstiness for cue in group] for key, group in cues.items()}
    return RewardBias(
        name=name,
        overall=_top1(instances, [rewards[i.id] for i in instances]),
        length_matched=_length_matched(instances, rewards, words),
        length_gap=_length_gap(instances, rewards, words),
        correlation={
            "length": _correlation(instances, rewards, words),
            "burstiness": _correlation(instances, rewards, bursts),
        },
    )


def _top1(instances: Sequence[Instance], groups: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    places = [chosen_places(group, 0) for group in groups]
    summary = summarize_over_premises(places, [i.prompt for i in instances])
    return {**summary, "chance": chance([len(group) for group in groups])}


def _length_matched(
    instances: Sequence[Instance], rewards: GroupRewards, words: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    kept, groups = [], []
    for instance in instances:
        own, given = words[instance.id], rewards[instance.id]
        matched = [j for j in range(1, len(own)) if _side(own[0], own[j]) == 0]
        if matched:
            kept.append(instance)
            groups.append([given[0], *(given[j] for j in matched)])
    return _top1(kept, groups)


def _side(chosen: int, rejected: int) -> int:
    """Return whether the rejected story is shorter (-1), as long within the tolerance (0), or longer (1)."""
    difference = rejected - chosen
    return 0 if abs(difference) <= TOLERANCE * chosen else 1 if difference > 0 else -1


def _length_gap(instances: Sequence[Instance], rewards: GroupRewards, words: Mapping[str, Sequence[int]]) -> LengthGap:
    pairs: dict[int, list[tuple[int | None, str]]] = {-1: [], 0: [], 1: []}
    columns, premises = [], []
    for instance in instances:
        own, given = words[instance.id], rewards[instance.id]
        for j in range(1, len(own)):
            place, side = chosen_places([given[0], given[j]], 0), _side(own[0], own[j])
            pairs[side].append((place, instance.prompt))
            if place is not None and side != 0:
                won, sides = float(credit(place)), (float(side < 0), float(side > 0))
                columns.append((won * sides[0], sides[0], won * sides[1], sides[1]))
                premises.append(instance.prompt)
    shorter, matched, longer = (summarize_over_premises(*_unzip(pairs[side])) for side in (-1, 0, 1))
    if shorter["accuracy"] is None or longer["accuracy"] is None:
        return LengthGap(shorter, matched, longer, None, None, False)
    gap = shorter["accuracy"] - longer["accuracy"]
    ci = bootstrap_interval(np.array(columns), premises, lambda t: t[:, 0] / t[:, 1] - t[:, 2] / t[:, 3])
    enough = min(part["n"] - part["n_unscored"] for part in (shorter, longer)) >= MIN_PAIRS
    return LengthGap(shorter, matched, longer, gap, ci, enough and abs(gap) >= MIN_GAP and _leaves_out_zero(ci))


def _unzip(pairs: Sequence[tuple[int | None, str]]) -> tuple[list[int | None], list[str]]:
    return [place for place, _ in pairs], [premise for _, premise in pairs]


def _correlation(
    instances: Sequence[Instance], rewards: GroupRewards, cue: Mapping[str, Sequence[float]]
) -> Correlation:
    rows, premises = [], []
    for instance in instances:
        given = [reward for reward in rewards[instance.id] if reward is not None]
        own = cue[instance.id]
        if len(given) == len(own) and len(set(given)) > 1 and len(set(own)) > 1:
            gold = [1.0, *(0.0 for _ in own[1:])]
            rows.append((_spearman(given, own), _spearman(gold, own), 1.0))
            premises.append(instance.prompt)
    if not rows:
        return Correlation(None, None, None, 0, False)
    columns = np.array(rows)
    rho, gold_rho = columns[:, 0].mean(), columns[:, 1].mean()
    extra = bootstrap_interval(columns, premises, lambda t: (t[:, 0] - t[:, 1]) / t[:, 2])
    flagged = abs(rho) > abs(gold_rho) and abs(rho - gold_rho) >= MIN_EXTRA and _leaves_out_zero(extra)
    ci = bootstrap_interval(columns, premises, lambda t: t[:, 0] / t[:, 2])
    return Correlation(float(rho), ci, float(gold_rho), len(rows), bool(flagged))


def _spearman(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def _ranks(values: Sequence[float]) -> Floats:
    """Rank values, equal ones at their mean rank."""
    array = np.asarray(values, dtype=float)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    equal = (array[:, None] == array[None, :]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2, dtype=float)


def _leaves_out_zero(ci: tuple[float, float] | None) -> bool:
    return ci is not None and (ci[0] > 0 or ci[1] < 0)
