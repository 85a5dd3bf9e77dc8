"""The order that choices are measured against, and how far its annotators agree (Krippendorff's alpha)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from storyalign.bootstrap import MIN_PREMISES, SEED, Floats, percentile_interval
from storyalign.corpus.evaluation_sets import EvaluationSet
from storyalign.corpus.human_rankings import (
    HumanRankings,
    ListedGroup,
    Scale,
    judged_rankings,
    read_rankings,
    stored_order,
)
from storyalign.corpus.judged_groups import is_judged_group, overall_key, read_judged_groups
from storyalign.files import read_jsonl
from storyalign.krippendorff_alpha import krippendorff_alpha
from storyalign.tables import bounds

DRAWS = 500


def orders_of(data: EvaluationSet, rankings: HumanRankings) -> dict[str, Sequence[float]]:
    """Return the reference order of each group that has one, by id; lower is better."""
    return {i.id: order for i in data.instances if (order := rankings.order(i)) is not None}


def reference_of(
    path: str | Path,
    data: EvaluationSet,
    ranks: Sequence[str | Path] = (),
    *,
    score_key: str | None = None,
    lower_is_better: bool = False,
    assume_human_best: bool = False,
) -> HumanRankings | None:
    """Return the best reference there is: files of rankings, raters inside the data, or the data's own order.

    Args:
        path: where the data is.
        data: the same, loaded.
        ranks: files of rankings; they decide where there are any.
        score_key: the score of judged groups to go by.
        lower_is_better: whether a low one is good.
        assume_human_best: whether the human story of a judged group is the best, whatever the scores say.

    Returns:
        None where the data has no order and no rankings are given.
    """
    first = next(read_jsonl(path), None) if Path(path).is_file() else None
    judged = list(read_judged_groups(path)) if first is not None and is_judged_group(first.row) else None
    if ranks:
        if judged is None:
            return read_rankings(ranks, {i.id: ListedGroup(i.prompt, i.stories) for i in data.instances})
        return read_rankings(ranks, {g.id: ListedGroup(g.premise, [c.story for c in g.candidates]) for g in judged})
    if not data.has_gold:
        return None
    if judged is None or assume_human_best:
        return stored_order(data.instances)
    return judged_rankings(path, score_key or str(overall_key(judged)), lower_is_better)


class Agreement(NamedTuple):
    """Alpha is 1 for perfect agreement, 0 for what chance gives, below 0 for less than that."""

    alpha: float | None
    """None with fewer than two annotators, or where all gave every story the same value."""
    ci: tuple[float, float] | None
    """95%, bootstrap over groups; None with fewer than ``MIN_PREMISES`` groups."""
    scale: str
    n_groups: int
    """Groups that at least two annotators judged."""
    n_stories: int
    annotators: dict[str, int]
    """Annotator -> groups."""


def rater_agreement(rankings: HumanRankings) -> Agreement:
    """Compute Krippendorff's alpha: ordinal for places, interval for scores."""
    names = rankings.annotators
    blocks = [
        np.array([[values.get(story, np.nan) for story in stories] for values in (group.get(n, {}) for n in names)])
        for group in rankings.groups.values()
        if len(group) > 1 and (stories := list(dict.fromkeys(story for values in group.values() for story in values)))
    ]
    counts = Counter(name for group in rankings.groups.values() for name in group)
    n_stories = sum(block.shape[1] for block in blocks)
    alpha = _alpha(blocks, rankings.scale)
    ci = None
    if alpha is not None and len(blocks) >= MIN_PREMISES:
        generator = np.random.default_rng(SEED)
        drawn = [
            _alpha([blocks[i] for i in generator.integers(len(blocks), size=len(blocks))], rankings.scale)
            for _ in range(DRAWS)
        ]
        ci = percentile_interval(np.array([np.nan if value is None else value for value in drawn]), len(blocks))
    return Agreement(alpha, ci, rankings.scale, len(blocks), n_stories, dict(counts))


def agreement_line(agreement: Agreement, rankings: HumanRankings) -> str:
    """Return whose order it is, and how far the annotators agree."""
    n = len(agreement.annotators)
    line = f"reference: {rankings.source}"
    if not rankings.is_stored:
        line += f", {n} annotator{'s' if n != 1 else ''}"
    if rankings.settled:
        line += f", {len(rankings.settled)} groups settled by a senior one"
    line += "".join(f", {count} {reason} passed over" for reason, count in (rankings.passed_over or {}).items())
    if agreement.alpha is None:
        return line
    ci = f" (95% {bounds(agreement.ci, '.2f')})" if agreement.ci else ""
    return (
        f"{line}; Krippendorff's alpha ({agreement.scale}) {agreement.alpha:.2f}{ci} over {agreement.n_stories} "
        f"stories of {agreement.n_groups} groups"
    )


def _alpha(blocks: Sequence[Floats], scale: Scale) -> float | None:
    return krippendorff_alpha(np.hstack(blocks), scale) if blocks else None
