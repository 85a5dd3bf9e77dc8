"""Stories that people judged: reading groups of candidates, and finding the best one of each.

One JSON line is one group::

    {"id": "g1", "premise": "...", "lang": "en", "license": "MIT",
     "candidates": [{"story": "...", "writer": "human", "scores": {"quality": 2.5}, "n_raters": 2},
                    {"story": null, "writer": "some-llm", "scores": {}, "n_raters": 0}]}

``story`` is null where the text may not be passed on; ``scores`` is empty, or ``n_raters`` 0, where nobody judged. A
score is one number, or a list with one number a rater; ``"same_raters": true`` says that the n-th number is by the same
person for all stories of the group. Lists of numbers beside ``scores`` count too: ``ranks`` has one place a rater, 1
for the best.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.files import Line, read_jsonl
from storyalign.records import BadRow, Instance
from storyalign.text import UNKNOWN_LANGUAGE, content_id, text_key

RANKS = "ranks"
"""The one key whose direction the format fixes: 1 is the best place."""

MOST_DECIMALS = 8
"""A mean with more decimals is written in full."""

TOLERANCE = 1e-9
"""Mean scores closer than this are equal."""

TIED = "groups in which stories share the best score"
WITHHELD = "groups whose best story has no text"
TOO_FEW = "groups with fewer than 2 rated stories"
NO_HUMAN = "groups without exactly one human story"
TOO_FEW_TEXTS = "groups with fewer than 2 texts"
BEST_TWICE = "groups in which the best story stands twice"
NO_TEXT = "candidates without a text"
UNRATED = "candidates without a rating"
REPEATED = "candidates that repeat a story"

CANDIDATE_REASONS = frozenset({NO_TEXT, UNRATED, REPEATED})
"""Reasons why a group goes on without a candidate; the others drop whole groups."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One story of a group."""

    story: str | None
    """None where the text is withheld."""
    writer: str
    scores: Mapping[str, float]
    """Mean over raters for each key; empty where nobody judged."""
    ratings: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """What each rater said for each key, where the file has it; else the one number that it has."""

    @property
    def human(self) -> bool:
        """Whether a person wrote the story."""
        return self.writer.strip().lower() == "human"


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A premise and its candidates, in the order of the file."""

    id: str
    premise: str
    candidates: tuple[Candidate, ...]
    language: str = UNKNOWN_LANGUAGE
    license: str = "unknown"
    corpus: str = "unknown"
    criteria: tuple[str, ...] = ()
    """Keys of ``scores``, without those that stand beside it."""
    same_raters: bool = False
    """Whether the n-th rating of each candidate is by the same person."""


class Best(NamedTuple):
    """What makes one candidate of a group the best one."""

    score_key: str | None = None
    """The score to compare; None together with ``human`` leaves the others in the order of the file."""
    lower_is_better: bool = False
    human: bool = False
    """Take the human story as the best, whatever the scores say."""


class Ordered(NamedTuple):
    """A group from best to worst, or the reason why it has no best story."""

    candidates: tuple[Candidate, ...]
    dropped: str | None
    left_out: Counter[str]
    """Candidates that the group goes on without, by reason."""


def is_judged_group(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a judged group, by its fields."""
    return "premise" in row and "candidates" in row


def read_judged_groups(path: str | Path) -> Iterator[JudgedGroup]:
    """Read groups from a JSONL file, lazily.

    Raises:
        DataError: the file cannot be read.
        RowError: a line is no group, or its id came before; names file, line and id.
    """
    corpus, lines = Path(path).stem, dict[str, int]()
    for line in read_jsonl(path):
        group = read_group(line, corpus)
        if lines.setdefault(group.id, line.number) != line.number:
            raise line.error(f"duplicate id {group.id}: {path}:{lines[group.id]} has it, too")
        yield group


def read_group(line: Line, corpus: str) -> JudgedGroup:
    """Read one group.

    Raises:
        RowError: the line is no group; names file, line and id.
    """
    try:
        return _group(line.row, corpus)
    except BadRow as error:
        raise line.error(str(error)) from error


def order(group: JudgedGroup, best: Best) -> Ordered:
    """Order a group from best to worst.

    A withheld story that was rated best takes the whole group with it: the best of the rest is not the best story.
    """
    if best.human:
        return _human_first(group, best)
    assert best.score_key is not None
    sign = -1.0 if best.lower_is_better else 1.0
    rated = [c for c in group.candidates if best.score_key in c.scores]
    if len(rated) < 2:
        return _dropped(TOO_FEW)
    rated.sort(key=lambda c: -sign * c.scores[best.score_key or ""])
    if abs(rated[0].scores[best.score_key] - rated[1].scores[best.score_key]) <= TOLERANCE:
        return _dropped(TIED)
    if rated[0].story is None:
        return _dropped(WITHHELD)
    return _keep(rated, Counter({UNRATED: len(group.candidates) - len(rated)}))


def overall_key(groups: Sequence[JudgedGroup]) -> str | None:
    """Find the score that speaks for a whole story, where the file leaves no doubt.

    It is the only criterion there is, or the one that is the sum of all the others in every rated candidate.
    """
    keys = list(dict.fromkeys(key for group in groups for key in group.criteria))
    if len(keys) == 1:
        return keys[0]
    rated = [c.scores for group in groups for c in group.candidates if all(key in c.scores for key in keys)]
    sums = [k for k in keys if rated and all(math.isclose(s[k], sum(s[o] for o in keys if o != k)) for s in rated)]
    return sums[0] if len(sums) == 1 else None


def score_keys(groups: Sequence[JudgedGroup]) -> dict[str, int]:
    """Count for each score key the groups for which it decides on a best story (``ranks``: the lowest is best)."""
    keys = dict.fromkeys(key for group in groups for c in group.candidates for key in c.scores)
    return {
        key: sum(order(group, Best(key, lower_is_better=key == RANKS)).dropped is None for group in groups)
        for key in keys
    }


def instance(group: JudgedGroup, candidates: Sequence[Candidate]) -> Instance:
    """Make an instance of a group whose candidates stand from best to worst, all with a text."""
    texts = [c.story or "" for c in candidates]
    return Instance(
        id=group.id,
        prompt=group.premise,
        chosen=texts[0],
        rejected=tuple(texts[1:]),
        chosen_writer=candidates[0].writer,
        rejected_writers=tuple(c.writer for c in candidates[1:]),
        language=group.language,
        corpus=group.corpus,
        license=group.license,
    )


def in_file_order(group: JudgedGroup) -> Ordered:
    """Keep every story with a text where it stands; for scoring without a gold order."""
    return _keep(list(group.candidates), Counter())


def with_the_rest(group: JudgedGroup, ordered: Ordered) -> Ordered:
    """Add the stories with a text that an order left out, each text once."""
    rest = {c.story: c for c in reversed(group.candidates) if c.story is not None}
    ranked = {c.story for c in ordered.candidates}
    candidates = (*ordered.candidates, *(c for story, c in reversed(rest.items()) if story not in ranked))
    if len(candidates) < 2:
        return _dropped(TOO_FEW_TEXTS)
    without = Counter({NO_TEXT: sum(c.story is None for c in group.candidates)})
    without[REPEATED] = len(group.candidates) - len(candidates) - without[NO_TEXT]
    return Ordered(candidates, None, +without)


def _human_first(group: JudgedGroup, best: Best) -> Ordered:
    humans = [c for c in group.candidates if c.human]
    if len(humans) != 1:
        return _dropped(NO_HUMAN)
    if humans[0].story is None:
        return _dropped(WITHHELD)
    others = [c for c in group.candidates if not c.human]
    if best.score_key is not None:
        sign, worst = (1.0, math.inf) if best.lower_is_better else (-1.0, -math.inf)
        others.sort(key=lambda c: sign * c.scores.get(best.score_key or "", worst))
    return _keep([humans[0], *others], Counter())


def _keep(candidates: Sequence[Candidate], left_out: Counter[str]) -> Ordered:
    keyed = [(text_key(c.story), c) for c in candidates if c.story is not None]
    with_text = [c for _, c in keyed]
    if len(with_text) < 2:
        return _dropped(TOO_FEW_TEXTS)
    if any(key == keyed[0][0] for key, _ in keyed[1:]):
        return _dropped(BEST_TWICE)
    distinct = list(dict(reversed(keyed)).values())[::-1]
    left_out[NO_TEXT] += len(candidates) - len(with_text)
    left_out[REPEATED] += len(with_text) - len(distinct)
    return Ordered(tuple(distinct), None, +left_out)


def _dropped(reason: str) -> Ordered:
    return Ordered((), reason, Counter())


def _group(row: Mapping[str, Any], corpus: str) -> JudgedGroup:
    premise, candidates = row.get("premise"), row.get("candidates")
    if not isinstance(premise, str) or not premise.strip():
        raise BadRow("premise is missing, empty or no text")
    if not isinstance(candidates, list) or not candidates:
        raise BadRow("candidates is missing, empty or no list")
    read = tuple(_candidate(c, f"candidates[{i}]") for i, c in enumerate(candidates))
    read = tuple(replace(c, scores=_unrounded(c, read)) for c in read)
    own = row.get("id")
    return JudgedGroup(
        id=content_id("group", premise, *(c.story or "" for c in read)) if own in (None, "") else str(own),
        premise=premise,
        candidates=read,
        language=str(row.get("lang") or row.get("language") or UNKNOWN_LANGUAGE),
        license=str(row.get("license") or "unknown"),
        corpus=corpus,
        criteria=tuple(dict.fromkeys(key for c in candidates for key in c.get("scores") or {})),
        same_raters=bool(row.get("same_raters")),
    )


def _unrounded(candidate: Candidate, group: Sequence[Candidate]) -> dict[str, float]:
    """Return a candidate's means, each that is written rounded in the place of the mean it stands for in its group.

    A file may hold a mean of 3.33 for one story and the ratings 3, 3 and 4 for another: they are equal. A number with
    two decimals or more stands for the mean of another's list of ratings that rounds to it.
    """
    means = dict(candidate.scores)
    for key, stated in candidate.scores.items():
        decimals = len(repr(stated).partition(".")[2])
        if len(candidate.ratings[key]) == 1 and 2 <= decimals <= MOST_DECIMALS:
            exact = (c.scores[key] for c in group if len(c.ratings.get(key, ())) > 1)
            means[key] = next((mean for mean in exact if abs(mean - stated) <= 0.5 / 10**decimals + TOLERANCE), stated)
    return means


def _candidate(row: Any, where: str) -> Candidate:
    if not isinstance(row, dict):
        raise BadRow(f"{where} is no object")
    if "story" not in row:
        raise BadRow(f"{where}.story is missing; null stands for a text that is withheld")
    story = row["story"]
    if story is not None and (not isinstance(story, str) or not story.strip()):
        raise BadRow(f"{where}.story is empty or no text; null stands for a text that is withheld")
    scores = row.get("scores") or {}
    if not isinstance(scores, dict):
        raise BadRow(f"{where}.scores is no object")
    raters = row.get("n_raters")
    beside = {k: v for k, v in row.items() if isinstance(v, list) and v and not isinstance(v[0], list | dict | str)}
    judged = {} if raters == 0 else {**beside, **scores}
    means = {str(key): _mean(value, f"{where}.{key}") for key, value in judged.items() if value is not None}
    ratings = {
        str(key): tuple(map(float, value if isinstance(value, list) else [value]))
        for key, value in judged.items()
        if value is not None
    }
    return Candidate(story, str(row.get("writer") or "unknown"), means, ratings)


def _mean(value: Any, where: str) -> float:
    values = value if isinstance(value, list) else [value]
    for number in values:
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise BadRow(f"{where} is {value!r}; expected a finite number, or a list with one a rater")
    if not values:
        raise BadRow(f"{where} is an empty list; leave the key out where nobody judged")
    return math.fsum(values) / len(values)
