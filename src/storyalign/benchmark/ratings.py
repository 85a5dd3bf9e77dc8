"""Ratings: each judge scores all stories of a group on five dimensions and as a whole, in an order of its own.

The human story of a group is rated with the others, so that its scores are on the same scale, but only the dimension
of the instance uses them: the judges' ranking is one of the LLM stories alone (Appendix C).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping

from storyalign.benchmark.recipe import Recipe
from storyalign.files import RowsById
from storyalign.llm.prompts import load_prompt, ratings_request
from storyalign.llm.rating_replies import SCORES, parse_ratings, ratings_schema
from storyalign.llm.steps import Request, Row, Step, user_message


def order_for(judge: str, group_id: str, count: int, recipe: Recipe) -> list[int]:
    """Shuffle the stories of a group for one judge: place ``i`` shows candidate ``order[i]``."""
    order = list(range(count))
    random.Random(recipe.seed_for("order", judge, group_id)).shuffle(order)
    return order


def rating_step(judge: str, recipe: Recipe) -> Step:
    """Rate one group; the row that comes out holds scores in the order of the group's candidates."""
    prompt, settings = load_prompt("rate_group"), recipe.ratings

    def request(row: Row) -> Request:
        stories = [candidate["story"] for candidate in row["candidates"]]
        order = order_for(judge, row["id"], len(stories), recipe)
        return Request(
            user_message(ratings_request(row["prompt"], [stories[i] for i in order])),
            settings.max_tokens,
            settings.temperature,
            recipe.seed_for("rating", judge, row["id"]),
            ratings_schema(SCORES),
        )

    def read(row: Row, reply: str) -> Row:
        count = len(row["candidates"])
        order = order_for(judge, row["id"], count, recipe)
        shown = parse_ratings(reply, SCORES, count)
        scores = [shown[order.index(candidate)] for candidate in range(count)]
        return {"id": row["id"], "judge": judge, "order": order, "scores": scores}

    return Step("rating", prompt, request, read, tries=settings.tries)


def rated_groups(
    groups: Iterable[Row], ratings: Mapping[str, RowsById], failures: Mapping[str, RowsById]
) -> Iterator[Row]:
    """Put all judges' ratings of each group together; a judge without a valid one is named with the reason."""
    for group in groups:
        kept = {key: group[key] for key in ("id", "source", "human")}
        row: Row = {**kept, "candidates": len(group["candidates"]), "ratings": {}, "unrated": {}}
        for judge, rows in ratings.items():
            rating = rows.get(group["id"])
            if rating is not None:
                row["ratings"][judge] = rating["scores"]
            else:
                failure = failures[judge].get(group["id"])
                row["unrated"][judge] = failure["reason"] if failure else "not asked yet"
        yield row
