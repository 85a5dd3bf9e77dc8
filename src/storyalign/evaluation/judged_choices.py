"""What a judge thinks of the stories that scorers chose (H.3, Table 10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storyalign.bootstrap import bootstrap_interval
from storyalign.evaluation.best_of_n import Choice
from storyalign.evaluation.results import ScorerResult
from storyalign.records import Instance
from storyalign.tables import Table, bounds, estimate, figure, interval, label, percent

Scores = Mapping[tuple[str, str], Mapping[str, float]]
"""(instance id, story) -> the judge's score by criterion; a story whose reply could not be read is left out."""


@dataclass(frozen=True, slots=True)
class JudgedChoices:
    """One row of Table 10."""

    name: str
    score: float | None
    """Mean score of the chosen stories, 1 to 5."""
    ci: tuple[float, float] | None
    """95%, bootstrap over prompts."""
    n: int
    """Prompts with a choice that the judge scored."""
    unscored: int
    """Prompts without a choice, or whose choice the judge did not score."""
    criteria: dict[str, float]
    """Mean score by criterion; ``score`` is their mean."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def chosen_instances(instances: Sequence[Instance], choices: Sequence[Mapping[str, Choice]]) -> list[Instance]:
    """Gather what has to be judged: of each group the stories that at least one scorer chose, each once."""
    gathered = []
    for item in instances:
        places = sorted({c for own in choices if (c := own[item.id].chosen) is not None})
        if places:
            stories = [item.stories[place] for place in places]
            gathered.append(Instance(item.id, item.prompt, stories[0], tuple(stories[1:]), language=item.language))
    return gathered


def judged_choices(
    name: str, instances: Sequence[Instance], choices: Mapping[str, Choice], scores: Scores
) -> JudgedChoices:
    """Average the judge's scores of one scorer's choices.

    Args:
        name: the scorer.
        instances: all groups.
        choices: what the scorer chose in each.
        scores: what the judge gave.
    """
    found = [
        (item.prompt, scores[item.id, item.stories[chosen]])
        for item in instances
        if (chosen := choices[item.id].chosen) is not None and (item.id, item.stories[chosen]) in scores
    ]
    if not found:
        return JudgedChoices(name, None, None, 0, len(instances), {})
    means = {key: math.fsum(own[key] for _, own in found) / len(found) for key in found[0][1]}
    columns = np.array([(math.fsum(own.values()) / len(own), 1.0) for _, own in found])
    ci = bootstrap_interval(columns, [premise for premise, _ in found], lambda totals: totals[:, 0] / totals[:, 1])
    return JudgedChoices(name, float(columns[:, 0].mean()), ci, len(found), len(instances) - len(found), means)


PAPER_JUDGE = (
    "The paper's own judge is right in 94% of LLM-LLM and 54% of Human-LLM groups, 76% over both: more than the 75% of "
    "the model that it is used to judge."
)


def table_of(
    title: str, rows: Sequence[JudgedChoices], criteria: Sequence[str], caveat: str, signatures: Sequence[str]
) -> Table:
    """Return one row per scorer: the mean score of its choices, and by criterion."""
    cells = [
        [
            *(label(row.name), figure(row.score), bounds(row.ci, ".2f"), str(row.n), str(row.unscored)),
            *(figure(row.criteria.get(name)) for name in criteria),
        ]
        for row in rows
    ]
    heads = ["Scorer", "Mean score", "95%", "Prompts", "Unscored", *(name.capitalize() for name in criteria)]
    return Table(heads, cells, title, [caveat], signatures)


def caveat_of(judge: ScorerResult | None) -> str:
    """Return how far a judge can be trusted, by its own result on the benchmark where it was measured."""
    if judge is None:
        return f"How often this judge agrees with people was not measured (--benchmark). {PAPER_JUDGE}"
    parts = [
        f"{label(name)} {estimate(part['accuracy'], part['ci'], '[]')}, n={part['n']}"
        for name, part in judge.by_source.items()
    ]
    return (
        f"On the benchmark the judge itself is right in {percent(judge.accuracy)}% [{interval(judge.ci)}] of {judge.n} "
        f"groups ({'; '.join(parts) or 'no sources'}; {judge.n_ties} ties, {judge.n_unscored} unscored). "
        f"Trust the table no further than that. {PAPER_JUDGE}"
    )
