"""Making the constructions: each is a chain of stages; a stage is some runs of steps that need nothing of each other.

A construction is a generator. It yields a stage's runs, goes on when their folders hold the rows, and returns what it
made. So the one that drives it may run the steps, or only say what they would cost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.corpus.tally import Tally
from storyalign.errors import RecipeError
from storyalign.files import RowsById, atomic_path, read_jsonl, write_jsonl
from storyalign.llm.steps import Row, Step
from storyalign.preferences import back_generation, guided_continuation, llm_pairs, rewriting
from storyalign.preferences.offline_rewriting import offline_pairs
from storyalign.preferences.pair_files import MadePair, write_pairs
from storyalign.preferences.recipe import PreferenceRecipe
from storyalign.preferences.story_shelf import StoryShelf
from storyalign.records import BadRow
from storyalign.text import digest

PAIRS, POOL = "pairs.jsonl", "premises.jsonl"


class StepRun(NamedTuple):
    """One step to run for one endpoint."""

    step: Step
    source: Path
    endpoint: str
    folder: Path
    assumed: bool = False
    """Whether the source holds rows that stand for ones that are not made yet; for an estimate."""

    @property
    def rows(self) -> Iterator[Row]:
        """The rows of the source."""
        return _rows([self.source])


@dataclass(slots=True)
class Made:
    """What a construction made, and what it left out."""

    construction: str
    pairs: Path
    planned: Tally = field(default_factory=Tally)
    """Stories or premises that a row was planned for."""
    finished: Tally = field(default_factory=Tally)
    """Rows that became a pair."""


Construction = Generator[list[StepRun], None, Made]


def make_back_generation(recipe: PreferenceRecipe, out: Path, limit: int | None = None) -> Construction:
    """Draw pairs, have their premises written, and write the pairs and the premise pool."""
    settings = recipe.back_generation
    if settings is None or recipe.back_generation_endpoint is None:
        raise RecipeError("the recipe has no section back_generation")
    settings = _limited(settings, limit)
    made = Made("back_generation", out / PAIRS)
    write_jsonl(out / "planned.jsonl", back_generation.plan(StoryShelf(recipe.stories), settings, made.planned))
    endpoint = recipe.back_generation_endpoint
    run = StepRun(back_generation.step(settings), out / "planned.jsonl", endpoint, out / "premises" / endpoint)
    yield [run]
    rows = [run.folder / "rows.jsonl"]
    left = settings.target
    write_pairs(made.pairs, (back_generation.made_pair(row) for row, _ in zip(_rows(rows), range(left), strict=False)),
                made.finished)  # fmt: skip
    pool = (back_generation.pool_row(row) for row in _rows(rows))
    write_jsonl(out / POOL, {row["id"]: row for row in pool}.values())
    return made


def make_rewriting(recipe: PreferenceRecipe, out: Path, limit: int | None = None) -> Construction:
    """Have parts of stories rewritten, or edit them offline where the recipe names no writers."""
    settings = recipe.rewriting
    if settings is None:
        raise RecipeError("the recipe has no section rewriting")
    settings = _limited(settings, limit)
    made, shelf = Made("rewriting", out / PAIRS), StoryShelf(recipe.stories)
    if not recipe.rewriters:
        write_pairs(made.pairs, offline_pairs(shelf, settings, made.planned), made.finished)
        return made
    sources = _split(
        rewriting.plan(shelf, settings, made.planned),
        out / "planned",
        recipe.rewriters,
        lambda row: recipe.rewriters[_draw(row, settings.seed) % len(recipe.rewriters)],
    )
    step = rewriting.step(settings)
    runs = [StepRun(step, sources[name], name, out / "rewritten" / name) for name in recipe.rewriters]
    yield runs
    rows = _drawn([run.folder / "rows.jsonl" for run in runs], settings.seed)
    pairs = (rewriting.made_pair(row) for row, _ in zip(rows, range(settings.target), strict=False))
    write_pairs(made.pairs, pairs, made.finished)
    return made


def make_guided_continuation(recipe: PreferenceRecipe, out: Path, limit: int | None = None) -> Construction:
    """Have beginnings continued with and without the true continuation in sight, and pair the two."""
    settings = recipe.guided_continuation
    if settings is None:
        raise RecipeError("the recipe has no section guided_continuation")
    settings = _limited(settings, limit)
    made, writers = Made("guided_continuation", out / PAIRS), list(recipe.continuers)
    planned = out / "planned.jsonl"
    write_jsonl(planned, guided_continuation.plan(StoryShelf(recipe.stories), settings, made.planned))
    runs = []
    for place, name in enumerate(("guided", "unguided")):
        if name == "guided" and settings.chosen == "human":
            continue
        sources = _split(
            _rows([planned]),
            out / f"planned_{name}",
            writers,
            lambda row, place=place: guided_continuation.writers_of(row, writers, settings.seed)[place],  # type: ignore[misc]
        )
        step = guided_continuation.step(settings, guided=name == "guided")
        runs += [StepRun(step, sources[writer], writer, out / name / writer) for writer in writers]
    yield runs
    guided = [RowsById(run.folder / "rows.jsonl") for run in runs if run.step.name == "guided"]

    def pairs() -> Iterator[MadePair | tuple[str, str]]:
        left = settings.target
        unguided = [run.folder / "rows.jsonl" for run in runs if run.step.name == "unguided"]
        for row in _drawn(unguided, settings.seed):
            if not left:
                return
            item = guided_continuation.made_pair(_first(guided, row["id"]), row, settings)
            left -= isinstance(item, MadePair)
            yield (item, row["id"]) if isinstance(item, str) else item

    write_pairs(made.pairs, pairs(), made.finished)
    return made


def make_llm_pairs(recipe: PreferenceRecipe, out: Path, limit: int | None = None) -> Construction:
    """Have two stories written for each premise, some of the pairs judged in both orders, and pair them."""
    settings = recipe.llm_pairs
    if settings is None:
        raise RecipeError("the recipe has no section llm_pairs")
    settings = _limited(settings, limit)
    made = Made("llm_pairs", out / PAIRS)
    planned = out / "planned.jsonl"
    write_jsonl(planned, llm_pairs.plan(_premises(recipe, out), settings, made.planned))
    names = sorted({name for pairing in settings.pairings for name in (pairing.smaller, pairing.larger)})
    sources = _split(_rows([planned]), out / "planned_stories", names, lambda row: str(row["writer"]))
    step = llm_pairs.writing_step(settings)
    runs = [StepRun(step, sources[name], name, out / "stories" / name) for name in names]
    yield runs
    stories = [RowsById(run.folder / "rows.jsonl") for run in runs]
    judges = sorted({pairing.larger for pairing in settings.pairings})
    judging = llm_pairs.judging_step(settings)
    sources = _split(_to_judge(planned, stories), out / "planned_verdicts", judges, lambda row: str(row["judge"]))
    verdict_runs = [StepRun(judging, sources[name], name, out / "verdicts" / name) for name in judges]
    yield verdict_runs
    verdicts = [RowsById(run.folder / "rows.jsonl") for run in verdict_runs]

    def pairs() -> Iterator[MadePair | tuple[str, str]]:
        left = settings.target
        for row in _rows([planned]):
            if not left or not row["id"].endswith("-a"):
                continue
            base = row["id"].removesuffix("-a")
            both = None
            if row["judge"] is not None:
                both = (_first(verdicts, f"{base}-ab"), _first(verdicts, f"{base}-ba"))
            item = llm_pairs.made_pair(_first(stories, row["id"]), _first(stories, f"{base}-b"), both)
            left -= isinstance(item, MadePair)
            yield (item, base) if isinstance(item, str) else item

    write_pairs(made.pairs, pairs(), made.finished)
    return made


MAKERS: dict[str, Callable[[PreferenceRecipe, Path, int | None], Construction]] = {
    "back_generation": make_back_generation,
    "rewriting": make_rewriting,
    "guided_continuation": make_guided_continuation,
    "llm_pairs": make_llm_pairs,
}
"""In the order in which they are made: the premises of the first go into the pool of the last."""


def expect_verdicts(recipe: PreferenceRecipe, out: Path) -> list[StepRun]:
    """Plan the verdicts of stories that are not written yet, of the length asked for; for an estimate.

    Args:
        recipe: the recipe.
        out: the folder of the pairs of LLM stories, with its plan.
    """
    settings = recipe.llm_pairs
    if settings is None:
        return []
    story = "word " * settings.words
    judges = sorted({pairing.larger for pairing in settings.pairings})

    def rows() -> Iterator[Row]:
        for row in _rows([out / "planned.jsonl"]):
            if row["judge"] is not None and row["id"].endswith("-a"):
                yield from llm_pairs.judging_rows({**row, "story": story}, {**row, "story": story})

    sources = _split(rows(), out / "expected_verdicts", judges, lambda row: str(row["judge"]))
    step = llm_pairs.judging_step(settings)
    return [StepRun(step, sources[name], name, out / "verdicts" / name, assumed=True) for name in judges]


def expect_premises(recipe: PreferenceRecipe, out: Path) -> PreferenceRecipe:
    """Add a stand-in to the pool for each premise that back-generation will write; for an estimate before it has.

    Args:
        recipe: the recipe.
        out: the folder of back-generation, with its plan.
    """
    path = out / "expected_premises.jsonl"
    rows = ({"id": row["id"], "prompt": f"{row['id']} " + "word " * 60} for row in _rows([out / "planned.jsonl"]))
    write_jsonl(path, rows)
    return replace(recipe, premises=(*recipe.premises, str(path)))


def _limited(settings: Any, limit: int | None) -> Any:
    """Make no more than ``limit`` rows, the first ones of the whole plan."""
    return settings if limit is None else replace(settings, target=min(limit, settings.target), spare=0.0)


def _premises(recipe: PreferenceRecipe, out: Path) -> Iterator[dict[str, Any]]:
    pool = out.parent / "back_generation" / POOL
    paths = [Path(path) for path in recipe.premises] + ([pool] if pool.exists() else [])
    if not paths:
        raise RecipeError("llm_pairs: no premises; name JSONL files in premises, or make back_generation first")
    for path in paths:
        for line in read_jsonl(path):
            prompt = line.row.get("prompt", line.row.get("premise"))
            if not isinstance(prompt, str) or not prompt.strip():
                raise line.error(str(BadRow("prompt is missing or empty")))
            yield {**line.row, "prompt": prompt.strip(), "id": line.row.get("id", f"{path.stem}-{line.number}")}


def _to_judge(planned: Path, stories: Sequence[RowsById]) -> Iterator[Row]:
    for row in _rows([planned]):
        if row["judge"] is not None and row["id"].endswith("-a"):
            first, second = _first(stories, row["id"]), _first(stories, row["id"].removesuffix("-a") + "-b")
            if first is not None and second is not None:
                yield from llm_pairs.judging_rows(first, second)


def _split(rows: Iterable[Row], folder: Path, names: Iterable[str], name_of: Callable[[Row], str]) -> dict[str, Path]:
    """Write rows to one file a name, all of them or none."""
    paths = {name: folder / f"{name}.jsonl" for name in names}
    with ExitStack() as files:
        handles = {}
        for name, path in paths.items():
            temporary = files.enter_context(atomic_path(path))
            handles[name] = files.enter_context(temporary.open("wb", buffering=1 << 20))
        for row in rows:
            handles[name_of(row)].write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    return paths


def _rows(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        for line in read_jsonl(path):
            yield line.row


def _drawn(paths: Iterable[Path], seed: int) -> Iterator[Row]:
    """Yield the rows of all writers in an order by seed and id, so that none of them loses the whole surplus."""
    places = [(digest("drawn", str(seed), row_id), row_id, file) for file in map(RowsById, paths) for row_id in file]
    places.sort(key=lambda place: place[:2])
    yield from (row for _, row_id, file in places if (row := file.get(row_id)) is not None)


def _first(files: Iterable[RowsById], row_id: str) -> Row | None:
    return next((row for file in files if (row := file.get(row_id)) is not None), None)


def _draw(row: Row, seed: int) -> int:
    return int(digest(str(seed), row["id"])[:8], 16)
