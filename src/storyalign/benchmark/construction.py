"""The construction of the benchmark as a folder: each step reads the files of the step before it and writes its own.

    premises/       calls, seeds, plain, styled and checked premises; review.csv for people; dropped.jsonl
    premises.jsonl  the pool
    candidates/     one folder a writer; candidates.jsonl holds the groups
    ratings/        one folder a judge; ratings.jsonl holds all of them, group by group
    routes.jsonl    agreement and route; tasks.jsonl is what annotators are asked
    settled.jsonl   the final rankings, after verdicts.jsonl
    instances.jsonl the benchmark's rows, for ``storyalign build storyrmb``

Beside each file of rows stands ``<name>_dropped.jsonl``. Every step may be run again at any time: calls that were
answered are not made again, and the files follow from the answers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from storyalign.benchmark.assemble import dimension_of, instance_of, too_few_judges
from storyalign.benchmark.candidates import groups_of, premises_for, writing_step, writings
from storyalign.benchmark.premise_pool import (
    filter_premises,
    human_premises,
    review_sheet,
    review_verdicts,
    reviewed_text,
)
from storyalign.benchmark.premises import (
    Themes,
    check_step,
    enrich_step,
    restyle_step,
    seed_calls,
    seed_step,
    seeds_of,
)
from storyalign.benchmark.ratings import rated_groups, rating_step
from storyalign.benchmark.recipe import Recipe
from storyalign.benchmark.sensitive_content import sensitivity_step, without_sensitive
from storyalign.benchmark.settling import routes_of, settle, task_of
from storyalign.corpus.table_files import read_table
from storyalign.errors import DataError
from storyalign.files import Line, RowsById, atomic_path, read_jsonl, write_jsonl, write_text
from storyalign.llm.steps import Dropped, Job, Row
from storyalign.records import BadRow, OtherTexts, check_judged_texts
from storyalign.text import judged_texts

Ask = Callable[[Sequence[Job]], object]
"""Runs steps at several endpoints at the same time, to their end."""


class Kept(NamedTuple):
    """What a step without calls did."""

    name: str
    kept: int
    dropped: int
    waiting: int
    """Dropped for now: a later run may keep them."""
    about_others: int = 0
    """Answers of people that were not used, as their premise has another text now."""


class TakenVerdicts(NamedTuple):
    """What became of the verdicts of a file."""

    known: int
    """Groups of the folder with a verdict now."""
    about_others: list[str]
    """Ids of verdicts that were not taken: their group has another premise or other stories now."""


class Construction:
    """One folder and the recipe that fills it.

    Args:
        folder: where everything goes.
        recipe: what to do.
        ask: how calls are made; all jobs of one call of it may run at the same time.
        limit: use so many calls for seeds, and so many premises of each source; a trial.
    """

    def __init__(self, folder: Path, recipe: Recipe, ask: Ask, limit: int | None = None):
        self.folder, self.recipe, self.limit = folder, recipe, limit
        self._ask = ask

    def premises(self, themes: Themes | None, own: Iterable[Row], human: Callable[[], Iterable[Row]]) -> Kept:
        """Fill the pool: premises by LLMs, of one's own, and with human stories.

        Args:
            themes: the taxonomy; None where the recipe names no endpoint for premises.
            own: premises of ``premises.files``, as ``own_premise`` gives them.
            human: opens the rows of ``human_premises.files``.
        """
        folder, settings = self.folder / "premises", self.recipe.premises
        folder.mkdir(parents=True, exist_ok=True)
        made: list[Path] = []
        if settings.endpoint is not None and themes is not None:
            self._write(folder / "calls.jsonl", _first(seed_calls(themes, self.recipe), self.limit))
            name = settings.endpoint
            self._ask([Job(seed_step(self.recipe), folder / "calls.jsonl", name, folder / "seeds")])
            self._write(folder / "seeds.jsonl", seeds_of(_rows(folder / "seeds/rows.jsonl")))
            self._ask([Job(enrich_step(self.recipe), folder / "seeds.jsonl", name, folder / "plain")])
            restyle = restyle_step(self.recipe, themes.styles)
            self._ask([Job(restyle, folder / "plain/rows.jsonl", name, folder / "styled")])
            made.append(folder / "styled/rows.jsonl")
        write_jsonl(folder / "own.jsonl", own)
        made.append(folder / "own.jsonl")
        if settings.check is not None:
            write_jsonl(folder / "to_check.jsonl", (row for path in made for row in _rows(path)))
            self._ask([Job(check_step(self.recipe), folder / "to_check.jsonl", settings.check, folder / "checked")])
            made = [folder / "checked/rows.jsonl"]
        rows = (row for path in made for row in _rows(path))
        review = self._review()
        passed = self._part(filter_premises(rows, self.recipe, review), folder / "llm.jsonl")
        met = {reviewed_text(row) for path in made for row in _rows(path)}
        drawn = self._part(self._human_premises(human), folder / "human.jsonl")
        sheet = io.StringIO()
        table = csv.DictWriter(sheet, ["id", "family", "premise", "keep", "note", "texts"])
        table.writeheader()
        table.writerows(review_sheet(_rows(folder / "llm.jsonl"), self.recipe.seed))
        write_text(folder / "to_review.csv", "\ufeff" + sheet.getvalue())
        pool = [folder / "llm.jsonl", folder / "human.jsonl"]
        kept = write_jsonl(self.folder / "premises.jsonl", (r for p in pool for r in _first(_rows(p), self.limit)))
        return Kept("premises", kept, passed.dropped + drawn.dropped, drawn.waiting, len(review.keys() - met))

    def _human_premises(self, human: Callable[[], Iterable[Row]]) -> Iterator[Row | Dropped]:
        """Draw premises with a human story, and have the stories checked where the recipe names who does it."""
        folder, judge = self.folder / "premises", self.recipe.human_premises.check
        drawn = human_premises(human, self.recipe)
        if judge is None:
            return drawn
        to_check = (row for row in drawn if not isinstance(row, Dropped))
        self._write(folder / "human_to_check.jsonl", _first(to_check, self.limit))
        place = folder / "human_checked"
        self._ask([Job(sensitivity_step(self.recipe), folder / "human_to_check.jsonl", judge, place)])
        answers, failures = RowsById(place / "rows.jsonl"), RowsById(place / "dropped.jsonl")
        # Drawn once more, as memory holds no story.
        return without_sensitive(human_premises(human, self.recipe), answers, failures)

    def candidates(self) -> Kept:
        """Have the stories written and put the groups together."""
        folder, pool, recipe = self.folder / "candidates", self._need("premises.jsonl", "premises"), self.recipe
        jobs = {
            writing: Job(writing_step(writing, recipe), place / "source.jsonl", writing.writer, place)
            for writing in writings(recipe)
            for place in [folder / writing.folder]
        }
        for writing, job in jobs.items():
            self._write(job.source, premises_for(writing, _rows(pool)))
        self._ask(list(jobs.values()))
        stories = {writing: RowsById(job.out / "rows.jsonl") for writing, job in jobs.items()}
        failures = {writing: RowsById(job.out / "dropped.jsonl") for writing, job in jobs.items()}
        groups = groups_of(_rows(pool), stories, failures, recipe)
        return self._part(groups, self.folder / "candidates.jsonl")

    def ratings(self) -> Kept:
        """Have the groups rated."""
        folder, groups = self.folder / "ratings", self._need("candidates.jsonl", "candidates")
        judges = self.recipe.ratings.judges
        self._ask([Job(rating_step(judge, self.recipe), groups, judge, folder / judge) for judge in judges])
        ratings, failures = self._results(folder, judges)
        return self._part(rated_groups(_rows(groups), ratings, failures), self.folder / "ratings.jsonl")

    def agreement(self) -> Kept:
        """Compute agreement and routes, and write what annotators are asked.

        Groups that can become no instance, as too few judges rated them, are not given to people.
        """
        rated, groups = self._need("ratings.jsonl", "ratings"), RowsById(self._need("candidates.jsonl", "candidates"))
        routes = routes_of(_rows(rated), self.recipe.ratings.judges, self.recipe)
        counts = self._part(routes, self.folder / "routes.jsonl")
        ratings = RowsById(rated)
        tasks = (
            task_of(_known(groups, route["id"]), route)
            for route in _rows(self.folder / "routes.jsonl")
            if too_few_judges(_known(ratings, route["id"]), self.recipe) is None
        )
        write_jsonl(self.folder / "tasks.jsonl", tasks)
        return counts

    def take_verdicts(self, verdicts: Iterable[Line]) -> TakenVerdicts:
        """Take the annotators' settled verdicts in; later ones replace earlier ones of the same group.

        A verdict about another premise or other stories than the group has now is not taken.

        Raises:
            RowError: a verdict is about no group of the folder, or lacks the digest of what was judged.
        """
        known = self._verdicts()
        about_others: list[str] = []
        groups = RowsById(self._need("candidates.jsonl", "candidates"))
        for line in verdicts:
            group = groups.get(str(line.row.get("id")))
            if group is None:
                raise line.error(f"no group of {self.folder} has this id")
            try:
                check_judged_texts(line.row, _texts_of(group))
            except OtherTexts:
                about_others.append(line.row["id"])
            except BadRow as error:
                raise line.error(str(error)) from error
            else:
                known[line.row["id"]] = line.row
        return TakenVerdicts(write_jsonl(self.folder / "verdicts.jsonl", known.values()), about_others)

    def settle(self) -> Kept:
        """Settle the rankings and name the dimensions."""
        routes, verdicts = self._need("routes.jsonl", "agreement"), self._verdicts()
        rated = RowsById(self._need("ratings.jsonl", "ratings"))
        groups = RowsById(self._need("candidates.jsonl", "candidates"))

        def settled() -> Iterator[Row | Dropped]:
            for line in read_jsonl(routes):
                if (hopeless := too_few_judges(_known(rated, line.row["id"]), self.recipe)) is not None:
                    yield hopeless
                    continue
                verdict = verdicts.get(line.row["id"])
                try:
                    if verdict is not None:
                        check_judged_texts(verdict, _texts_of(_known(groups, line.row["id"])))
                    row = settle(line.row, verdict, self.recipe)
                except OtherTexts:
                    yield Dropped(line.row["id"], "waits for annotators: its stories changed since their verdict", True)
                    continue
                except BadRow as error:
                    raise line.error(str(error)) from error
                if isinstance(row, Dropped):
                    yield row
                    continue
                category = dimension_of(row, _known(rated, row["id"]), self.recipe)
                yield {**row, "dimension": category.dimension, "stage": category.stage}

        return self._part(settled(), self.folder / "settled.jsonl")

    def assemble(self) -> Kept:
        """Write the instances.

        Beside the dataset's columns they carry the human author's key, by which the mix of preference pairs leaves out
        pairs by the same author; ``storyalign build`` drops it.
        """
        from storyalign.benchmark.dimension import Category

        settled, groups = (
            self._need("settled.jsonl", "dimension"),
            RowsById(self._need("candidates.jsonl", "candidates")),
        )

        def instances() -> Iterator[Row | Dropped]:
            for row in _rows(settled):
                group = _known(groups, row["id"])
                made = instance_of(group, row, Category(row["dimension"], row["stage"]))
                author = {"author_key": group.get("author_key")}
                yield made if isinstance(made, Dropped) else {**made.to_row(), **author}

        return self._part(instances(), self.folder / "instances.jsonl")

    def _part(self, rows: Iterable[Row | Dropped], path: Path) -> Kept:
        """Write rows and, beside them, what was dropped."""
        import orjson

        kept = dropped = waiting = 0
        beside = path.with_name(f"{path.stem}_dropped.jsonl")
        with (
            atomic_path(path) as rows_path,
            atomic_path(beside) as dropped_path,
            rows_path.open("wb") as rows_file,
            dropped_path.open("wb") as dropped_file,
        ):
            for row in rows:
                if isinstance(row, Dropped):
                    waiting, dropped = waiting + row.again, dropped + (not row.again)
                    record = {"id": row.id, "reason": row.reason, "again": row.again}
                    dropped_file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
                else:
                    kept += 1
                    rows_file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        return Kept(path.stem, kept, dropped, waiting)

    def _write(self, path: Path, rows: Iterable[Row]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_jsonl(path, rows)

    def _results(self, folder: Path, names: Iterable[str]) -> tuple[dict[str, RowsById], dict[str, RowsById]]:
        rows = {name: RowsById(folder / name / "rows.jsonl") for name in names}
        return rows, {name: RowsById(folder / name / "dropped.jsonl") for name in rows}

    def _verdicts(self) -> dict[str, Row]:
        path = self.folder / "verdicts.jsonl"
        return {row["id"]: row for row in _rows(path)} if path.is_file() else {}

    def _review(self) -> dict[str, bool]:
        path = self.folder / "premises/reviewed.csv"
        if not path.is_file():
            return {}
        return review_verdicts(read_table(path, short_rows=True))

    def _need(self, name: str, verb: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise DataError(f"{path}: missing; run `storyalign construct {verb}` first")
        return path


def _rows(path: Path) -> Iterator[Row]:
    return (line.row for line in read_jsonl(path))


def _first(rows: Iterable[Row], limit: int | None) -> Iterator[Row]:
    from itertools import islice

    return islice(rows, limit)


def _texts_of(group: Row) -> str:
    return judged_texts(group["prompt"], (candidate["story"] for candidate in group["candidates"]))


def _known(rows: RowsById, row_id: str) -> Row:
    row = rows.get(row_id)
    if row is None:
        raise DataError(f"{rows.path}: has no row {row_id}; run the step that writes it again")
    return row
