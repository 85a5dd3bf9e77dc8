"""Orders that people gave to the stories of a group, annotator by annotator.

A file of rankings has one JSON line for each group and annotator::

    {"id": "g1", "annotator": "ann", "ranks": [2, 1, 3, 3]}

``ranks`` holds the place of each story, 1 for the best, equal places for ties, in the order in which the data lists
the stories of the group (StoryRMB: the chosen one, then the rejected ones). The verdicts of ``storyalign annotate`` are
read too: there ``ranking`` names the stories from 0, best first, and ``texts`` says which texts were judged. Judged
groups carry their raters inside: lists of numbers beside stories, or ``by_rater`` with a list of criteria per rater.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scipy import stats

from storyalign.corpus.judged_groups import RANKS, TOLERANCE, is_judged_group, read_group
from storyalign.errors import DataError, RecipeError
from storyalign.files import Line, read_jsonl
from storyalign.records import BadRow, Instance, check_judged_texts
from storyalign.text import judged_texts

Scale = Literal["ordinal", "interval"]

STORED = "the order stored in the data"

Values = dict[str, float]
"""Story -> what one annotator gave it; lower is better."""


@dataclass(frozen=True, slots=True)
class HumanRankings:
    """What annotators said of each group."""

    source: str
    """Where it is from, in words."""
    scale: Scale
    """``ordinal`` for places, ``interval`` for scores."""
    groups: dict[str, dict[str, Values]] = field(default_factory=dict)
    """Group id -> annotator -> values."""
    settled: dict[str, Values] = field(default_factory=dict)
    """Group id -> the order that a senior annotator settled on; it stands above the others."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """Rows without an order, by reason."""

    @property
    def is_stored(self) -> bool:
        """Whether it is the order stored in the data."""
        return self.source == STORED

    @property
    def annotators(self) -> list[str]:
        """All annotators, in the order of their first ranking."""
        return list(dict.fromkeys(name for group in self.groups.values() for name in group))

    def order(self, instance: Instance) -> list[float] | None:
        """Return the mean value of each story of an instance over its annotators, lower is better; ties stay equal.

        Returns:
            None where nobody ranked all stories of the instance.
        """
        settled = self.settled.get(instance.id)
        group = self.groups.get(instance.id, {}) if settled is None else {"settled": settled}
        whole = [values for values in group.values() if all(story in values for story in instance.stories)]
        if not whole:
            return None
        means = [math.fsum(values[story] for values in whole) / len(whole) for story in instance.stories]
        return [min(other for other in means if abs(other - mean) <= TOLERANCE) for mean in means]


def stored_order(instances: Iterable[Instance]) -> HumanRankings:
    """Take the order in which the data stores the stories: the chosen one, then the rejected ones, best to worst."""
    rankings = HumanRankings(STORED, "ordinal")
    for item in instances:
        rankings.groups[item.id] = {"stored": {story: float(place) for place, story in enumerate(item.stories, 1)}}
    return rankings


class ListedGroup(NamedTuple):
    """A group as the data lists it."""

    premise: str
    stories: Sequence[str | None]
    """In the order that ``ranks`` follows; None for one without a text."""


def read_rankings(paths: Sequence[str | Path], listed: Mapping[str, ListedGroup]) -> HumanRankings:
    """Read files of rankings.

    Args:
        paths: the files; an annotator may stand in several.
        listed: the groups by id.

    Raises:
        DataError: a file cannot be read, or holds no rankings.
        RowError: a row is no ranking, ranks another number of stories, other texts, an unknown group, or comes twice.
    """
    rankings = HumanRankings(", ".join(Path(path).name for path in paths), "ordinal")
    for path in paths:
        for line in read_jsonl(path):
            if reason := _without_an_order(line.row):
                rankings.passed_over[reason] += 1
                continue
            try:
                group, annotator, values = _ranking(line.row, listed)
            except BadRow as error:
                raise line.error(str(error)) from error
            if line.row.get("kind") == SENIOR or "settled_by" in line.row:
                if rankings.settled.setdefault(group, values) != values:
                    raise line.error("a senior annotator settled this group already, in another way")
            elif rankings.groups.setdefault(group, {}).setdefault(annotator, values) is not values:
                raise line.error(f"{annotator} ranked this group already")
    if not rankings.groups and not rankings.settled:
        raise DataError(f"{rankings.source}: holds no rankings")
    return rankings


SENIOR, CHECK = "senior", "check"


def _without_an_order(row: Mapping[str, Any]) -> str | None:
    if row.get("verdict") == "unsure":
        return "unsure verdicts"
    if row.get("kind") == CHECK:
        return "groups shown to the same annotator again"
    return None


def _ranking(row: Mapping[str, Any], listed: Mapping[str, ListedGroup]) -> tuple[str, str, Values]:
    annotator = "settled" if "settled_by" in row else row.get("annotator")
    given = "ranking" if "ranks" not in row and "ranking" in row else "ranks"
    facts = {"id": row.get("id"), "annotator": annotator, given: row.get(given)}
    missing = [name for name, value in facts.items() if value in (None, "", [])]
    if missing:
        raise BadRow(f"not a ranking: {', '.join(missing)} missing; expected id, annotator, ranks")
    group = str(row["id"])
    if group not in listed:
        raise BadRow("the data has no group of this id; the rankings belong to other data")
    premise, stories = listed[group]
    if given == "ranking":
        check_judged_texts(row, judged_texts(premise, (story or "" for story in stories)))
    ranks = _ranks_of(row["ranking"], len(stories)) if given == "ranking" else row["ranks"]
    if not isinstance(ranks, list) or len(ranks) != len(stories):
        found = len(ranks) if isinstance(ranks, list) else "no list of"
        raise BadRow(f"{found} ranks for {len(stories)} stories; one place a story, 1 for the best")
    values: Values = {}
    for story, rank in zip(stories, ranks, strict=True):
        if isinstance(rank, bool) or not isinstance(rank, int | float) or not math.isfinite(rank):
            raise BadRow(f"rank must be a number, got {rank!r}; 1 is the best, equal numbers are ties")
        if story is not None:
            values[story] = float(rank)
    return group, str(annotator), _as_places(values)


def _ranks_of(ranking: Any, n: int) -> list[int]:
    """Turn stories from best to worst into places; stories that are not named share the last place."""
    if not isinstance(ranking, list) or len(set(map(str, ranking))) < len(ranking):
        raise BadRow("ranking is no list of different stories")
    if any(isinstance(c, bool) or not isinstance(c, int) or not 0 <= c < n for c in ranking):
        raise BadRow(f"ranking is {ranking!r}; the group's stories are 0 to {n - 1}")
    return [ranking.index(c) + 1 if c in ranking else len(ranking) + 1 for c in range(n)]


def _as_places(values: Values) -> Values:
    """Number the places anew from 1, ties sharing their mean, so that 1-2-2-4 and 1-2-2-3 say the same."""
    places = stats.rankdata(list(values.values()), method="average")
    return dict(zip(values, map(float, places), strict=True))


def judged_rankings(path: str | Path, key: str, lower_is_better: bool) -> HumanRankings:
    """Take the raters of judged groups one by one, where the file names them; else their mean as one annotator.

    Args:
        path: a file of judged groups.
        key: the score that decides; ``ranks`` is a place.
        lower_is_better: the lowest score is the best.

    Raises:
        RecipeError: the file holds no judged groups.
    """
    rankings = HumanRankings(f"{Path(path).name}, {key}", "ordinal" if key == RANKS else "interval")
    sign = 1.0 if lower_is_better else -1.0
    for line in read_jsonl(path):
        if not is_judged_group(line.row):
            raise RecipeError(f"{path}: --score-key is for judged groups (premise, candidates); leave it out")
        means = {c.story: c.scores[key] for c in read_group(line, "").candidates if key in c.scores}
        given = {
            candidate["story"]: values
            for candidate in line.row["candidates"]
            if candidate.get("story") is not None
            and candidate.get("n_raters") != 0
            and (values := _rater_values(candidate, key))
        }
        if len({len(values) for values in given.values()}) > 1:  # raters cannot be told apart over all stories
            given = {story: [means[story]] for story in given}
        raters: dict[str, Values] = {}
        for story, values in given.items():
            for place, value in enumerate(values, 1):
                raters.setdefault(f"rater {place}", {})[story] = sign * value
        rankings.groups[_id(line)] = raters
    return rankings


def _id(line: Line) -> str:
    value = line.row.get("id")
    if value in (None, ""):
        raise line.error("a group without an id cannot be found again")
    return str(value)


def _rater_values(candidate: Mapping[str, Any], key: str) -> list[float]:
    """Return one value a rater; the stored mean alone where the raters' own values are not there."""
    scores = candidate.get("scores") or {}
    value = candidate[key] if isinstance(candidate.get(key), list) else scores.get(key)
    if isinstance(value, list):
        return [float(v) for v in value]
    if value is None:
        return []
    by_rater = candidate.get("by_rater")
    if isinstance(by_rater, list) and by_rater and all(isinstance(own, list) for own in by_rater):
        names = list(scores)
        of_key = [own[names.index(key)] if names.index(key) < len(own) else math.fsum(own) for own in by_rater]
        # Taken only where they prove to be the parts of the stored mean.
        if math.isclose(math.fsum(of_key) / len(of_key), value, abs_tol=0.01):
            return [float(v) for v in of_key]
    return [float(value)]
