"""What a judge thinks of the stories that scorers chose (H.3, Table 10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storyalign.bootstrap import bootstrap_interval
from storyalign.evaluation.best_of_n import Choice
from storyalign.records import Instance

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
