"""What a construction will ask for, before it asks: the rows of each step, real where they exist, assumed where not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from storyalign.benchmark.candidates import premises_for, writing_step
from storyalign.benchmark.premises import Themes, check_step, enrich_step, restyle_step, seed_calls, seed_step
from storyalign.benchmark.ratings import rating_step
from storyalign.benchmark.recipe import Recipe
from storyalign.files import read_jsonl
from storyalign.llm.steps import Row, Step
from storyalign.text import count_words

_FILLER = (
    "The keeper climbed the stair again before dawn, and while the gulls argued over the bread that somebody had left"
    " on the wet stones, he read the letter for the third time and could not say who had written it."
)
_SEED_WORDS = 20


class Planned(NamedTuple):
    """One step at one endpoint."""

    step: Step
    endpoint: str
    rows: Iterable[Row]
    source: Path
    """The file that the rows stand in, or will."""
    folder: Path
    assumed: bool
    """The rows stand for ones that are not made yet: as many as there can be, of the expected length."""


def plan(
    folder: Path, recipe: Recipe, themes: Themes | None, *, own: int, human: int, limit: int | None = None
) -> Iterator[Planned]:
    """List the steps in order.

    Args:
        folder: the construction's folder; what a run of the same size has made there is used.
        recipe: what to do.
        themes: the taxonomy; None where the recipe makes no premises.
        own: premises in ``premises.files``.
        human: stories in ``human_premises.files``.
        limit: as for the run.
    """
    premises, settings = folder / "premises", recipe.premises
    made = own
    if settings.endpoint is not None and themes is not None:
        calls = list(islice(seed_calls(themes, recipe), limit))
        yield Planned(seed_step(recipe), settings.endpoint, calls, premises / "calls.jsonl", premises / "seeds", False)
        expected = len(calls) * settings.seeds_per_call
        source = premises / "seeds.jsonl"
        seeds = _made(source, limit, folder) or _assumed(expected, seed=prose(_SEED_WORDS))
        assumed = not isinstance(seeds, _Made)
        yield Planned(enrich_step(recipe), settings.endpoint, seeds, source, premises / "plain", assumed)
        source = premises / "plain/rows.jsonl"
        plain = _made(source, limit, folder) or _assumed(expected, plain=prose(40))
        assumed = not isinstance(plain, _Made)
        restyle = restyle_step(recipe, themes.styles)
        yield Planned(restyle, settings.endpoint, plain, source, premises / "styled", assumed)
        made += expected
    if settings.check is not None:
        source = premises / "to_check.jsonl"
        unchecked = _made(source, limit, folder) or _assumed(made, prompt=prose(40))
        assumed = not isinstance(unchecked, _Made)
        yield Planned(check_step(recipe), settings.check, unchecked, source, premises / "checked", assumed)
    counts = {
        "llm_llm": _smallest(made, settings.wanted, limit),
        "human_llm": _smallest(human, recipe.human_premises.wanted, limit),
    }
    pool = _made(folder / "premises.jsonl", limit, folder)
    premise_rows = pool or [
        row for source, n in counts.items() for row in _assumed(n, source, prompt=prose(40), source=source)
    ]
    writers = dict.fromkeys((*recipe.candidates.writers, *recipe.candidates.human_llm_writers))
    for writer in writers:
        rows = list(premises_for(writer, premise_rows, recipe))
        place = folder / "candidates" / writer
        yield Planned(writing_step(writer, recipe), writer, rows, place / "source.jsonl", place, pool is None)
    source = folder / "candidates.jsonl"
    groups = _made(source, limit, folder)
    story = {"story": prose(_story_words(folder, recipe))}
    group_rows = groups or [{**row, "candidates": [story] * 4} for row in premise_rows]
    for judge in recipe.ratings.judges:
        yield Planned(rating_step(judge, recipe), judge, group_rows, source, folder / "ratings" / judge, groups is None)


def prose(words: int) -> str:
    """Write English filler of so many words; its words have the usual length."""
    filler = _FILLER.split()
    return " ".join(filler[n % len(filler)] for n in range(words))


class _Made(list[Row]):
    """Rows that a run has made."""


def _made(path: Path, limit: int | None, folder: Path) -> _Made | None:
    """Read the rows of a step that a run of this size has made; None where there are none."""
    if not path.is_file() or _size_of_run(folder) != str(limit):
        return None
    return _Made(line.row for line in read_jsonl(path)) or None


def _size_of_run(folder: Path) -> str | None:
    note = folder / "limit.txt"
    return note.read_text("utf-8").strip() if note.is_file() else None


def _assumed(count: int, prefix: str = "row", **fields: str) -> list[Row]:
    return [{"id": f"assumed-{prefix}-{n}", **fields} for n in range(count)]


def _smallest(count: int, *bounds: int | None) -> int:
    return min(count, *(bound for bound in bounds if bound is not None), count)


def _story_words(folder: Path, recipe: Recipe) -> int:
    """Give the mean length of the stories that a trial has brought, else the length asked for."""
    path = folder / "candidates.jsonl"
    lengths = [
        count_words(candidate["story"])
        for line in (islice(read_jsonl(path), 50) if path.is_file() else ())
        for candidate in line.row["candidates"]
    ]
    return round(sum(lengths) / len(lengths)) if lengths else recipe.candidates.words
