"""Small groups to annotate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from storyalign.annotation.tasks import Task
from storyalign.annotation.verdicts import Answer, Verdict, make_verdict
from storyalign.files import write_jsonl


def row(number: int, n: int = 4, **fields: Any) -> dict[str, Any]:
    candidates = [{"story": f"Story {number}-{c}. It goes on.", "writer": f"model-{c}"} for c in range(n)]
    return {"id": f"g{number}", "prompt": f"Premise {number}", "candidates": candidates, **fields}


def task(number: int = 0, n: int = 4, **fields: Any) -> Task:
    return Task.from_row(row(number, n, **fields))


def write_tasks(path: Path, count: int, **fields: Any) -> Path:
    write_jsonl(path, (row(number, **fields) for number in range(count)))
    return path


def ranked(about: Task, who: str, *ranking: int, kind: Any = "independent", seconds: float | None = 10.0) -> Verdict:
    """A verdict with that order, and in mode rank with the scores 10, 9, 8, ... that fit it."""
    scores = tuple(10 - ranking.index(c) for c in range(len(about.stories))) if about.mode == "rank" else ()
    return make_verdict(about, Answer(ranking, scores), who, kind, seconds)


def unsure(about: Task, who: str, kind: Any = "independent") -> Verdict:
    return make_verdict(about, Answer(unsure=True), who, kind, 10.0)
