"""What a judge thinks of the stories that scorers chose (H.3, Table 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storyalign.bootstrap import bootstrap_interval
from storyalign.evaluation.best_of_n import Choice
from storyalign.records import Instance

Scores = Mapping[tuple[str, str], float | None]
"""(instance id, story) -> the judge's score; None where its reply could not be read."""


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

    def to_json(self) -> dict[str, Any]:
        """Give plain JSON values."""
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
    values, premises = [], []
    for item in instances:
        chosen = choices[item.id].chosen
        score = None if chosen is None else scores.get((item.id, item.stories[chosen]))
        if score is not None:
            values.append(score)
            premises.append(item.prompt)
    if not values:
        return JudgedChoices(name, None, None, 0, len(instances))
    columns = np.column_stack([values, np.ones(len(values))])
    ci = bootstrap_interval(columns, premises, lambda totals: totals[:, 0] / totals[:, 1])
    return JudgedChoices(name, float(np.mean(values)), ci, len(values), len(instances) - len(values))
