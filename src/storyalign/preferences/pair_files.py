"""What a construction writes: pairs as JSONL, with the columns that the mix needs beside those of the dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.corpus.tally import Tally
from storyalign.files import write_jsonl
from storyalign.records import PreferencePair


class MadePair(NamedTuple):
    """A pair and what may not stand in two splits beside its own texts."""

    pair: PreferencePair
    author_keys: tuple[str, ...] = ()
    """Who wrote the human stories behind it."""
    story_ids: tuple[str, ...] = ()
    """The human stories behind it, also where their text is in none of its columns."""
    made_by: dict[str, Any] | None = None

    def to_row(self) -> dict[str, Any]:
        """Turn the pair into a JSON-ready row; building the dataset leaves the extra columns out."""
        return {
            **self.pair.to_row(),
            "author_keys": list(self.author_keys),
            "story_ids": list(self.story_ids),
            "made_by": self.made_by,
        }


def write_pairs(path: Path, made: Iterable[MadePair | tuple[str, str]], tally: Tally) -> int:
    """Write the pairs; ``(reason, id)`` in the place of a pair is counted as dropped."""

    def rows() -> Iterable[dict[str, Any]]:
        for item in made:
            tally.read += 1
            if isinstance(item, MadePair):
                tally.keep()
                yield item.to_row()
            else:
                tally.drop(*item)

    return write_jsonl(path, rows())


def distinct(values: Sequence[str | None]) -> tuple[str, ...]:
    """Leave out None and what stands there twice."""
    return tuple(dict.fromkeys(value for value in values if value))
