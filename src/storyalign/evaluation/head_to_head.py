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
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from storyalign.bootstrap import Floats, share_interval
from storyalign.choices import ranked_highest
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.evaluation.significance import ALPHA, holm
from storyalign.evaluation.strengths import Strength, strengths
from storyalign.records import Instance
from storyalign.tables import NO_FIGURE, Table, bounds, estimate, label, p_value, percent

OUTCOMES = ("win", "tie", "even", "lose")

_ROUNDING = 1e-9
"""Shares of tied choices do not add up exactly; a smaller difference is none."""

Orders = Mapping[str, Sequence[float]]
"""Instance id -> a value for each story, lower is better, equal ones rank alike."""


BY_JUDGES = "In Human-LLM groups people confirmed the best story alone; the order of the others is that of LLM judges."

_NOTE = (
    "Percent of the groups. The scorer whose chosen story stands higher in the reference order wins; tie: both choose "
    "the same story; even: the order ranks both stories alike. p: two-sided sign test over premises, each won by the "
    "scorer with more wins than losses in its groups; Holm over the pairs."
)


class Share(NamedTuple):
    """A share of groups."""

    value: float
    ci: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"share": self.value, "ci": list(self.ci)}


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
        return replace(self, a=self.b, b=self.a, win=self.lose, lose=self.win, n_win=self.n_lose, n_lose=self.n_win)

    @property
    def verdict(self) -> str:
        """Who chooses better, if anyone."""
        if self.p_holm >= ALPHA:
            return "not told apart"
        return f"{label(self.a if self.n_win > self.n_lose else self.b)} chooses better"

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        shares: dict[str, Share | None] = {name: getattr(self, name) for name in OUTCOMES}
        return {**asdict(self), **{name: share and share.to_json() for name, share in shares.items()}}


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


def tables_of(name: str, result: HeadToHead, notes: Sequence[str], signatures: Sequence[str]) -> list[Table]:
    """Return every pair, the matrix of wins where there are more than two scorers, and the strengths.

    Args:
        name: what to call the data.
        result: the duels.
        notes: on the reference and what was left out.
        signatures: of data and scorers.
    """
    duels = [
        [
            *(label(d.a), label(d.b), str(d.n), *(shown(share) for share in (d.win, d.tie, d.even, d.lose))),
            *(p_value(d.p_holm), d.verdict),
        ]
        for d in result.duels
    ]
    title = f"{name}: {result.n} groups with an order"
    if result.n_unordered:
        title += f"\n{result.n_unordered} groups without an order are left out"
    heads = [
        "First",
        "Second",
        "n",
        *(f"{head} (95%)" for head in ("Wins", "Tie", "Even", "Loses")),
        "p (Holm)",
        "Verdict",
    ]
    tables = [Table(heads, duels, title, stacked=2)]
    if len(result.names) > 2:
        matrix = [[label(row), *(_wins(result, row, column) for column in result.names)] for row in result.names]
        names = [label(other)[:13] + "…" if len(label(other)) > 14 else label(other) for other in result.names]
        tables.append(Table(["Wins of the row over the column, %", *names], matrix))
    strengths = [[label(s.name), f"{s.strength:+.2f}", bounds(s.ci)] for s in result.strengths]
    tables.append(Table(["Bradley-Terry", "Strength (log-odds)", "95%"], strengths))
    own = [f"no Bradley-Terry strengths: {result.no_strengths}"] if result.no_strengths else []
    own += [
        f"{label(d.a)} / {label(d.b)}: {d.n_left_out} groups left out, as one has no choice there"
        for d in result.duels
        if d.n_left_out
    ]
    return [*tables, Table([], [], notes=[*own, _NOTE, *notes], signatures=signatures)]


def shown(share: Share | None) -> str:
    """Write a share with its interval."""
    return NO_FIGURE if share is None else estimate(share.value, share.ci)


def _wins(result: HeadToHead, row: str, column: str) -> str:
    win = None if row == column else result.duel(row, column).win
    return "" if row == column else percent(win and win.value)


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
    top = ranked_highest(rewards)
    return [(place in top) / len(top) for place in range(len(rewards))] if top else None


def outcome(a: Sequence[float], b: Sequence[float], order: Sequence[float]) -> tuple[float, float, float, float]:
    """Return the shares of win, tie, even and lose in one group.

    Args:
        a: what the first scorer chooses, as ``choice_shares`` gives it.
        b: likewise the second one.
        order: the reference, lower is better.
    """
    found = dict.fromkeys(OUTCOMES, 0.0)
    for (i, share_a), (j, share_b) in product(enumerate(a), enumerate(b)):
        ahead = order[j] - order[i]
        found["tie" if i == j else "win" if ahead > 0 else "lose" if ahead < 0 else "even"] += share_a * share_b
    return found["win"], found["tie"], found["even"], found["lose"]


def _outcomes(instances: Sequence[Instance], a: ScoredSet, b: ScoredSet, orders: Orders) -> tuple[Floats, list[str]]:
    rows = [
        (item.prompt, outcome(of_a, of_b, orders[item.id]))
        for item in instances
        if (of_a := choice_shares(a.rewards[item.id])) is not None
        and (of_b := choice_shares(b.rewards[item.id])) is not None
    ]
    return np.array([shares for _, shares in rows]).reshape(-1, len(OUTCOMES)), [premise for premise, _ in rows]


def _duel(a: str, b: str, shares: Floats, premises: list[str], n_ordered: int) -> dict[str, Any]:
    n, net = len(shares), dict.fromkeys(premises, 0.0)
    for premise, (win, _, _, lose) in zip(premises, shares, strict=True):
        net[premise] += float(win - lose)
    wins, losses = sum(value > _ROUNDING for value in net.values()), sum(value < -_ROUNDING for value in net.values())
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


def share_of(values: Floats, premises: Sequence[str]) -> Share:
    """Average values between 0 and 1, with the 95% interval of ``share_interval``."""
    return Share(float(values.mean()), share_interval(values, premises))
