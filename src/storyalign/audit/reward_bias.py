"""What a scorer leans on: length and burstiness, whatever the better stories happen to be like.

* The *length gap*: how much more often the chosen story beats a rejected one that is shorter than one that is longer.
  Flagged from ``MIN_GAP``; untested without ``MIN_PAIRS`` on both sides.
* The *length-matched accuracy*: top-1 against those rejected stories alone that are within ``TOLERANCE`` of the chosen
  one's length.
* The *correlation* of reward with length and with burstiness: Spearman's inside each group, averaged over the groups,
  beside the same figure for the gold choice. Flagged when it goes beyond the gold one by ``MIN_EXTRA`` or more.

Both flags need a 95% interval (bootstrap over premises) that leaves out zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from storyalign.accuracy import chance, chosen_places, credit
from storyalign.audit.surface import surface_cues
from storyalign.bootstrap import MIN_PREMISES, bootstrap_interval, excludes_zero, summarize_over_premises
from storyalign.records import Instance
from storyalign.tables import Table, bounds, figure, interval, percent

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

    @property
    def pairs(self) -> tuple[int, int]:
        """Scored pairs whose rejected story is shorter, and longer."""
        shorter, longer = (part["n"] - part["n_unscored"] for part in (self.shorter_rejected, self.longer_rejected))
        return shorter, longer


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's rank correlation of reward and cue inside the groups, averaged over them."""

    rho: float | None
    ci: tuple[float, float] | None
    """None where the correlation could not be tested."""
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
        gap = self.length_gap
        found = [
            f"{self.name}: the chosen story beats shorter rejected ones in "
            f"{percent(gap.shorter_rejected['accuracy'])}% of pairs and longer ones in "
            f"{percent(gap.longer_rejected['accuracy'])}%: the reward leans on length"
        ] * gap.flagged
        return found + [
            f"{self.name}: reward and {cue} correlate at {c.rho:.2f} inside the groups, the gold choice and {cue} at "
            f"{c.gold:.2f} (n={c.n}): the reward leans on {cue}"
            for cue, c in self.correlation.items()
            if c.flagged
        ]

    @property
    def untested(self) -> list[str]:
        """One sentence for each bias that these groups cannot show."""
        shorter, longer = self.length_gap.pairs
        found = [
            f"{self.name}: the gap between shorter and longer rejected stories could not be tested: it takes "
            f"{MIN_PAIRS} pairs of each, there are {shorter} and {longer}"
        ] * (min(shorter, longer) < MIN_PAIRS)
        return found + [
            f"{self.name}: reward and {cue} could not be tested: both have to differ in groups of {MIN_PREMISES} "
            f"premises, they do in {c.n} groups"
            for cue, c in self.correlation.items()
            if c.ci is None
        ]


def tables_of(bias: RewardBias) -> list[Table]:
    """Return accuracies by length of the rejected story, and the correlations."""
    gap = bias.length_gap
    parts = (
        ("top-1, all groups", bias.overall, bias.overall["chance"]),
        ("top-1, against stories as long within a tenth", bias.length_matched, bias.length_matched["chance"]),
        ("pairs, rejected story shorter", gap.shorter_rejected, 0.5),
        ("pairs, as long within a tenth", gap.matched, 0.5),
        ("pairs, rejected story longer", gap.longer_rejected, 0.5),
    )
    rows = [
        [name, percent(p["accuracy"]), interval(p["ci"]), str(p["n"]), percent(by_guess)] for name, p, by_guess in parts
    ]
    cues = [
        [f"reward and {cue}", figure(c.rho, "+.2f"), bounds(c.ci), figure(c.gold, "+.2f"), str(c.n)]
        for cue, c in bias.correlation.items()
    ]
    return [
        Table([bias.name, "Accuracy", "95%", "n", "Chance"], rows),
        Table(["Spearman inside the groups", "rho", "95%", "Gold choice", "n"], cues),
    ]


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
    matched = {
        i.id: [place for place, n in enumerate(own) if place == 0 or _side(own[0], n) == 0]
        for i in instances
        if (own := words[i.id])
    }
    kept = [i for i in instances if len(matched[i.id]) > 1]
    return RewardBias(
        name=name,
        overall=_top1(instances, [rewards[i.id] for i in instances]),
        length_matched=_top1(kept, [[rewards[i.id][place] for place in matched[i.id]] for i in kept]),
        length_gap=_length_gap(instances, rewards, words),
        correlation={
            "length": _correlation(instances, rewards, words),
            "burstiness": _correlation(instances, rewards, bursts),
        },
    )


def _top1(instances: Sequence[Instance], groups: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    summary = summarize_over_premises([chosen_places(group, 0) for group in groups], [i.prompt for i in instances])
    return {**summary, "chance": chance([len(group) for group in groups])}


def _side(chosen: int, rejected: int) -> int:
    """Return whether the rejected story is shorter (-1), as long within the tolerance (0), or longer (1)."""
    difference = rejected - chosen
    return 0 if abs(difference) <= TOLERANCE * chosen else 1 if difference > 0 else -1


def _length_gap(instances: Sequence[Instance], rewards: GroupRewards, words: Mapping[str, Sequence[int]]) -> LengthGap:
    pairs = [
        (chosen_places([rewards[i.id][0], reward], 0), i.prompt, _side(words[i.id][0], n))
        for i in instances
        for reward, n in zip(rewards[i.id][1:], words[i.id][1:], strict=True)
    ]
    shorter, matched, longer = (
        summarize_over_premises(
            [place for place, _, own in pairs if own == side], [p for _, p, own in pairs if own == side]
        )
        for side in (-1, 0, 1)
    )
    if shorter["accuracy"] is None or longer["accuracy"] is None:
        return LengthGap(shorter, matched, longer, None, None, False)
    uneven = [(float(credit(place)), premise, side) for place, premise, side in pairs if place is not None and side]
    columns = [(won * (side < 0), side < 0, won * (side > 0), side > 0) for won, _, side in uneven]
    premises = [premise for _, premise, _ in uneven]
    ci = bootstrap_interval(np.array(columns, float), premises, lambda t: t[:, 0] / t[:, 1] - t[:, 2] / t[:, 3])
    found = LengthGap(shorter, matched, longer, shorter["accuracy"] - longer["accuracy"], ci, False)
    flagged = min(found.pairs) >= MIN_PAIRS and abs(found.gap or 0.0) >= MIN_GAP and excludes_zero(ci)
    return replace(found, flagged=flagged)


def _correlation(
    instances: Sequence[Instance], rewards: GroupRewards, cue: Mapping[str, Sequence[float]]
) -> Correlation:
    rows, premises = [], []
    for instance in instances:
        given, own = [reward for reward in rewards[instance.id] if reward is not None], cue[instance.id]
        if len(given) == len(own) and len(set(given)) > 1 and len(set(own)) > 1:
            gold = [1.0] + [0.0] * (len(own) - 1)
            rows.append((_spearman(given, own), _spearman(gold, own), 1.0))
            premises.append(instance.prompt)
    if not rows:
        return Correlation(None, None, None, 0, False)
    columns = np.array(rows)
    rho, gold_rho = float(columns[:, 0].mean()), float(columns[:, 1].mean())
    extra = bootstrap_interval(columns, premises, lambda t: (t[:, 0] - t[:, 1]) / t[:, 2])
    flagged = abs(rho) > abs(gold_rho) and abs(rho - gold_rho) >= MIN_EXTRA and excludes_zero(extra)
    ci = bootstrap_interval(columns, premises, lambda t: t[:, 0] / t[:, 2])
    return Correlation(rho, ci, gold_rho, len(rows), flagged)


def _spearman(x: Sequence[float], y: Sequence[float]) -> float:
    return float(np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1])
