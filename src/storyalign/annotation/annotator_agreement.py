"""How far annotators agree with each other, and each with themselves: Krippendorff's alpha and Kendall's tau."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from storyalign.annotation.settling import tau
from storyalign.annotation.verdicts import Verdict
from storyalign.bootstrap import bootstrap_interval
from storyalign.krippendorff_alpha import Level, krippendorff_alpha

DRAWS = 200

Units = Mapping[Hashable, Mapping[str, float]]
"""What was judged -> annotator -> value."""


class Figure(NamedTuple):
    """One estimate: its value, the 95% interval over groups, and how many groups stand behind it."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    """Groups with two verdicts or more."""


def agreement_figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """Sum up the agreement of independent verdicts; figures without any group are left out.

    ``alpha of verdicts`` is nominal over groups with a given answer (modes confirm and human-best). ``alpha of places``
    is ordinal over stories of complete orders, ``alpha of scores`` interval over scored stories, each 1 for perfect
    agreement, 0 for chance, and below 0 for less. ``Kendall's tau`` is the mean over pairs of annotators, then groups.
    """
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.kind == "independent":
            groups[verdict.id].append(verdict)
    shared = {task: own for task, own in groups.items() if len(own) > 1}
    figures = [
        _alpha("alpha of verdicts", shared, _word_units, "nominal"),
        _alpha("alpha of places", shared, _place_units, "ordinal"),
        _alpha("alpha of scores", shared, _score_units, "interval"),
        _tau("Kendall's tau", [[v.ranking for v in own if _ordered(v) and v.ranking] for own in shared.values()]),
    ]
    return [figure for figure in figures if figure.n]


def consistency_figures(verdicts: Sequence[Verdict]) -> list[Figure]:
    """Sum up how far annotators repeat themselves on groups that came back: the same best story, and tau."""
    first = {(v.id, v.annotator): v for v in verdicts if v.kind == "independent"}
    again = [(first[v.id, v.annotator], v) for v in verdicts if v.kind == "check" and (v.id, v.annotator) in first]
    same = np.array([[float(one.best == other.best), 1.0] for one, other in again]).reshape(-1, 2)
    ids = [f"{one.id}/{one.annotator}" for one, _ in again]
    interval = bootstrap_interval(same, ids, lambda totals: totals[:, 0] / totals[:, 1]) if again else None
    low, high = interval or (None, None)
    value = float(same[:, 0].mean()) if again else None
    orders = [[v.ranking for v in pair if v.ranking] for pair in again if all(map(_ordered, pair))]
    figures = [Figure("same best story", value, low, high, len(again)), _tau("Kendall's tau with oneself", orders)]
    return [figure for figure in figures if figure.n]


def alpha(units: Units, level: Level) -> float | None:
    """Return Krippendorff's alpha.

    Args:
        units: values by unit and annotator; units with one value alone say nothing.
        level: of measurement.

    Returns:
        None with no unit of two values, and where all values are equal, as agreement by chance is then perfect too.
    """
    annotators = sorted({who for values in units.values() for who in values})
    table = np.full((len(annotators), len(units)), np.nan)
    for column, values in enumerate(units.values()):
        for who, value in values.items():
            table[annotators.index(who), column] = value
    return krippendorff_alpha(table, level) if units else None


def _alpha(
    name: str, groups: Mapping[str, list[Verdict]], units_of: Callable[[list[Verdict]], Units], level: Level
) -> Figure:
    own = [units for units in map(units_of, groups.values()) if any(len(values) > 1 for values in units.values())]

    def value(picked: Sequence[int]) -> float | None:
        return alpha({(place, key): v for place, i in enumerate(picked) for key, v in own[i].items()}, level)

    if not own:
        return Figure(name, None, None, None, 0)
    generator = np.random.default_rng(0)
    drawn = [value(generator.integers(0, len(own), len(own)).tolist()) for _ in range(DRAWS)] if len(own) > 1 else []
    known = [d for d in drawn if d is not None]
    low, high = (float(q) for q in np.quantile(known, [0.025, 0.975])) if known else (None, None)
    return Figure(name, value(range(len(own))), low, high, len(own))


def _tau(name: str, orders: Sequence[Sequence[Sequence[int]]]) -> Figure:
    means = [fmean(tau(a, b) for a, b in combinations(own, 2)) for own in orders if len(own) > 1]
    columns = np.array([[mean, 1.0] for mean in means]).reshape(-1, 2)
    interval = None
    if means:
        groups = [str(place) for place in range(len(means))]
        interval = bootstrap_interval(columns, groups, lambda totals: totals[:, 0] / totals[:, 1])
    low, high = interval or (None, None)
    return Figure(name, fmean(means) if means else None, low, high, len(means))


def _ordered(verdict: Verdict) -> bool:
    return verdict.verdict != "unsure" and verdict.ranking is not None and len(verdict.ranking) > 1


def _word_units(verdicts: list[Verdict]) -> Units:
    codes = {"confirmed": 0.0, "reordered": 1.0, "unsure": 2.0}
    return {"": {v.annotator: codes[v.verdict] for v in verdicts if v.mode in ("confirm", "human-best")}}


def _place_units(verdicts: list[Verdict]) -> Units:
    units: dict[Hashable, dict[str, float]] = defaultdict(dict)
    for verdict in filter(_ordered, verdicts):
        for place, candidate in enumerate(verdict.ranking or ()):
            units[candidate][verdict.annotator] = float(place)
    return units


def _score_units(verdicts: list[Verdict]) -> Units:
    units: dict[Hashable, dict[str, float]] = defaultdict(dict)
    for verdict in verdicts:
        for candidate, score in enumerate(verdict.scores or ()):
            units[candidate][verdict.annotator] = float(score)
    return units
