"""Top-1 accuracy over groups of candidates: the scoring rule, in the standard library alone.

A group is right when the chosen story gets the highest reward of all candidates (section 4.1). What the paper leaves
open is settled here:

* **Ties.** Equal float64 rewards are a tie, the smallest difference is none. A chosen story that shares the top with
  k - 1 others earns 1/k (``tie_policy="split"``, the value expected from a fair draw) or nothing (``"strict"``).
* **Unscored.** A reward that is None, NaN or infinite is missing. One missing reward makes the whole group unscored:
  without it nobody knows which candidate is on top. Unscored groups never count as wins, losses or ties; a second
  figure counts them as wrong.
* **Intervals.** Wilson's, 95%, with the mean credit as proportion and the scored groups as trials. The interval of the
  macro figure joins those of the dimensions (MOVER; Zou & Donner 2008), so it does not collapse at 0 or 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any, TypeVar

DIMENSIONS = ("coherence", "creativity", "characterization", "fluency", "relevance")
"""The five dimensions, in the order of the paper's Table 1."""

SOURCES = ("human_llm", "llm_llm")
"""Who wrote the chosen and the rejected stories."""

TIE_POLICIES = ("split", "strict")

T = TypeVar("T")


def top1_report(
    predictions: Iterable[Iterable[Any] | None],
    references: Iterable[Any],
    dimensions: Iterable[Any] | None = None,
    sources: Iterable[Any] | None = None,
    *,
    tie_policy: str = "split",
    dimension_names: Sequence[str] = DIMENSIONS,
    source_names: Sequence[str] = SOURCES,
) -> dict[str, Any]:
    """Score every group and sum up: overall, by dimension and by source.

    Args:
        predictions: rewards, one list a group with one number a candidate; 2 or more candidates, any mix of sizes.
            None, NaN and infinity are missing rewards; None in place of a list is a group that nobody scored.
        references: the index of the chosen story in each group.
        dimensions: a name or a ClassLabel integer a group; None, NaN or a negative integer where there is none.
        sources: likewise.
        tie_policy: ``split`` or ``strict``.
        dimension_names: the known names; an integer is an index into them.
        source_names: likewise.

    Returns:
        Unrounded fractions. ``accuracy`` is the mean credit over the scored groups, ``ci`` its interval; ``n`` counts
        all groups, ``n_ties`` those whose chosen story shares the top, ``n_unscored`` those left out of ``accuracy``.
        ``accuracy_unscored_wrong`` and ``ci_unscored_wrong`` count these as wrong. ``macro_accuracy`` and ``macro_ci``
        are over the dimensions that have a scored group. ``by_dimension`` and ``by_source`` hold ``accuracy``, ``ci``,
        ``n``, ``n_ties`` and ``n_unscored`` for each name that occurs; a group without a name counts in neither.
        ``chance`` is the mean of 1 / candidates. A figure without any group behind it is None.

    Raises:
        ValueError: lengths differ, a group has fewer than 2 candidates, a reward is not a number, a reference is out of
            range, a name or the tie policy is unknown. The message names the position.

    >>> report = top1_report([[2.0, 1.0], [1.0, 1.0], [0.5, None]], [0, 0, 0])
    >>> report["accuracy"], report["n"], report["n_ties"], report["n_unscored"]
    (0.75, 3, 1, 1)
    """
    if tie_policy not in TIE_POLICIES:
        raise ValueError(f"tie_policy is {tie_policy!r}; expected one of {', '.join(TIE_POLICIES)}")
    groups = clean_predictions(predictions)
    chosen = clean_references(references, groups)
    places = [chosen_places(group, index) for group, index in zip(groups, chosen, strict=True)]
    dimension_of = clean_names(dimensions, dimension_names, "dimensions", len(groups))
    source_of = clean_names(sources, source_names, "sources", len(groups))
    by_dimension = by_name(places, dimension_of, dimension_names, tie_policy)
    by_source = by_name(places, source_of, source_names, tie_policy)
    macro, macro_ci = macro_average([part for part in by_dimension.values() if part["accuracy"] is not None])
    as_wrong = summarize([0 if place is None else place for place in places], tie_policy)
    return {
        **summarize(places, tie_policy),
        "accuracy_unscored_wrong": as_wrong["accuracy"],
        "ci_unscored_wrong": as_wrong["ci"],
        "macro_accuracy": macro,
        "macro_ci": macro_ci,
        "chance": chance([len(group) for group in groups if group is not None]),
        "by_dimension": by_dimension,
        "by_source": by_source,
        "tie_policy": tie_policy,
    }


def chosen_places(rewards: Sequence[float | None] | None, reference: int) -> int | None:
    """Return how many candidates share the top with the chosen one, itself included.

    Returns:
        1 for a clear win, k for a tie of k at the top, 0 when another candidate is higher, None when a reward is
        missing.

    >>> chosen_places([0.1, 0.7, 0.7], 1), chosen_places([0.1, 0.7, 0.7], 0), chosen_places([0.1, None], 0)
    (2, 0, None)
    """
    if rewards is None:
        return None
    known = [reward for reward in rewards if reward is not None and math.isfinite(reward)]
    if len(known) < len(rewards):
        return None
    top = max(known)
    return known.count(top) if known[reference] == top else 0


def credit(places: int, tie_policy: str = "split") -> Fraction:
    """Turn places at the top into credit between 0 and 1."""
    if places == 0 or (tie_policy == "strict" and places > 1):
        return Fraction(0)
    return Fraction(1, places)


def summarize(places: Sequence[int | None], tie_policy: str = "split") -> dict[str, Any]:
    """Sum up groups, each given by its ``chosen_places``: ``accuracy``, ``ci``, ``n``, ``n_ties``, ``n_unscored``."""
    scored = Counter(place for place in places if place is not None)
    n_scored = scored.total()
    # Exact fractions: the order of the groups never moves the last digit, and equal thirds give one third.
    total = sum((count * credit(place, tie_policy) for place, count in scored.items()), Fraction(0))
    accuracy = float(total / n_scored) if n_scored else None
    return {
        "accuracy": accuracy,
        "ci": None if accuracy is None else list(wilson_interval(accuracy, n_scored)),
        "n": len(places),
        "n_ties": sum(count for place, count in scored.items() if place > 1),
        "n_unscored": len(places) - n_scored,
    }


def by_name(
    places: Sequence[int | None], names: Sequence[str | None], order: Sequence[str], tie_policy: str = "split"
) -> dict[str, dict[str, Any]]:
    """Sum up the groups of each name that occurs; names come in the given order."""
    groups: dict[str, list[int | None]] = {}
    for place, name in zip(places, names, strict=True):
        if name is not None:
            groups.setdefault(name, []).append(place)
    return {name: summarize(groups[name], tie_policy) for name in order if name in groups}


def wilson_interval(proportion: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval (without continuity correction) of a proportion of ``n`` trials.

    Raises:
        ValueError: there is no trial, or the proportion lies outside 0 to 1.

    >>> [round(bound, 4) for bound in wilson_interval(0.25, 100)]
    [0.1755, 0.343]
    """
    return score_interval(proportion, n, NormalDist().inv_cdf(0.5 + confidence / 2))


def score_interval(proportion: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the score interval of a proportion of ``n`` trials, which may be an effective, fractional number.

    Raises:
        ValueError: there is less than one trial, or the proportion lies outside 0 to 1.
    """
    if n < 1 or not 0 <= proportion <= 1:
        raise ValueError(f"no interval for a proportion of {proportion} in {n} trials")
    z2 = quantile**2
    middle = (proportion + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (proportion * (1 - proportion) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and 1 one bound is the proportion itself; rounding must not push it past.
    return min(proportion, max(0.0, middle - half)), max(proportion, min(1.0, middle + half))


def macro_average(parts: Sequence[dict[str, Any]]) -> tuple[float | None, list[float] | None]:
    """Average the accuracies of parts, each part with the same weight, with a 95% interval.

    The bounds lie at the root of the summed squares of the parts' own distances to their bounds, divided by the number
    of parts (method of variance estimates recovery, Zou & Donner 2008).
    """
    if not parts:
        return None, None
    mean = math.fsum(part["accuracy"] for part in parts) / len(parts)
    below = math.hypot(*(part["accuracy"] - part["ci"][0] for part in parts)) / len(parts)
    above = math.hypot(*(part["ci"][1] - part["accuracy"] for part in parts)) / len(parts)
    return mean, [max(0.0, mean - below), min(1.0, mean + above)]


def chance(sizes: Sequence[int]) -> float | None:
    """Return the accuracy expected from drawing: the mean of 1 / candidates.

    >>> chance([4, 4, 2])
    0.3333333333333333
    """
    return float(sum((Fraction(1, size) for size in sizes), Fraction(0)) / len(sizes)) if sizes else None


def clean_predictions(predictions: Iterable[Iterable[Any] | None]) -> list[list[float | None] | None]:
    """Check rewards and turn them into floats, missing ones into None.

    Raises:
        ValueError: a group is no list or has fewer than 2 candidates; a reward is not a number.
    """
    groups: list[list[float | None] | None] = []
    for i, group in enumerate(predictions):
        if group is None:
            groups.append(None)
            continue
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ValueError(f"predictions[{i}] is {group!r}; expected a list of rewards, one a candidate")
        rewards = [_reward(value, f"predictions[{i}][{j}]") for j, value in enumerate(group)]
        if len(rewards) < 2:
            raise ValueError(f"predictions[{i}] has {len(rewards)} candidate(s); a choice needs at least 2")
        groups.append(rewards)
    return groups


def clean_references(references: Iterable[Any], groups: Sequence[Sequence[Any] | None]) -> list[int]:
    """Check the chosen indices against the groups they point into.

    Raises:
        ValueError: there are more or fewer than groups; one is no integer or out of range.
    """
    indices = _as_many(references, len(groups), "references")
    for i, (value, group) in enumerate(zip(indices, groups, strict=True)):
        index = plain_value(value)
        if isinstance(index, bool) or not isinstance(index, int):
            raise ValueError(f"references[{i}] is {value!r}; expected the index of the chosen candidate")
        if index < 0 or (group is not None and index >= len(group)):
            size = "" if group is None else f" among {len(group)} candidates"
            raise ValueError(f"references[{i}] is {index}{size}; indices start at 0")
        indices[i] = index
    return indices


def clean_names(values: Iterable[Any] | None, names: Sequence[str], what: str, n: int) -> list[str | None]:
    """Turn names and ClassLabel integers into names: trimmed, lower case, None where there is none.

    Raises:
        ValueError: there are more or fewer than ``n``, or one is unknown.

    >>> clean_names([" Fluency ", 0, None], DIMENSIONS, "dimensions", 3)
    ['fluency', 'coherence', None]
    """
    if values is None:
        return [None] * n
    return [_name(plain_value(value), names, f"{what}[{i}]") for i, value in enumerate(_as_many(values, n, what))]


def _name(value: Any, names: Sequence[str], where: str) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value < len(names):
        return names[value] if value >= 0 else None  # a ClassLabel column marks "no label" with a negative integer
    for name in names:
        if isinstance(value, str) and value.strip().casefold() == name.casefold():
            return name
    raise ValueError(f"{where} is {value!r}; expected one of {', '.join(names)}, or None where there is none")


def _reward(value: Any, where: str) -> float | None:
    number = plain_value(value)
    if number is None:
        return None
    try:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError
        reward = float(number)
    except (TypeError, OverflowError):
        raise ValueError(f"{where} is {value!r}; expected a number, or None where there is no reward") from None
    return reward if math.isfinite(reward) else None


def plain_value(value: Any) -> Any:
    """Unwrap a numpy or torch scalar, so that its integers and bools are Python's."""
    item: Callable[[], Any] | None = getattr(value, "item", None)
    try:
        return value if item is None else item()
    except (ValueError, RuntimeError):  # an array of several numbers is no scalar; the caller names the place
        return value


def _as_many(values: Iterable[T], n: int, what: str) -> list[T]:
    listed = list(values)
    if len(listed) != n:
        raise ValueError(f"{len(listed)} {what} for {n} predictions; expected one a group")
    return listed
