"""Instances of the benchmark from settled groups: dimension, chosen and rejected stories, and what produced them."""

from __future__ import annotations

from collections.abc import Sequence

from storyalign.benchmark.dimension import Category, categorize
from storyalign.benchmark.recipe import Recipe
from storyalign.llm.steps import Dropped, Row
from storyalign.records import DIMENSIONS, BadRow, Instance
from storyalign.text import content_id


def too_few_judges(rated: Row, recipe: Recipe) -> Dropped | None:
    """Return why a group can become no instance whatever people say: too few judges with a valid rating of it.

    A judge who has not been asked yet may still change that.
    """
    judges, needed = len(rated["ratings"]), recipe.ratings.min_judges
    if judges >= needed:
        return None
    return Dropped(rated["id"], f"rated by {judges} judges; the dimension needs {needed}")


def dimension_of(settled: Row, rated: Row, recipe: Recipe) -> Category:
    """Return the dimension that sets the chosen story apart.

    Args:
        settled: a group with its final ``ranking``.
        rated: its ratings by judge; a story's score is the mean over the judges with a valid rating.
        recipe: the tolerance of stage 1.
    """
    judges = list(rated["ratings"].values())
    means = [
        {name: sum(judge[candidate][name] for judge in judges) / len(judges) for name in DIMENSIONS}
        for candidate in settled["ranking"]
    ]
    return categorize(means[0], means[1:], tie_tolerance=recipe.settling.tie_tolerance)


def instance_of(group: Row, settled: Row, category: Category) -> Instance | Dropped:
    """Make the instance of a group."""
    ordered: Sequence[Row] = [group["candidates"][candidate] for candidate in settled["ranking"]]
    stories = [candidate["story"] for candidate in ordered]
    row: Row = {
        "id": content_id("rmb", group["id"], *stories),
        "prompt": group["prompt"],
        "chosen": stories[0],
        "rejected": stories[1:],
        "dimension": category.dimension,
        "dimension_stage": category.stage,
        "source": group["source"],
        "chosen_writer": ordered[0]["writer"],
        "rejected_writers": [candidate["writer"] for candidate in ordered[1:]],
        "language": group["language"],
        "corpus": group["corpus"],
        "license": group["license"],
        "tau_avg": settled["tau_avg"],
        "route": settled["route"],
    }
    try:
        return Instance.from_row(row).require_storyrmb()
    except BadRow as error:
        return Dropped(group["id"], str(error))
