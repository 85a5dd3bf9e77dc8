"""Shortcuts in a set of groups: cues that give the answers away.

Each null scorer is asked how far it gets. Its distance from chance is tested by simulation: under the null hypothesis
the cue knows nothing of the choice, so the chosen story is among the ``t`` stories that share the top of its ``k`` with
probability ``t / k``. Groups of one premise share one draw (they win or lose together), which makes the test
conservative. A cue is flagged when its p-value times the number of cues is below ``ALPHA`` and its accuracy is at least
``MIN_EXCESS`` away from chance, in either direction: a cue that never holds is a shortcut too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storyalign.accuracy import DIMENSIONS, by_name, chance, chosen_places, credit
from storyalign.audit.null_scorers import NULL_SCORERS, null_rewards
from storyalign.audit.reward_bias import GroupRewards, RewardBias, audit_rewards
from storyalign.audit.reward_bias import tables_of as bias_tables
from storyalign.audit.writer_balance import writer_balance, writers_table
from storyalign.bootstrap import Floats, summarize_over_premises
from storyalign.records import Instance
from storyalign.tables import Table, interval, label, p_value, percent

ALPHA = 0.05
MIN_EXCESS = 0.05
SIMULATIONS = 20_000
CUES = {
    "longest": "length",
    "shortest": "length",
    "most_bursty": "burstiness",
    "most_prompt_overlap": "overlap with the prompt",
}
"""Null scorer -> the cue that it uses; the others use none."""


@dataclass(frozen=True, slots=True)
class NullResult:
    """How far one null scorer gets."""

    name: str
    accuracy: float
    ci: list[float]
    n: int
    n_ties: int
    p_value: float | None
    """Two-sided, already multiplied by the number of cues; None where there is nothing to test."""
    flagged: bool
    by_dimension: dict[str, float]
    """Accuracy on the groups of each dimension that occurs."""


@dataclass(frozen=True, slots=True)
class ShortcutReport:
    """Everything found in one set, and in one scorer's rewards where there are some."""

    n: int
    n_premises: int
    chance: float
    null_scorers: list[NullResult]
    writers: dict[str, Any]
    """The balance of writers, as ``WriterBalance.to_json`` returns it."""
    scorer: RewardBias | None
    flags: list[str]
    """One sentence for each shortcut found."""
    untested: list[str]
    """One sentence for each cue that this set cannot show."""

    @property
    def verdict(self) -> str:
        """What the absence of flags means; empty where there are flags, or nothing could be tested."""
        if self.flags or all(null.p_value is None for null in self.null_scorers):
            return ""
        return "no shortcut found" + (" among the cues that could be tested" if self.untested else "")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def tables_of(report: ShortcutReport) -> list[Table]:
    """Return how far the null scorers get, the balance of writers, and what the scorer leans on."""
    rows = [
        [
            *(label(r.name), percent(r.accuracy), interval(r.ci), str(r.n), str(r.n_ties), p_value(r.p_value)),
            "flagged" if r.flagged else "",
        ]
        for r in report.null_scorers
    ]
    title = f"{report.n} groups over {report.n_premises} premises, chance {percent(report.chance)}%"
    nulls = Table(["Null scorer", "Accuracy", "95%", "n", "Ties", "p (corrected)", ""], rows, title)
    bias = [] if report.scorer is None else bias_tables(report.scorer)
    return [nulls, writers_table({"": report.writers}), *bias]


def audit_shortcuts(
    instances: Sequence[Instance], rewards: GroupRewards | None = None, name: str = "scorer"
) -> ShortcutReport:
    """Look for shortcuts in a set, and in a scorer's rewards on it.

    Args:
        instances: at least one.
        rewards: the scorer's rewards, for every instance.
        name: what to call the scorer.
    """
    by_guess = chance([len(i.stories) for i in instances]) or 0.0
    nulls = [_null_result(null, instances, by_guess) for null in NULL_SCORERS]
    scorer = None if rewards is None else audit_rewards(instances, rewards, name)
    flags = [_flag(result, by_guess) for result in nulls if result.flagged]
    alike = dict.fromkeys(cue for r in nulls if r.p_value is None and (cue := CUES.get(r.name)))
    untested = [f"{cue} could not be tested: the stories of a group never differ in it" for cue in alike]
    return ShortcutReport(
        n=len(instances),
        n_premises=len({i.prompt for i in instances}),
        chance=by_guess,
        null_scorers=nulls,
        writers=writer_balance(instances).to_json(),
        scorer=scorer,
        flags=flags + ([] if scorer is None else scorer.flags),
        untested=untested + ([] if scorer is None else scorer.untested),
    )


def _null_result(name: str, instances: Sequence[Instance], by_guess: float) -> NullResult:
    given = [null_rewards(name, instance) for instance in instances]
    places = [chosen_places(rewards, 0) or 0 for rewards in given]
    summary = summarize_over_premises(places, [i.prompt for i in instances])
    p = None
    if name in CUES and any(len(set(rewards)) > 1 for rewards in given):
        tied = np.array([rewards.count(max(rewards)) for rewards in given], dtype=float)
        p = min(1.0, _p_value(places, tied, instances) * len(CUES))
    parts = by_name(places, [i.dimension for i in instances], DIMENSIONS)
    return NullResult(
        name=name,
        accuracy=summary["accuracy"],
        ci=summary["ci"],
        n=summary["n"],
        n_ties=summary["n_ties"],
        p_value=p,
        flagged=p is not None and p < ALPHA and abs(summary["accuracy"] - by_guess) >= MIN_EXCESS,
        by_dimension={dimension: part["accuracy"] for dimension, part in parts.items()},
    )


def _p_value(places: Sequence[int], tied: Floats, instances: Sequence[Instance]) -> float:
    """Test by simulation whether the chosen story stands at the top as often as any other."""
    size = np.array([len(i.stories) for i in instances], dtype=float)
    numbers: dict[str, int] = {}
    premise = np.array([numbers.setdefault(i.prompt, len(numbers)) for i in instances])
    observed = abs(sum(float(credit(place)) for place in places) - (1 / size).sum())
    generator = np.random.default_rng(0)
    extreme, chunk = 0, 1000
    for _ in range(SIMULATIONS // chunk):
        draw = generator.random((chunk, len(numbers)))[:, premise]
        excess = np.where(draw < tied / size, 1 / tied, 0.0).sum(axis=1) - (1 / size).sum()
        extreme += int((np.abs(excess) >= observed - 1e-9).sum())
    return (extreme + 1) / (SIMULATIONS + 1)


def _flag(result: NullResult, by_guess: float) -> str:
    scorer = label(result.name)
    how = "reaches" if result.accuracy > by_guess else "falls to"
    farthest = max(result.by_dimension.items(), key=lambda item: abs(item[1] - by_guess), default=None)
    where = f", {percent(farthest[1])}% on {farthest[0]}" if farthest else ""
    return (
        f"the null scorer '{scorer}' {how} {percent(result.accuracy)}% where chance is {percent(by_guess)}% "
        f"(n={result.n}, p={result.p_value:.2g} after correction{where}): "
        "the cue tells the chosen story from the others"
    )
