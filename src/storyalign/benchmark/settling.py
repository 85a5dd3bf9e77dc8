"""From ratings to rankings: agreement and route of each group, the tasks for annotators, and what they decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storyalign.benchmark.agreement import mean_tau, tied_pairs
from storyalign.benchmark.majority import choose_route, majority_scores, ranking_of
from storyalign.benchmark.recipe import Recipe
from storyalign.llm.steps import Dropped, Row
from storyalign.records import BadRow

_BATCH = 4096


def routes_of(rated: Iterable[Row], judges: Sequence[str], recipe: Recipe) -> Iterator[Row]:
    """Compute agreement (Eq. 2), majority scores and route of each group, over its LLM stories.

    ``scores``, ``ranking`` and ``tied_pairs`` count candidates as the group does; the human story has no score.
    """
    batch: list[Row] = []
    for row in rated:
        if batch and (len(batch) == _BATCH or _llm_stories(row) != _llm_stories(batch[0])):
            yield from _route(batch, judges, recipe)
            batch = []
        batch.append(row)
    if batch:
        yield from _route(batch, judges, recipe)


def _llm_stories(row: Row) -> list[int]:
    return [candidate for candidate in range(row["candidates"]) if candidate != row["human"]]


def _route(batch: list[Row], judges: Sequence[str], recipe: Recipe) -> Iterator[Row]:
    settings, ours = recipe.settling, _llm_stories(batch[0])
    overall = np.stack([_overall(row, judges, ours) for row in batch])
    taus = mean_tau(overall, settings.tau)
    majorities = majority_scores(overall, settings.majority, recipe.ratings.min_judges)
    ties = tied_pairs(overall)
    for row, tau, scores, tied in zip(batch, taus, majorities, ties, strict=True):
        route = choose_route(float(tau), scores.tolist(), settings.threshold)
        complete = not np.isnan(scores).any()
        yield {
            "id": row["id"],
            "source": row["source"],
            "human": row["human"],
            "tau_avg": None if math.isnan(tau) else float(tau),
            "tied_pairs": dict(zip(judges, map(int, tied), strict=True)),
            "scores": _spread(scores.tolist(), ours, len(ours) + (row["human"] is not None)),
            "ranking": [ours[place] for place in ranking_of(scores.tolist())] if complete else None,
            "route": route.route,
            "reason": route.reason,
            "unrated": row["unrated"],
        }


def _overall(row: Row, judges: Sequence[str], ours: Sequence[int]) -> NDArray[np.float64]:
    missing = [math.nan] * len(ours)
    scores = [
        [row["ratings"][judge][candidate]["overall"] for candidate in ours] if judge in row["ratings"] else missing
        for judge in judges
    ]
    return np.asarray(scores, dtype=np.float64)


def _spread(scores: Sequence[float], ours: Sequence[int], count: int) -> list[float | None]:
    spread: list[float | None] = [None] * count
    for place, score in zip(ours, scores, strict=True):
        spread[place] = None if math.isnan(score) else score
    return spread


def task_of(group: Row, route: Row) -> Row:
    """Write what annotators are asked: is the human story best, is the majority's order right, or a full ranking."""
    candidates = [{"story": c["story"], "writer": c["writer"]} for c in group["candidates"]]
    task: Row = {"id": group["id"], "prompt": group["prompt"], "candidates": candidates, "human": route["human"]}
    if route["human"] is not None:
        return {**task, "mode": "human-best", "ranking": None}
    if route["route"] == "majority":
        return {**task, "mode": "confirm", "ranking": route["ranking"]}
    return {**task, "mode": "rank", "ranking": None}


def settle(route: Row, verdict: Mapping[str, Any] | None, recipe: Recipe) -> Row | Dropped:
    """Return the final ranking of a group, or why it has none.

    Args:
        route: a row of ``routes_of``.
        verdict: the annotators' settled verdict (``verdict``, ``ranking``); None where there is none yet.
        recipe: whether annotators are required.

    Raises:
        BadRow: the verdict contradicts the group.
    """
    judges: list[int] | None = route["ranking"]
    if verdict is None:
        if recipe.settling.annotators == "required":
            return Dropped(route["id"], "waits for annotators", again=True)
        if route["human"] is not None or route["route"] == "annotators" or judges is None:
            return Dropped(route["id"], f"needs annotators, who were skipped: {_need(route)}")
        return {**route, "ranking": judges, "verified": False}
    word, given = verdict.get("verdict"), verdict.get("ranking")
    if word not in ("confirmed", "reordered", "unsure"):
        raise BadRow(f"verdict is {word!r}; expected confirmed, reordered or unsure")
    count = len(route["scores"])
    if given is not None and (
        any(type(c) is not int or not 0 <= c < count for c in given) or len(set(given)) != len(given)
    ):
        raise BadRow(f"ranking is {given!r}; expected numbers of candidates, 0 to {count - 1}")
    if route["human"] is not None:
        return _settle_human(route, word, given)
    if word == "unsure" or (word == "confirmed" and given is None):
        if route["reason"] == "first_place_tied":
            return Dropped(route["id"], "annotators unsure, and the judges' first place is tied")
        given = judges  # who can't decide leaves the ranking as it is (Appendix C)
    if given is None:
        return Dropped(route["id"], "annotators unsure, and the judges gave no ranking")
    if len(given) != count:
        raise BadRow(f"ranking is {given!r}; expected all of 0 to {count - 1}")
    return {**route, "ranking": list(given), "verified": word != "unsure"}


def _settle_human(route: Row, word: str, given: Sequence[int] | None) -> Row | Dropped:
    if word == "unsure":
        return Dropped(route["id"], "annotators unsure whether the human story is best")
    if word == "reordered" or (given and given[0] != route["human"]):
        return Dropped(route["id"], "annotators put an LLM's story before the human one")
    judges: list[int] | None = route["ranking"]
    others = judges if judges is not None else [c for c in range(len(route["scores"])) if c != route["human"]]
    return {**route, "ranking": [route["human"], *others], "verified": True}


def _need(route: Row) -> str:
    return "a human story" if route["human"] is not None else str(route["reason"]).replace("_", " ")
