"""Small rows for tests: whole, distinct, and easy to break."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DIMENSIONS = ("coherence", "creativity", "characterization", "fluency", "relevance")
SOURCES = ("human_llm", "llm_llm")


def storyrmb_row(number: int, **changes: Any) -> dict[str, Any]:
    """A whole StoryRMB row; number 0, 1, 2, ... gives dimensions and sources in turn."""
    row = {
        "id": f"rmb-{number:04d}",
        "prompt": f"A lighthouse keeper finds letter {number}.",
        "chosen": f"Letter {number} lay under the lamp, and she read it by its light.",
        "rejected": [f"Letter {number} was {how} and that was that." for how in ("lost", "burnt", "eaten")],
        "dimension": DIMENSIONS[number % 5],
        "dimension_stage": 1 + number % 4,
        "source": SOURCES[number % 2],
        "chosen_writer": "human" if number % 2 == 0 else "model-a",
        "rejected_writers": ["model-b", "model-c", "model-d"],
        "language": "en",
        "corpus": "writingprompts",
        "license": "mit",
        "tau_avg": 0.75,
        "route": "majority",
    }
    return {**row, **changes}


def pair_row(number: int, **changes: Any) -> dict[str, Any]:
    """A whole preference pair; every fifth one is for validation."""
    row = {
        "id": f"pair-{number:04d}",
        "prompt": f"A baker wakes before dawn, day {number}.",
        "chosen": f"Flour hung in the air of day {number} like weather.",
        "rejected": f"Flour was there on day {number} and it was flour.",
        "construction": ("rewriting", "llm_pairs")[number % 2],
        "chosen_writer": "human",
        "rejected_writer": "model-a",
        "corpus": "writingprompts",
        "language": "en",
        "license": "mit",
        "edit": "flatten",
        "chosen_engagement": 12.0,
        "rejected_engagement": None,
        "split": "validation" if number % 5 == 4 else "train",
    }
    return {**row, **changes}


def group_row(number: int, *scores: dict[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """A judged group whose candidate ``i`` has ``scores[i]``; None means that nobody judged it."""
    candidates = [
        {"story": f"Story {i} of group {number}.", "writer": f"model-{i}", "scores": s or {}, "n_raters": 2 if s else 0}
        for i, s in enumerate(scores)
    ]
    row = {
        "id": f"g{number}",
        "premise": f"Premise {number}.",
        "candidates": candidates,
        "lang": "en",
        "license": "MIT",
    }
    return {**row, **changes}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSONL with the standard library."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
