"""Bradley-Terry strengths of many scorers from all their duels, fitted by evalica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from storyalign.bootstrap import MIN_PREMISES, Floats, percentile_interval, premise_totals

DRAWS = 400

Pairs = Mapping[tuple[str, str], tuple[Floats, list[str]]]
"""(a, b) -> shares of win, tie, even, lose in each group, shape (groups, 4), and the premise of each group."""


class Strength(NamedTuple):
    """How often a scorer's choices win, over all opponents."""

    name: str
    strength: float
    """Log-odds, 0 being the mean of all scorers; a beats b with the sigmoid of the difference."""
    ci: tuple[float, float] | None
    """95%, bootstrap over premises; None with fewer than ``MIN_PREMISES``."""


def strengths(names: Sequence[str], pairs: Pairs) -> tuple[list[Strength], str | None]:
    """Fit one strength a scorer; a tie, and stories that the reference ranks alike, count as half a win for each side.

    Args:
        names: the scorers.
        pairs: each pair once.

    Returns:
        Strengths, the highest first, or none and the reason: without a loss, or without a win, a strength has no bound.
    """
    totals = np.array([shares.sum(axis=0) for shares, _ in pairs.values()])
    fitted = _fit(names, list(pairs), totals)
    if fitted is None:
        return [], "a scorer, or a set of them, never lost to the others or never won: its strength has no bound"
    premises = sorted({premise for _, own in pairs.values() for premise in own})
    drawn: Floats | None = None
    if len(premises) >= MIN_PREMISES:
        columns = np.zeros((len(premises), 4 * len(pairs)))
        places = {premise: place for place, premise in enumerate(premises)}
        for at, (shares, own) in enumerate(pairs.values()):
            np.add.at(columns[:, 4 * at : 4 * at + 4], [places[premise] for premise in own], shares)
        draws = premise_totals(columns, premises, DRAWS).reshape(DRAWS, len(pairs), 4)
        fits = [_fit(names, list(pairs), draw) for draw in draws]
        drawn = np.array([np.full(len(names), np.nan) if fit is None else fit for fit in fits])
    found = [
        Strength(name, float(fitted[i]), None if drawn is None else percentile_interval(drawn[:, i], len(premises)))
        for i, name in enumerate(names)
    ]
    return sorted(found, key=lambda s: -s.strength), None


def _fit(names: Sequence[str], pairs: Sequence[tuple[str, str]], totals: Floats) -> Floats | None:
    """Fit log strengths with mean 0 in the order of the names; None where they have no bound."""
    import evalica
    from scipy.sparse.csgraph import connected_components

    place = {name: i for i, name in enumerate(names)}
    beats = np.zeros((len(names), len(names)))
    xs: list[str] = []
    ys: list[str] = []
    winners: list[Any] = []
    weights: list[float] = []
    for (a, b), (win, tie, even, lose) in zip(pairs, totals, strict=True):
        draw = tie + even
        beats[place[a], place[b]] += win + draw
        beats[place[b], place[a]] += lose + draw
        outcomes = (evalica.Winner.X, win), (evalica.Winner.Draw, draw), (evalica.Winner.Y, lose)
        for winner, weight in outcomes:
            if weight > 0:
                xs.append(a)
                ys.append(b)
                winners.append(winner)
                weights.append(float(weight))
    if connected_components(beats > 0, directed=True, connection="strong")[0] > 1:
        return None
    result = evalica.bradley_terry(xs, ys, winners, weights=weights, limit=1000)
    logs = np.log(result.scores.reindex(list(names)).to_numpy(dtype=float))
    return np.asarray(logs - logs.mean(), dtype=float)
