"""From two independent verdicts to one: where annotators agree it is settled, else a senior settles it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Literal

from storyalign.annotation.tasks import Task
from storyalign.annotation.verdicts import Verdict, Word

ENOUGH_TAU = 0.6
"""Two orders with the same best story and at least this Kendall tau agree: the threshold that judges have too."""

State = Literal["open", "disputed", "settled"]


@dataclass(frozen=True, slots=True)
class Settled:
    """What stands in the end for one group; the row of a settled file."""

    id: str
    texts: str
    """Digest of the premise and stories that were judged."""
    mode: str
    verdict: Word
    ranking: tuple[int, ...] | None
    scores: tuple[float, ...] | None
    """Mean over the annotators who gave scores."""
    settled_by: Literal["annotators", "senior"]
    annotators: tuple[str, ...]
    """Keys of all who gave a verdict that counts."""
    seconds: float | None
    """Sum of their times; None where one is missing."""

    def to_row(self) -> dict[str, Any]:
        """Turn it into a JSON-ready row."""
        listed = {n: None if (v := getattr(self, n)) is None else list(v) for n in ("ranking", "scores", "annotators")}
        return {**asdict(self), **listed}


def state_of(task: Task, verdicts: Sequence[Verdict], needed: int) -> State:
    """Return where a group stands: ``verdicts`` are its own, oldest first."""
    if settle(task, verdicts, needed) is not None:
        return "settled"
    return "disputed" if len(_independent(verdicts, needed)) == needed else "open"


def settle(task: Task, verdicts: Sequence[Verdict], needed: int) -> Settled | None:
    """Settle a group.

    A senior's verdict stands. Without one the first ``needed`` independent verdicts must agree: all unsure, or all with
    the same best story and, where orders are complete, a Kendall tau of at least ``ENOUGH_TAU`` for each two of them.
    Who is unsure about a given order leaves it as it is (Appendix C), and so counts for it. The settled order is the
    mean place, then the mean score, then the given order, then the first annotator's.

    Args:
        task: the group.
        verdicts: all verdicts on it, oldest first; repeated checks do not count.
        needed: independent verdicts that a group needs.

    Returns:
        None while verdicts are missing, and where they disagree.
    """
    senior = next((v for v in verdicts if v.kind == "senior"), None)
    if senior is not None:
        return _settled(task, [senior], senior.ranking, senior.verdict, "senior")
    own = _independent(verdicts, needed)
    if len(own) < needed:
        return None
    if all(v.verdict == "unsure" for v in own):
        return _settled(task, own, own[0].ranking, "unsure", "annotators")
    orders = [v.ranking for v in own if v.ranking]
    if len(orders) < needed or len({order[0] for order in orders}) > 1:
        return None
    if any(tau(one, other) < ENOUGH_TAU for one, other in combinations(orders, 2)):
        return None
    ranking = _mean_order(task, own, orders)
    given = (task.human,) if task.mode == "human-best" else task.ranking
    return _settled(task, own, ranking, "confirmed" if ranking == given else "reordered", "annotators")


def tau(one: Sequence[int], other: Sequence[int]) -> float:
    """Return Kendall's tau of two orders without ties over the same stories (Eq. 1), -1 to 1; one story agrees.

    >>> tau([0, 1, 2, 3], [1, 0, 2, 3])
    0.6666666666666666
    """
    place = {candidate: p for p, candidate in enumerate(other)}
    signs = [1 if place[upper] < place[lower] else -1 for upper, lower in combinations(one, 2)]
    return sum(signs) / len(signs) if signs else 1.0


def _independent(verdicts: Sequence[Verdict], needed: int) -> list[Verdict]:
    return [v for v in verdicts if v.kind == "independent"][:needed]


def _mean_order(task: Task, verdicts: Sequence[Verdict], orders: Sequence[Sequence[int]]) -> tuple[int, ...]:
    scores = _mean_scores(verdicts)
    given = task.ranking or orders[0]

    def key(candidate: int) -> tuple[float, float, int]:
        score = scores[candidate] if scores else 0.0
        # A human-best verdict orders one story only; nothing else is asked about it.
        return fmean(o.index(candidate) for o in orders), -score, given.index(candidate) if candidate in given else 0

    return tuple(sorted(orders[0], key=key))


def _mean_scores(verdicts: Sequence[Verdict]) -> tuple[float, ...] | None:
    given = [v.scores for v in verdicts if v.scores]
    return tuple(fmean(column) for column in zip(*given, strict=True)) if given else None


def _settled(
    task: Task,
    verdicts: Sequence[Verdict],
    ranking: tuple[int, ...] | None,
    word: Word,
    by: Literal["annotators", "senior"],
) -> Settled:
    times = [v.seconds for v in verdicts]
    return Settled(
        id=task.id,
        texts=task.texts,
        mode=task.mode,
        verdict=word,
        ranking=ranking,
        scores=_mean_scores(verdicts),
        settled_by=by,
        annotators=tuple(v.annotator for v in verdicts),
        seconds=None if None in times else sum(t for t in times if t is not None),
    )
