"""Candidate stories: four writers for a premise, or three and the person whose story came with it (Appendix B)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from storyalign.benchmark.recipe import Recipe
from storyalign.corpus.duplicates import THRESHOLD, comparable_words, similarity
from storyalign.files import RowsById
from storyalign.llm.prompts import fence_tag, fenced, load_prompt
from storyalign.llm.steps import Dropped, Request, Row, RowDropped, Step, user_message
from storyalign.llm.story_replies import read_story


def writers_of(source: str, recipe: Recipe) -> tuple[str, ...]:
    """Name the endpoints that write for a premise of this source."""
    settings = recipe.candidates
    return settings.human_llm_writers if source == "human_llm" else settings.writers


def premises_for(writer: str, pool: Iterable[Row], recipe: Recipe) -> Iterator[Row]:
    """Give the premises that one endpoint writes for, without the human stories."""
    for row in pool:
        if writer in writers_of(row["source"], recipe):
            yield {"id": row["id"], "prompt": row["prompt"], "source": row["source"]}


def writing_step(writer: str, recipe: Recipe) -> Step:
    """Write one story for a premise; cut, refused and stubby ones are written again, so many times."""
    prompt, settings = load_prompt("write_candidate"), recipe.candidates

    def request(row: Row) -> Request:
        premise = fenced("premise", row["prompt"], fence_tag((row["prompt"],)))
        text = prompt.fill(words=str(settings.words), premise=premise)
        seed = recipe.seed_for("story", writer, row["id"])
        return Request(user_message(text), settings.max_tokens, settings.temperature, seed)

    def read(row: Row, reply: str) -> Row:
        story = read_story(reply, min_words=settings.fewest_words)
        if comparable_words(story) == comparable_words(row["prompt"]):
            raise RowDropped("the reply repeats the premise")
        return {**row, "story": story}

    return Step("writing", prompt, request, read, tries=settings.tries)


def groups_of(
    pool: Iterable[Row],
    stories: Mapping[str, RowsById],
    failures: Mapping[str, RowsById],
    recipe: Recipe,
) -> Iterator[Row | Dropped]:
    """Put the stories of each premise together; a group that lacks one comes to nothing, and says whose.

    Args:
        pool: premises, a human story among them where the source is ``human_llm``.
        stories: what each endpoint wrote.
        failures: what came to nothing at each endpoint, with its reason.
        recipe: names the writers.
    """
    for premise in pool:
        candidates: list[dict[str, Any]] = []
        if premise["source"] == "human_llm":
            candidates.append({"story": premise["human_story"], "writer": premise["human_writer"], "made_by": None})
        lacking: tuple[str, bool] | None = None
        for writer in writers_of(premise["source"], recipe):
            row = stories[writer].get(premise["id"])
            if row is None:
                failure = failures[writer].get(premise["id"]) or {"reason": "not written yet", "again": True}
                lacking = f"{writer}: {failure['reason']}", bool(failure["again"])
                break
            made_by = row["made_by"]
            candidates.append({"story": row["story"], "writer": recipe.endpoints[writer].model, "made_by": made_by})
        if lacking is not None:
            yield Dropped(premise["id"], *lacking)
        elif (likeness := max(similarity(a["story"], b["story"]) for a, b in combinations(candidates, 2))) >= THRESHOLD:
            same = "the same story" if likeness == 1 else f"nearly the same story (similarity {likeness:.2f})"
            yield Dropped(premise["id"], f"two writers gave {same}")
        else:
            kept = {key: value for key, value in premise.items() if key not in ("human_story", "human_writer")}
            yield {**kept, "candidates": candidates, "human": 0 if premise["source"] == "human_llm" else None}
