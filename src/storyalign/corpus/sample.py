"""The stories of the embedded sample: 85 premises, each with one good story written for this project."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import orjson

from storyalign.errors import DataError

THEMES = ("self_and_meaning", "power_and_truth", "mind_and_memory", "hard_choices", "time_and_fate")
"""The five themes; every premise belongs to one."""


@dataclass(frozen=True, slots=True)
class SampleStory:
    """One premise and the story that was written for it.

    >>> load_sample_stories()[0].writer
    'kit-author'
    """

    id: str
    theme: str
    language: str
    """``en`` or ``zh``."""
    premise: str
    story: str
    """120-220 words (``text.count_words``), paragraphs parted by one empty line."""
    writer: str
    license: str


def load_sample_stories() -> list[SampleStory]:
    """Read the stories that ship with the package, in the order of the file.

    Raises:
        DataError: the file is missing from the installation.
    """
    return list(_stories())


@cache
def _stories() -> tuple[SampleStory, ...]:
    file = resources.files("storyalign.corpus") / "sample" / "stories.jsonl"
    try:
        data = file.read_bytes()
    except FileNotFoundError as error:
        raise DataError("the sample's stories are missing from this installation; install storyalign again") from error
    return tuple(SampleStory(**orjson.loads(line)) for line in data.splitlines() if line)
