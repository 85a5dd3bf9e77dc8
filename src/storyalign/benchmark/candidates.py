"""Candidate stories: four writers for a premise, or three and the person whose story came with it (Appendix B)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from storyalign.benchmark.recipe import Recipe
from storyalign.corpus.duplicates import THRESHOLD, similarity
from storyalign.files import RowsById
from storyalign.llm.prompts import fence_tag, fenced, load_prompt
from storyalign.llm.steps import Dropped, Request, Row, RowDropped, Step, user_message
from storyalign.llm.story_replies import read_story
from storyalign.records import SOURCES
from storyalign.text import letters_key


def writers_of(source: str, recipe: Recipe) -> tuple[str, ...]:
    """Name the endpoints that write for a premise of this source."""
    settings = recipe.candidates
    return settings.human_llm_writers if source == "human_llm" else settings.writers


class Writing(NamedTuple):
    """The stories that one endpoint writes for premises of one source."""

    writer: str
    source: str

    @property
    def folder(self) -> str:
        """Where they stand, below ``candidates/``."""
        return f"{self.writer}/beside_human" if self.source == "human_llm" else self.writer


def writings(recipe: Recipe) -> list[Writing]:
    """Return who writes for which source."""
    return [Writing(writer, source) for source in SOURCES for writer in writers_of(source, recipe)]


def premises_for(writing: Writing, pool: Iterable[Row]) -> Iterator[Row]:
    """Yield the premises of one source, without the human stories."""
    for row in pool:
        if row["source"] == writing.source:
            yield {"id": row["id"], "prompt": row["prompt"], "source": row["source"]}


def writing_step(writing: Writing, recipe: Recipe) -> Step:
    """Write one story for a premise; cut, refused and stubby ones are written again, so many times.

    Beside a human story the prompt asks for more human-like prose (Appendix D, Table 7).
    """
    prompt = load_prompt("write_beside_human" if writing.source == "human_llm" else "write_candidate")
    settings = recipe.candidates

    def request(row: Row) -> Request:
        premise = fenced("premise", row["prompt"], fence_tag((row["prompt"],)))
        text = prompt.fill(words=str(settings.words), premise=premise)
        seed = recipe.seed_for("story", writing.writer, row["id"])
        return Request(user_message(text), settings.max_tokens, settings.temperature, seed)

    def read(row: Row, reply: str) -> Row:
        story = read_story(reply, min_words=settings.fewest_words)
        if letters_key(story) == letters_key(row["prompt"]):
            raise RowDropped("the reply repeats the premise")
        return {**row, "story": story}

    return Step("writing", prompt, request, read, tries=settings.tries)


def groups_of(
    pool: Iterable[Row],
    stories: Mapping[Writing, RowsById],
    failures: Mapping[Writing, RowsById],
    recipe: Recipe,
) -> Iterator[Row | Dropped]:
    """Put the stories of each premise together; a group that lacks one comes to nothing, and says whose.

    Args:
        pool: premises, a human story among them where the source is ``human_llm``.
        stories: what each endpoint wrote for each source.
        failures: what came to nothing there, with its reason.
        recipe: names the writers.
    """
    for premise in pool:
        candidates: list[dict[str, Any]] = []
        if premise["source"] == "human_llm":
            candidates.append({"story": premise["human_story"], "writer": premise["human_writer"], "made_by": None})
        lacking: tuple[str, bool] | None = None
        for writer in writers_of(premise["source"], recipe):
            writing = Writing(writer, premise["source"])
            row = stories[writing].get(premise["id"])
            if row is None:
                failure = failures[writing].get(premise["id"]) or {"reason": "not written yet", "again": True}
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
