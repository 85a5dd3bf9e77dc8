"""How far annotators agree: Krippendorff's alpha over all stories that at least two of them judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from storyalign.bootstrap import MIN_PREMISES, SEED, Floats, percentile_interval
from storyalign.corpus.human_rankings import HumanRankings, Scale
from storyalign.krippendorff_alpha import krippendorff_alpha

DRAWS = 500


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


def _alpha(blocks: Sequence[Floats], scale: Scale) -> float | None:
    return krippendorff_alpha(np.hstack(blocks), scale) if blocks else None
