"""From what an annotator entered to a verdict: the rules, without any page or file."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args

from storyalign.annotation.tasks import Task
from storyalign.records import BadRow, check_judged_texts

Word = Literal["confirmed", "reordered", "unsure"]
Kind = Literal["independent", "check", "senior"]
LOWEST, HIGHEST = 1, 10

WORDS: tuple[Word, ...] = get_args(Word)
KINDS: tuple[Kind, ...] = get_args(Kind)


class Answer(NamedTuple):
    """What an annotator entered, candidates by their number in the task."""

    ranking: tuple[int, ...] = ()
    """Best first; ``human-best`` needs the best story alone."""
    scores: tuple[int | None, ...] = ()
    """1-10, one a candidate; ``rank`` only."""
    unsure: bool = False
    accepted: bool = False
    """The annotator saw that order and scores contradict each other, and keeps both."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One annotator's verdict on one group; the row of a verdicts file."""

    id: str
    """The task's id."""
    texts: str
    """Digest of the premise and stories that were judged (``Task.texts``)."""
    annotator: str
    """A key, never a name."""
    kind: Kind
    """``independent``; ``check``: the same group shown to the same annotator again; ``senior``: settles a dispute."""
    mode: str
    verdict: Word
    ranking: tuple[int, ...] | None
    """Best first. ``human-best``: the best story alone. ``unsure``: the given order, which stays, or None."""
    scores: tuple[int, ...] | None = None
    contradictions: int = 0
    """Pairs whose order and scores contradict each other, kept after they were shown."""
    seconds: float | None = None
    """Time with the group in view; None where nobody measured it."""

    @property
    def best(self) -> int | None:
        """The story put first; None where the annotator is unsure."""
        return None if self.verdict == "unsure" or not self.ranking else self.ranking[0]

    def to_row(self) -> dict[str, Any]:
        """Turn the verdict into a JSON-ready row."""
        listed = {name: None if (v := getattr(self, name)) is None else list(v) for name in ("ranking", "scores")}
        return {**asdict(self), **listed}

    @classmethod
    def from_row(cls, row: Mapping[str, Any], task: Task) -> Verdict:
        """Check a row of a verdicts file against its task.

        Raises:
            BadRow: a field is missing, unknown, or does not fit the task, or other texts were judged.
        """
        check_judged_texts(row, task.texts)
        annotator, kind, word = row.get("annotator"), row.get("kind", "independent"), row.get("verdict")
        if not isinstance(annotator, str) or not annotator:
            raise BadRow("annotator is missing")
        if kind not in KINDS:
            raise BadRow(f"unknown kind {kind!r}; expected {', '.join(KINDS)}")
        if word not in WORDS:
            raise BadRow(f"unknown verdict {word!r}; expected {', '.join(WORDS)}")
        answer = Answer(_whole(row, "ranking"), _whole(row, "scores"), word == "unsure", accepted=True)
        made = make_verdict(task, answer, annotator, kind, _seconds(row.get("seconds")))
        if made.verdict != word:
            raise BadRow(f"verdict is {word}, but the ranking says {made.verdict}")
        return made


def problems(task: Task, answer: Answer, opened: Collection[int] | None = None) -> list[str]:
    """Return what keeps an answer from being a verdict; nothing when it is whole.

    Args:
        task: the group.
        answer: what was entered.
        opened: candidates whose text the annotator opened; None where that is not known, as with imported rows.
    """
    found = []
    candidates = range(len(task.stories))
    if opened is not None and (unread := sum(c not in opened for c in candidates)):
        found.append(f"{unread} {'story was' if unread == 1 else 'stories were'} not opened yet")
    if answer.unsure:
        return found
    if task.mode == "human-best":
        if len(answer.ranking) < 1 or answer.ranking[0] not in candidates:
            found.append("no story is picked")
    elif sorted(answer.ranking) != list(candidates):
        found.append("the order does not hold every story once")
    if task.mode == "rank":
        scores = answer.scores
        if len(scores) != len(candidates) or any(s is None or not LOWEST <= s <= HIGHEST for s in scores):
            found.append(f"not every story has a score from {LOWEST} to {HIGHEST}")
        elif not found and not answer.accepted and contradictions(answer.ranking, scores):
            found.append("the order contradicts the scores")
    return found


def contradictions(ranking: Sequence[int], scores: Sequence[float | None]) -> list[tuple[int, int]]:
    """Find pairs (upper, lower) of a ranking whose upper story has the lower score.

    >>> contradictions([2, 0, 1], [7, 5, 6])
    [(2, 0)]
    """
    pairs = []
    for place, upper in enumerate(ranking):
        for lower in ranking[place + 1 :]:
            high, low = scores[upper], scores[lower]
            if high is not None and low is not None and high < low:
                pairs.append((upper, lower))
    return pairs


def make_verdict(
    task: Task, answer: Answer, annotator: str, kind: Kind, seconds: float | None, opened: Collection[int] | None = None
) -> Verdict:
    """Turn a whole answer into a verdict.

    ``confirmed``: the given order stands (``human-best``: the human story is best). ``reordered``: the annotator gave
    another order, or none was given. ``unsure``: no decision; a given order stays as it is.

    Raises:
        BadRow: the answer is not whole.
    """
    if found := problems(task, answer, opened):
        raise BadRow("; ".join(found))
    if answer.unsure:
        kept = None if task.mode == "human-best" else task.ranking
        return Verdict(task.id, task.texts, annotator, kind, task.mode, "unsure", kept, seconds=seconds)
    ranking = answer.ranking[:1] if task.mode == "human-best" else answer.ranking
    given = (task.human,) if task.mode == "human-best" else task.ranking
    scores = tuple(s for s in answer.scores if s is not None) if task.mode == "rank" else None
    return Verdict(
        id=task.id,
        texts=task.texts,
        annotator=annotator,
        kind=kind,
        mode=task.mode,
        verdict="confirmed" if ranking == given else "reordered",
        ranking=ranking,
        scores=scores,
        contradictions=len(contradictions(ranking, scores)) if scores else 0,
        seconds=seconds,
    )


def _whole(row: Mapping[str, Any], field: str) -> tuple[int, ...]:
    value = row.get(field)
    if value is None:
        return ()
    if not isinstance(value, list) or any(type(number) is not int for number in value):
        raise BadRow(f"{field} is {value!r}; expected a list of whole numbers")
    return tuple(value)


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise BadRow(f"seconds is {value!r}; expected a number from 0 up")
    return float(value)
