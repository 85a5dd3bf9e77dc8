"""Two or more scorers on the same groups: tested in pairs, never by two bare percentages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from storyalign.accuracy import DIMENSIONS, chosen_places, credit
from storyalign.bootstrap import MIN_PREMISES, bootstrap_interval, excludes_zero
from storyalign.choices import ranked_highest
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.errors import DataError, RecipeError
from storyalign.evaluation.scored_sets import ScoredSet
from storyalign.evaluation.significance import ALPHA, holm, mcnemar
from storyalign.tables import Table, beginning, label, p_value, percent, points, points_interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scorer ``a`` beside scorer ``b``, on the groups that both have scored."""

    a: str
    b: str
    n: int
    """Groups that both have scored."""
    n_left_out: int
    """Groups that at least one of them has not."""
    accuracy_a: float | None
    accuracy_b: float | None
    """On those ``n`` groups, so it may differ from the scorer's accuracy on its own."""
    difference: float | None
    """``accuracy_a - accuracy_b``."""
    ci: tuple[float, float] | None
    """95% of the difference, bootstrap over premises; None with fewer than ``MIN_PREMISES``."""
    both_right: int
    only_a: int
    only_b: int
    both_wrong: int
    """Strictly: a tie at the top is wrong."""
    p_value: float
    """McNemar's, as it is."""
    p_holm: float
    """Corrected for the number of pairs compared."""
    method: str
    agreement: float | None
    """Share of groups in which both prefer the same story; of a tie, each story with its share."""
    by_dimension: dict[str, dict[str, Any]]
    """Name -> accuracy_a, accuracy_b, n."""
    only_a_ids: list[str]
    only_b_ids: list[str]

    @property
    def told_apart(self) -> bool:
        """True if both the corrected test and the interval of the difference say that the scorers differ."""
        return self.p_holm < ALPHA and excludes_zero(self.ci)

    @property
    def verdict(self) -> str:
        """The finding in one sentence."""
        if self.difference is None:
            return f"{self.a} and {self.b} share no scored group"
        if self.told_apart:
            better, worse = (self.a, self.b) if self.difference > 0 else (self.b, self.a)
            return f"{better} is better than {worse} by {100 * abs(self.difference):.1f} points"
        return f"{self.a} and {self.b} cannot be told apart with these {self.n} groups"

    def details(self, premises: Mapping[str, str], named: int = 5) -> list[str]:
        """Return where the two differ, in lines.

        Args:
            premises: instance id -> premise.
            named: groups to name for each of the two.
        """
        parts = [
            f"{label(name)} {points(part['accuracy_a'] - part['accuracy_b'])} (n={part['n']})"
            for name, part in self.by_dimension.items()
        ]
        lines = [f"by dimension: {', '.join(parts)}"] if parts else []
        for name, ids in ((self.a, self.only_a_ids), (self.b, self.only_b_ids)):
            rest = f", {named} of them" if len(ids) > named else ""
            lines += [f"only {name} is right in {len(ids)}{rest}:"] if ids else []
            lines += [f"  {key}  {beginning(premises[key])}" for key in ids[:named]]
        if self.n_left_out:
            lines.append(f"{self.n_left_out} groups left out: one of the two has not scored them")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values, the verdict among them."""
        return {**asdict(self), "told_apart": self.told_apart, "verdict": self.verdict}


def compare_scorers(
    evaluation_set: EvaluationSet, scored_sets: Sequence[ScoredSet], tie_policy: str = "split"
) -> list[Comparison]:
    """Compare every pair.

    Args:
        evaluation_set: instances with a gold order.
        scored_sets: two or more, with different names.
        tie_policy: how accuracies count ties; the test is always strict.

    Raises:
        RecipeError: fewer than two scorers, or two of one name.
        DataError: the set has no gold order.
    """
    names = [scored.name for scored in scored_sets]
    if len(names) < 2 or len(set(names)) < len(names):
        raise RecipeError(f"a comparison needs at least two scorers with different names, found: {', '.join(names)}")
    if not evaluation_set.has_gold:
        raise DataError(f"{evaluation_set.name}: has no gold order, so nobody is right or wrong")
    pairs = [_compare(evaluation_set, a, b, tie_policy) for a, b in combinations(scored_sets, 2)]
    corrected = holm([pair["p_value"] for pair in pairs])
    return [Comparison(**pair, p_holm=p) for pair, p in zip(pairs, corrected, strict=True)]


def table_of(comparisons: Sequence[Comparison]) -> Table:
    """Return one row per pair."""
    rows = [
        [
            *(c.a, c.b, str(c.n), percent(c.accuracy_a), percent(c.accuracy_b), points(c.difference)),
            *(points_interval(c.ci), str(c.only_a), str(c.only_b)),
            *(p_value(c.p_holm), percent(c.agreement)),
        ]
        for c in comparisons
    ]
    methods = ", ".join(dict.fromkeys(c.method for c in comparisons))
    note = (
        f"McNemar's test ({methods}) on strict correctness, Holm over {len(comparisons)} pair(s); interval of the "
        f"difference in points, bootstrap over premises, none with fewer than {MIN_PREMISES}. Both must speak before "
        "two scorers are told apart."
    )
    heads = ["First", "Second", "n", "First", "Second", "Difference", "95%", "Only 1st", "Only 2nd"]
    return Table([*heads, "p (Holm)", "Same choice"], rows, notes=[note], stacked=2)


def _compare(evaluation_set: EvaluationSet, a: ScoredSet, b: ScoredSet, tie_policy: str) -> dict[str, Any]:
    rows = [
        (i, place_a, place_b)
        for i in evaluation_set.instances
        if (place_a := chosen_places(a.rewards[i.id], 0)) is not None
        and (place_b := chosen_places(b.rewards[i.id], 0)) is not None
    ]
    right_a, right_b = [pa == 1 for _, pa, _ in rows], [pb == 1 for _, _, pb in rows]
    test = mcnemar(right_a, right_b)
    credits = np.array([[float(credit(pa, tie_policy)), float(credit(pb, tie_policy)), 1.0] for _, pa, pb in rows])
    premises = [i.prompt for i, _, _ in rows]
    shared = [_same_top(a.rewards[i.id], b.rewards[i.id]) for i, _, _ in rows]
    return {
        "a": a.name,
        "b": b.name,
        "n": len(rows),
        "n_left_out": len(evaluation_set.instances) - len(rows),
        "accuracy_a": float(credits[:, 0].mean()) if rows else None,
        "accuracy_b": float(credits[:, 1].mean()) if rows else None,
        "difference": float((credits[:, 0] - credits[:, 1]).mean()) if rows else None,
        "ci": bootstrap_interval(credits, premises, lambda t: (t[:, 0] - t[:, 1]) / t[:, 2]) if rows else None,
        "both_right": sum(x and y for x, y in zip(right_a, right_b, strict=True)),
        "only_a": test.only_a,
        "only_b": test.only_b,
        "both_wrong": sum(not x and not y for x, y in zip(right_a, right_b, strict=True)),
        "p_value": test.p_value,
        "method": test.method,
        "agreement": sum(shared) / len(shared) if shared else None,
        "by_dimension": {
            name: {"accuracy_a": float(part[:, 0].mean()), "accuracy_b": float(part[:, 1].mean()), "n": len(part)}
            for name in DIMENSIONS
            if len(part := credits[[n for n, (i, _, _) in enumerate(rows) if i.dimension == name]])
        },
        "only_a_ids": [i.id for (i, _, _), x, y in zip(rows, right_a, right_b, strict=True) if x and not y],
        "only_b_ids": [i.id for (i, _, _), x, y in zip(rows, right_a, right_b, strict=True) if y and not x],
    }


def _same_top(rewards_a: Sequence[float | None], rewards_b: Sequence[float | None]) -> float:
    """Return the chance that both prefer the same story, when each draws from those it ranks highest."""
    top_a, top_b = ranked_highest(rewards_a), ranked_highest(rewards_b)
    return len({*top_a} & {*top_b}) / (len(top_a) * len(top_b))
