"""Scorers against each other by the stories that they choose (section 5, H.2; Figures 3 and 4).

In each group both scorers choose a story. The one whose story stands higher in the reference order wins; the same story
is a tie. Two more things happen that the paper has no word for: different stories that the reference ranks alike are
``even``, and a scorer whose top rewards are tied chooses each of these stories with the same share. So outcomes of one
group are shares that add up to 1.

Groups of one premise are not independent, so a premise is one trial of the sign test: it is won by the scorer that wins
more in its groups, all shares added up, than it loses there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from storyalign.bootstrap import Floats, share_interval
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.evaluation.significance import holm
from storyalign.evaluation.strengths import Strength, strengths
from storyalign.records import Instance

OUTCOMES = ("win", "tie", "even", "lose")

_ROUNDING = 1e-9
"""Shares of tied choices do not add up exactly; a smaller difference is none."""

Orders = Mapping[str, Sequence[float]]
"""Instance id -> a value for each story, lower is better, equal ones rank alike."""


class Share(NamedTuple):
    """A share of groups."""

    value: float
    ci: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Duel:
    """How the choices of scorer ``a`` do against those of scorer ``b``."""

    a: str
    b: str
    n: int
    """Groups in which both chose and that have a reference order."""
    n_left_out: int
    win: Share | None
    tie: Share | None
    even: Share | None
    lose: Share | None
    """None where n is 0."""
    n_premises: int
    """Premises of these groups."""
    n_win: int
    n_lose: int
    """Premises that the sign test counts: those in whose groups one side wins more than it loses."""
    p_value: float
    """Two-sided sign test over premises."""
    p_holm: float

    def turned(self) -> Duel:
        """Return the same duel from the other side."""
        return Duel(
            self.b,
            self.a,
            self.n,
            self.n_left_out,
            self.lose,
            self.tie,
            self.even,
            self.win,
            self.n_premises,
            self.n_lose,
            self.n_win,
            self.p_value,
            self.p_holm,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        row = asdict(self)
        for name in OUTCOMES:
            share: Share | None = getattr(self, name)
            row[name] = None if share is None else {"share": share.value, "ci": list(share.ci)}
        return row


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """All duels of a set of scorers."""

    names: list[str]
    duels: list[Duel]
    """Each pair once, in the order of the names."""
    strengths: list[Strength]
    """One a scorer, the strongest first; empty where they cannot be had."""
    no_strengths: str | None
    """Why there are none."""
    n: int
    """Groups with a reference order."""
    n_unordered: int
    """Groups without one."""

    def duel(self, a: str, b: str) -> Duel:
        """Return a pair from the side of ``a``."""
        for duel in self.duels:
            if (duel.a, duel.b) == (a, b):
                return duel
            if (duel.b, duel.a) == (a, b):
                return duel.turned()
        raise KeyError((a, b))

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "scorers": self.names,
            "n": self.n,
            "n_unordered": self.n_unordered,
            "duels": [duel.to_json() for duel in self.duels],
            "strengths": [s._asdict() for s in self.strengths],
            "no_strengths": self.no_strengths,
        }


def head_to_head(instances: Sequence[Instance], scored_sets: Sequence[ScoredSet], orders: Orders) -> HeadToHead:
    """Compare every pair of scorers.

    Args:
        instances: the groups.
        scored_sets: two or more, with different names.
        orders: the reference; groups without an order are left out and counted.

    Raises:
        RecipeError: fewer than two scorers, or two of one name.
        DataError: no group has an order.
    """
    names = [scored.name for scored in scored_sets]
    if len(names) < 2 or len(set(names)) < len(names):
        raise RecipeError(f"a head-to-head needs two scorers or more with different names, found: {', '.join(names)}")
    ordered = [i for i in instances if i.id in orders]
    if not ordered:
        raise DataError("no group has a reference order, so no choice can win")
    results = {(a.name, b.name): _outcomes(ordered, a, b, orders) for a, b in combinations(scored_sets, 2)}
    duels = [_duel(a, b, shares, premises, len(ordered)) for (a, b), (shares, premises) in results.items()]
    corrected = holm([duel["p_value"] for duel in duels])
    found, why_not = strengths(names, results)
    return HeadToHead(
        names,
        [Duel(**duel, p_holm=p) for duel, p in zip(duels, corrected, strict=True)],
        found,
        why_not,
        len(ordered),
        len(instances) - len(ordered),
    )


def choice_shares(rewards: Sequence[float | None]) -> list[float] | None:
    """Return the share with which a scorer chooses each story: the highest reward, ties in equal parts.

    Returns:
        None where a reward is missing.

    >>> choice_shares([0.1, 0.7, 0.7]), choice_shares([0.1, None])
    ([0.0, 0.5, 0.5], None)
    """
    known = [reward for reward in rewards if reward is not None]
    if len(known) < len(rewards):
        return None
    top = [reward == max(known) for reward in known]
    return [own / sum(top) for own in top]


def outcome(a: Sequence[float], b: Sequence[float], order: Sequence[float]) -> tuple[float, float, float, float]:
    """Return the shares of win, tie, even and lose in one group.

    Args:
        a: what the first scorer chooses, as ``choice_shares`` gives it.
        b: likewise the second one.
        order: the reference, lower is better.
    """
    win = tie = even = lose = 0.0
    for i, share_a in enumerate(a):
        for j, share_b in enumerate(b):
            both = share_a * share_b
            if i == j:
                tie += both
            elif order[i] == order[j]:
                even += both
            elif order[i] < order[j]:
                win += both
            else:
                lose += both
    return win, tie, even, lose


def _outcomes(instances: Sequence[Instance], a: ScoredSet, b: ScoredSet, orders: Orders) -> tuple[Floats, list[str]]:
    rows = [
        (item.prompt, outcome(of_a, of_b, orders[item.id]))
        for item in instances
        if (of_a := choice_shares(a.rewards[item.id])) is not None
        and (of_b := choice_shares(b.rewards[item.id])) is not None
    ]
    return np.array([shares for _, shares in rows]).reshape(-1, len(OUTCOMES)), [premise for premise, _ in rows]


def _duel(a: str, b: str, shares: Floats, premises: list[str], n_ordered: int) -> dict[str, Any]:
    n, net = len(shares), _net_wins(shares, premises)
    wins, losses = sum(value > _ROUNDING for value in net), sum(value < -_ROUNDING for value in net)
    p_value = float(stats.binomtest(wins, wins + losses, 0.5).pvalue) if wins + losses else 1.0
    found = {name: share_of(shares[:, place], premises) if n else None for place, name in enumerate(OUTCOMES)}
    return {
        "a": a,
        "b": b,
        "n": n,
        "n_left_out": n_ordered - n,
        **found,
        "n_premises": len(net),
        "n_win": wins,
        "n_lose": losses,
        "p_value": p_value,
    }


def _net_wins(shares: Floats, premises: Sequence[str]) -> list[float]:
    """Return the wins less the losses of each premise, over its groups."""
    net: dict[str, float] = {}
    for (win, _, _, lose), premise in zip(shares, premises, strict=True):
        net[premise] = net.get(premise, 0.0) + float(win - lose)
    return list(net.values())


def share_of(values: Floats, premises: Sequence[str]) -> Share:
    """Average values between 0 and 1, with the 95% interval of ``share_interval``."""
    return Share(float(values.mean()), share_interval(values, premises))
