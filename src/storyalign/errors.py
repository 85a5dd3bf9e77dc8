"""Every error that the kit raises on purpose.

    StoryAlignError            a user can mend it; the command line prints one line and ends with exit code 2
    |- RowError                a row of a file is broken; names file, line and id
    |- DataError               a dataset, folder or file does not hold what is needed
    |- ModelError              a model cannot be loaded, or cannot do what is asked
    |- RecipeError             a recipe or an option is unknown, missing or contradictory
    |- EndpointError           an endpoint does not answer as it should
    |- HubError                the Hub refused, or could not be reached
    '- MissingExtraError       a package of an optional extra is not installed

Messages say what is wrong, where, and what to do next. A bug is any other exception.
"""

from __future__ import annotations

from pathlib import Path


class StoryAlignError(Exception):
    """Base of all errors that a user can mend."""

    exit_code = 2


class DataError(StoryAlignError):
    """A dataset, folder or file does not hold what is needed."""


class ModelError(StoryAlignError):
    """A model cannot be loaded, or cannot do what is asked of it."""


class RecipeError(StoryAlignError):
    """A recipe or an option is unknown, missing or contradictory."""


class EndpointError(StoryAlignError):
    """An endpoint does not answer as it should."""


class HubError(StoryAlignError):
    """The Hub refused a request, or could not be reached."""


class RowError(DataError):
    """One row of a file is broken.

    Args:
        path: the file.
        line: its line, counted from 1.
        problem: what is wrong, and what to do where that is not obvious.
        row_id: the row's id, where it has one.

    >>> str(RowError("storyrmb.jsonl", 812, "expected 3 rejected stories, found 2", "wp-0412"))
    'storyrmb.jsonl:812 (id wp-0412): expected 3 rejected stories, found 2'
    """

    def __init__(self, path: str | Path, line: int, problem: str, row_id: str | None = None):
        self.path, self.line, self.problem, self.row_id = str(path), line, problem, row_id
        identity = f" (id {row_id})" if row_id else ""
        super().__init__(f"{path}:{line}{identity}: {problem}")


class MissingExtraError(StoryAlignError):
    """A package of an optional extra is not installed.

    >>> str(MissingExtraError("train", "torch"))
    "torch is not installed; run: pip install 'storyalign[train]'"
    """

    def __init__(self, extra: str, package: str):
        super().__init__(f"{package} is not installed; run: pip install 'storyalign[{extra}]'")
