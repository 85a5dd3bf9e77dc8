"""What a construction will ask for, before it asks: the rows of each step, real where they exist, assumed where not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.benchmark.candidates import premises_for, writing_step, writings
from storyalign.benchmark.premises import Themes, check_step, enrich_step, restyle_step, seed_calls, seed_step
from storyalign.benchmark.ratings import rating_step
from storyalign.benchmark.recipe import Recipe
from storyalign.benchmark.sensitive_content import sensitivity_step
from storyalign.files import read_jsonl
from storyalign.llm.steps import Row, Step

_FILLER = (
    "The keeper climbed the stair again before dawn, and while the gulls argued over the bread that somebody had left"
    " on the wet stones, he read the letter for the third time and could not say who had written it."
)
_SEED_WORDS, _PREMISE_WORDS = 20, 40
_EXAMPLES = 50
SIZE_NOTE = "limit.txt"
"""Says in a construction's folder of which size its runs are."""


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
        seeds = _made(source, limit, folder) or _assumed(expected, source, seed=prose(_SEED_WORDS))
        assumed = not isinstance(seeds, _Made)
        yield Planned(enrich_step(recipe), settings.endpoint, seeds, source, premises / "plain", assumed)
        source = premises / "plain/rows.jsonl"
        plain = _made(source, limit, folder) or _assumed(expected, source, plain=prose(_PREMISE_WORDS))
        assumed = not isinstance(plain, _Made)
        restyle = restyle_step(recipe, themes.styles)
        yield Planned(restyle, settings.endpoint, plain, source, premises / "styled", assumed)
        made += expected
    if settings.check is not None:
        source = premises / "to_check.jsonl"
        unchecked = _made(source, limit, folder) or _assumed(made, source, prompt=prose(_PREMISE_WORDS))
        assumed = not isinstance(unchecked, _Made)
        yield Planned(check_step(recipe), settings.check, unchecked, source, premises / "checked", assumed)
    counts = {
        "llm_llm": _smallest(made, settings.wanted, limit),
        "human_llm": _smallest(human, recipe.human_premises.wanted, limit),
    }
    if (judge := recipe.human_premises.check) is not None:
        source = premises / "human_to_check.jsonl"
        likely = {"human_story": prose(recipe.candidates.words)}
        drawn = _made(source, limit, folder) or _assumed(counts["human_llm"], source, "human_llm", **likely)
        assumed = not isinstance(drawn, _Made)
        yield Planned(sensitivity_step(recipe), judge, drawn, source, premises / "human_checked", assumed)
    source = folder / "premises.jsonl"
    pool = _made(source, limit, folder)
    premise_rows: list[Row] = pool or [
        row for name, n in counts.items() for row in _assumed(n, source, name, prompt=prose(_PREMISE_WORDS))
    ]
    for writing in writings(recipe):
        rows = list(premises_for(writing, premise_rows))
        place = folder / "candidates" / writing.folder
        yield Planned(writing_step(writing, recipe), writing.writer, rows, place / "source.jsonl", place, pool is None)
    source = folder / "candidates.jsonl"
    groups = _made(source, limit, folder)
    story = {"story": prose(recipe.candidates.words)}
    group_rows: list[Row] = groups or [
        row
        for name in counts
        for row in _assumed(
            sum(premise["source"] == name for premise in premise_rows),
            source,
            name,
            prompt=prose(_PREMISE_WORDS),
            candidates=[story] * 4,
        )
    ]
    for judge in recipe.ratings.judges:
        yield Planned(rating_step(judge, recipe), judge, group_rows, source, folder / "ratings" / judge, groups is None)


def size_note(limit: int | None) -> str:
    """Write the content of ``SIZE_NOTE``."""
    return f"{'all' if limit is None else limit}\n"


def prose(words: int) -> str:
    """Write English filler of so many words; its words have the usual length."""
    filler = _FILLER.split()
    return " ".join(filler[n % len(filler)] for n in range(words))


class _Made(list[Row]):
    """Rows that a run has made."""


def _made(path: Path, limit: int | None, folder: Path) -> _Made | None:
    """Read the rows of a step if runs of this size, and not of an earlier one, have written them."""
    note = folder / SIZE_NOTE
    if not path.is_file() or not note.is_file() or note.read_text("utf-8") != size_note(limit):
        return None
    if path.stat().st_mtime_ns < note.stat().st_mtime_ns:
        return None
    return _Made(line.row for line in read_jsonl(path)) or None


def _assumed(count: int, path: Path, source: str | None = None, **likely: Any) -> list[Row]:
    """Make rows like those that a trial has left in a file, else likely ones."""
    left = (line.row for line in (read_jsonl(path) if path.is_file() else ()))
    known = list(islice((row for row in left if source is None or row["source"] == source), _EXAMPLES)) or [likely]
    return [
        {**known[n % len(known)], "id": f"assumed-{source}-{n}", **({"source": source} if source else {})}
        for n in range(count)
    ]


def _smallest(count: int, *bounds: int | None) -> int:
    return min(count, *(bound for bound in bounds if bound is not None), count)
