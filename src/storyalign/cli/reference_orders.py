"""The order that choices are measured against: files of rankings, raters inside the data, or the data's own order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storyalign.cli.data_options import DataChoice
    from storyalign.corpus.evaluation_sets import EvaluationSet
    from storyalign.corpus.human_rankings import HumanRankings


def load_with_reference(choice: DataChoice, ranks: Sequence[Path]) -> tuple[EvaluationSet, HumanRankings | None]:
    """Load the data and the best reference there is.

    Args:
        choice: the data.
        ranks: files of rankings; they decide where there are any.

    Returns:
        The data, and None where it has no order and no rankings are given.
    """
    from storyalign.corpus.human_rankings import ListedGroup, judged_rankings, read_rankings, stored_order
    from storyalign.corpus.judged_groups import is_judged_group, overall_key, read_judged_groups
    from storyalign.files import read_jsonl

    data = choice.load(needs_gold=False)
    path = Path(choice.data)
    first = next(read_jsonl(path), None) if path.is_file() else None
    judged = list(read_judged_groups(path)) if first is not None and is_judged_group(first.row) else None
    if ranks:
        listed = {i.id: ListedGroup(i.prompt, i.stories) for i in data.instances}
        if judged is not None:
            listed = {g.id: ListedGroup(g.premise, [c.story for c in g.candidates]) for g in judged}
        return data, read_rankings(ranks, listed)
    if not data.has_gold:
        return data, None
    if judged is None or choice.assume_human_best:
        return data, stored_order(data.instances)
    key = choice.score_key or overall_key(judged)
    return data, judged_rankings(path, str(key), choice.lower_is_better)
