"""Groups of stories for annotators, and what is asked about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from storyalign.records import BadRow
from storyalign.text import judged_texts

Mode = Literal["rank", "confirm", "human-best", "best-of-n"]
MODES: tuple[Mode, ...] = get_args(Mode)
MOST_STORIES = 16


@dataclass(frozen=True, slots=True)
class Task:
    """One group: a premise and the stories that were written for it.

    Candidates are numbered from 0 in the order of the file; annotators see them shuffled and without writers.
    """

    id: str
    prompt: str
    stories: tuple[str, ...]
    mode: Mode
    """``rank``: scores and a full order. ``confirm``: is the given order right? ``human-best``: which story is best?
    ``best-of-n``: a full order without scores."""
    writers: tuple[str | None, ...] = ()
    ranking: tuple[int, ...] | None = None
    """The order that judges gave, best first; needed for ``confirm``."""
    human: int | None = None
    """The story that a person wrote; needed for ``human-best``."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any], mode: Mode | None = None) -> Task:
        """Check one row and make a task of it.

        Args:
            row: ``id``, ``prompt``, ``candidates`` (objects with ``story`` and, where known, ``writer``), and where
                they are known ``ranking`` and ``human`` (or a writer called ``human``).
            mode: what is asked; by default the row's own ``mode``, else ``human-best`` with a human story, ``confirm``
                with a ranking, and ``rank`` without either.

        Raises:
            BadRow: something is missing or contradictory.
        """
        task_id, prompt = row.get("id"), row.get("prompt")
        if not isinstance(task_id, str) or not task_id:
            raise BadRow("id is missing")
        if not isinstance(prompt, str) or not prompt.strip():
            raise BadRow("prompt is missing or empty")
        stories, writers = _candidates(row.get("candidates"))
        ranking, human = _ranking(row.get("ranking"), len(stories)), _human(row.get("human"), writers)
        asked = mode or row.get("mode") or ("human-best" if human is not None else "confirm" if ranking else "rank")
        if asked not in MODES:
            raise BadRow(f"unknown mode {asked!r}; choose {', '.join(MODES)}")
        if asked == "confirm" and ranking is None:
            raise BadRow("mode confirm needs a ranking to confirm")
        if asked == "human-best" and human is None:
            raise BadRow("mode human-best needs human, the number of the story that a person wrote")
        return cls(task_id, prompt, stories, asked, writers, ranking, human)

    @property
    def texts(self) -> str:
        """Digest of the premise and the stories; each judgement carries it and meets no other texts."""
        return judged_texts(self.prompt, self.stories)

    def to_row(self) -> dict[str, Any]:
        """Turn the task back into a row."""
        candidates = [{"story": s, "writer": w} for s, w in zip(self.stories, self.writers, strict=True)]
        row = {"id": self.id, "prompt": self.prompt, "candidates": candidates, "mode": self.mode}
        return {**row, "ranking": None if self.ranking is None else list(self.ranking), "human": self.human}


def _candidates(value: object) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_STORIES:
        found = len(value) if isinstance(value, list) else "none"
        raise BadRow(f"expected 2 to {MOST_STORIES} candidates, found {found}")
    stories: list[str] = []
    writers: list[str | None] = []
    for place, candidate in enumerate(value):
        story = candidate.get("story") if isinstance(candidate, dict) else None
        if not isinstance(story, str) or not story.strip():
            raise BadRow(f"candidate {place} has no story")
        if story in stories:
            raise BadRow(f"candidates {stories.index(story)} and {place} are the same story")
        writer = candidate.get("writer")
        if writer is not None and not isinstance(writer, str):
            raise BadRow(f"the writer of candidate {place} must be a string")
        stories.append(story)
        writers.append(writer)
    return tuple(stories), tuple(writers)


def _ranking(value: object, n: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or any(type(c) is not int for c in value) or sorted(value) != list(range(n)):
        raise BadRow(f"ranking is {value!r}; expected each of 0 to {n - 1} once, best first")
    return tuple(value)


def _human(value: object, writers: tuple[str | None, ...]) -> int | None:
    if value is None:
        return writers.index("human") if writers.count("human") == 1 else None
    if type(value) is not int or not 0 <= value < len(writers):
        raise BadRow(f"human is {value!r}; expected 0 to {len(writers) - 1}")
    return value
