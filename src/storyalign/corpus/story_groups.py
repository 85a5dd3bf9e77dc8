"""Every group of stories that a dataset holds, one after another, whether or not anybody said which story is best.

``load_evaluation_set`` loads what can be evaluated; here nothing is ordered, and only ids are kept in memory, so that
100,000 long pairs can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from storyalign.corpus.dataset_rows import DatasetRow, open_dataset
from storyalign.corpus.evaluation_sets import read_instances
from storyalign.corpus.judged_groups import is_judged_group, read_judged_groups
from storyalign.errors import DataError, RecipeError
from storyalign.files import Line, read_jsonl


class StoryGroup(NamedTuple):
    """A premise and the stories that were written for it."""

    id: str
    premise: str
    stories: tuple[str, ...]
    writers: tuple[str | None, ...]
    """One a story; None where nobody says."""
    language: str
    corpus: str
    n_withheld: int = 0
    """Stories whose text may not be passed on; they are not among ``stories``."""


class StoryGroups(NamedTuple):
    """A dataset's name and its groups, read as they are asked for."""

    name: str
    groups: Iterator[StoryGroup]


def open_story_groups(data: str | Path, config: str | None = None, split: str | None = None) -> StoryGroups:
    """Open whatever ``load_evaluation_set`` takes; of a folder or Hub dataset all splits unless one is named.

    Raises:
        DataError: the file is empty, or the folder is no dataset.
        RowError: while reading, a row is broken or an id comes twice.
        RecipeError: a configuration or split of a plain file is asked for.
    """
    path = Path(data)
    if not path.is_file():
        name, rows = open_dataset(data, config, split or "all")
        return StoryGroups(name, _of_instances(rows))
    if config or split:
        raise RecipeError(f"{path}: a file has no configuration and no split; leave out --config and --split")
    first = next(read_jsonl(path), None)
    if first is None:
        raise DataError(f"{path}: the file is empty")
    return StoryGroups(path.name, _of_judged(path) if is_judged_group(first.row) else _of_instances(read_jsonl(path)))


def _of_instances(rows: Iterable[Line | DatasetRow]) -> Iterator[StoryGroup]:
    for item in read_instances(rows):
        others = item.rejected_writers or (None,) * len(item.rejected)
        writers = (item.chosen_writer, *others)
        yield StoryGroup(item.id, item.prompt, item.stories, writers, item.language, item.corpus)


def _of_judged(path: Path) -> Iterator[StoryGroup]:
    for group in read_judged_groups(path):
        told = [(c.story, c.writer) for c in group.candidates if c.story is not None]
        stories, writers = tuple(story for story, _ in told), tuple(writer for _, writer in told)
        withheld = len(group.candidates) - len(told)
        yield StoryGroup(group.id, group.premise, stories, writers, group.language, group.corpus, withheld)
