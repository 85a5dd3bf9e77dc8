"""From what the user calls a scorer to its rewards file: a file as it is, a model by a run that resumes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.text import digest

if TYPE_CHECKING:
    from storyalign.cli.data_options import DataChoice
    from storyalign.scoring.options import ScoringOptions

FOLDER = Path("runs") / "rewards"
"""Where the rewards of models go that are evaluated by name."""


def rewards_of(scorer: str, choice: DataChoice, options: ScoringOptions, folder: Path = FOLDER) -> str:
    """Return the rewards file of a scorer, having scored the data first where it is a model.

    Args:
        scorer: a rewards file (its name ends in ``.jsonl``), or whatever ``storyalign score`` takes.
        choice: the data.
        options: how to score.
        folder: where the rewards of a model go.
    """
    if scorer.endswith(".jsonl"):
        return scorer
    from storyalign.cli.score import score

    out = folder / file_name(scorer, choice, options)
    score(scorer, choice.data, out, config=choice.config, split=choice.split, options=options)
    return str(out)


def is_main_process() -> bool:
    """Return whether this process prints, of those that ``accelerate launch`` started."""
    return os.environ.get("RANK", "0") == "0"


def file_name(scorer: str, choice: DataChoice, options: ScoringOptions) -> str:
    """Name a rewards file in words, and by a digest that is unique per scorer, data and settings."""
    which = (choice.config, choice.split, options.revision, options.max_length, options.truncate, options.mode)
    parts = [*which, None if options.dtype == "fp32" else options.dtype]
    words = [scorer, choice.data, *(str(part) for part in parts if part is not None)]
    places = [_place(scorer), _place(choice.data), *map(str, parts)]
    return f"{'--'.join(map(_slug, words))}--{digest(*places)[:8]}.jsonl"


def _place(name: str) -> str:
    """Return what is on this disk by its whole path, and anything else as it is."""
    path = Path(name).expanduser()
    return str(path.resolve()) if path.exists() else name


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "scorer"
