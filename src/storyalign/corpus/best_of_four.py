"""Groups of four and pairs out of larger groups that people judged, where it is beyond doubt which story is better."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storyalign.corpus.judged_groups import TOLERANCE, Candidate, JudgedGroup
from storyalign.not_stories import not_a_story
from storyalign.records import IMPORTED, Instance, PreferencePair
from storyalign.text import content_id

N_REJECTED = 3

TOO_FEW = "groups with fewer than 4 rated stories that have a text"
NO_CLEAR_BEST = "groups without a story that is clearly better than 3 others"
HUMAN_NOT_BEST = "human stories that are not the best: neither source of the benchmark has such"
NO_TEXT = "rated stories without a text, or with one that is no story"
UNRATED = "stories that nobody rated"


@dataclass(frozen=True, slots=True)
class Clear:
    """When a story counts as clearly better than another one of its group.

    Args:
        score: the score that speaks for a whole story; higher is better.
        min_margin: least difference of the two means.
        min_agreement: least share of raters who put it above, a tie counts half. Where the raters of the two stories
            are not the same people, the share of pairs with one rating of each.
    """

    score: str
    min_margin: float = 0.0
    min_agreement: float = 2 / 3
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """Criterion -> dimension, for criteria that mean the same."""

    def better(self, one: Candidate, other: Candidate, same_raters: bool) -> bool:
        """Return whether the first is clearly better."""
        gap = one.scores[self.score] - other.scores[self.score]
        if gap <= TOLERANCE or gap < self.min_margin - TOLERANCE:
            return False
        return agreement(one, other, self.score, same_raters) >= self.min_agreement - TOLERANCE


def agreement(one: Candidate, other: Candidate, score: str, same_raters: bool) -> float:
    """Return the share of raters, or of pairs of ratings, for the first story against the second; a tie counts half."""
    a, b = one.ratings[score], other.ratings[score]
    compared = zip(a, b, strict=True) if same_raters and len(a) == len(b) else itertools.product(a, b)
    points = [1.0 if x > y else 0.5 if x == y else 0.0 for x, y in compared]
    return sum(points) / len(points)


def draw_instances(group: JudgedGroup, clear: Clear, seed: int = 0) -> tuple[list[Instance], Counter[str]]:
    """Draw groups of four that share no story: the best one left, and three that it is clearly better than.

    The chosen story is a person's (source ``human_llm``) or an LLM's among LLMs only (``llm_llm``), as in StoryRMB.
    Which of the worse stories are drawn is decided by the seed and the group's id, so a second run draws the same.

    Returns:
        The instances, and what was left out, by reason.
    """
    pool, dropped = _usable(group, clear)
    if len(pool) <= N_REJECTED:
        dropped[TOO_FEW] += 1
        return [], dropped
    pool.sort(key=lambda c: -c.scores[clear.score])
    chance, instances = random.Random(f"{seed} {group.id}"), list[Instance]()
    while len(pool) > N_REJECTED:
        best, *others = pool
        worse = [c for c in others if not c.human and clear.better(best, c, group.same_raters)]
        if len(worse) < N_REJECTED:
            pool = others
            continue
        drawn = sorted(chance.sample(range(len(worse)), N_REJECTED))
        rejected = [worse[n] for n in drawn]
        instances.append(_instance(group, best, rejected, clear))
        pool = [c for c in others if not any(c is taken for taken in rejected)]
    if not instances:
        dropped[NO_CLEAR_BEST] += 1
    used = {instance.chosen for instance in instances}
    dropped[HUMAN_NOT_BEST] += sum(c.human and c.story not in used for c in group.candidates if c.story and c.scores)
    return instances, +dropped


def draw_pairs(group: JudgedGroup, clear: Clear) -> tuple[list[PreferencePair], Counter[str]]:
    """Return every pair of stories of which one is clearly better, and what was left out."""
    pool, dropped = _usable(group, clear)
    pairs = [
        _pair(group, one, other)
        for one, other in itertools.permutations(pool, 2)
        if clear.better(one, other, group.same_raters)
    ]
    possible = len(pool) * (len(pool) - 1) // 2
    dropped["pairs of stories without a clearly better one"] += possible - len(pairs)
    return pairs, +dropped


def mean_tau(candidates: Sequence[Candidate], score: str) -> float | None:
    """Return the mean of Kendall's tau-a over all pairs of raters (Eq. 1 and 2, with people in the place of judges).

    Returns:
        From -1 to 1; None with fewer than two raters.
    """
    raters = list(zip(*(c.ratings[score] for c in candidates), strict=True))
    taus = [_tau(a, b) for a, b in itertools.combinations(raters, 2)]
    return sum(taus) / len(taus) if taus else None


def _tau(a: Sequence[float], b: Sequence[float]) -> float:
    pairs = list(itertools.combinations(range(len(a)), 2))
    signs = [(a[i] - a[j]) * (b[i] - b[j]) for i, j in pairs]
    return sum((sign > 0) - (sign < 0) for sign in signs) / len(pairs)


def _usable(group: JudgedGroup, clear: Clear) -> tuple[list[Candidate], Counter[str]]:
    """Return the rated stories with a text, each once, cleaned by the reader before."""
    dropped, pool = Counter[str](), dict[str, Candidate]()
    for candidate in group.candidates:
        if clear.score not in candidate.scores:
            dropped[UNRATED] += 1
        elif candidate.story is None or not_a_story(candidate.story):
            dropped[NO_TEXT] += 1
        else:
            pool.setdefault(candidate.story, candidate)
    return list(pool.values()), dropped


def _instance(group: JudgedGroup, best: Candidate, rejected: Sequence[Candidate], clear: Clear) -> Instance:
    four = (best, *rejected)
    texts = [c.story or "" for c in four]
    return Instance(
        id=content_id("open", group.premise, *texts),
        prompt=group.premise,
        chosen=texts[0],
        rejected=tuple(texts[1:]),
        dimension=_dimension(best, rejected, clear),
        source="human_llm" if best.human else "llm_llm",
        chosen_writer=best.writer,
        rejected_writers=tuple(c.writer for c in rejected),
        language=group.language,
        corpus=group.corpus,
        license=group.license,
        tau_avg=mean_tau(four, clear.score) if group.same_raters else None,
        route="annotators",
    )


def _dimension(best: Candidate, rejected: Sequence[Candidate], clear: Clear) -> str | None:
    """Name the dimension of the criterion that sets the best story apart most; None where that is no dimension's.

    All criteria take part, also those that no dimension is mapped to: a story that stands out by its humour is not
    an instance of coherence. A tie for the largest gap names none.
    """
    shared = set(best.scores).intersection(*(c.scores for c in rejected)) - {clear.score}
    gaps = {key: best.scores[key] - sum(c.scores[key] for c in rejected) / len(rejected) for key in shared}
    largest = max(gaps.values(), default=0.0)
    at_top = [key for key, gap in gaps.items() if gap >= largest - TOLERANCE]
    return clear.dimensions.get(at_top[0]) if len(at_top) == 1 and largest > TOLERANCE else None


def _pair(group: JudgedGroup, one: Candidate, other: Candidate) -> PreferencePair:
    chosen, rejected = one.story or "", other.story or ""
    return PreferencePair(
        id=content_id("open", group.premise, chosen, rejected),
        prompt=group.premise,
        chosen=chosen,
        rejected=rejected,
        construction=IMPORTED,
        chosen_writer=one.writer,
        rejected_writer=other.writer,
        corpus=group.corpus,
        language=group.language,
        license=group.license,
    )
