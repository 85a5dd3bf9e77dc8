"""What must hold between the rows of one dataset, checked while they pass by."""

from __future__ import annotations

from hashlib import sha256

from storyalign.errors import DataError
from storyalign.files import Line
from storyalign.hub.dataset_statistics import DatasetStatistics
from storyalign.records import DIMENSIONS, SOURCES, BadRow, Instance, PreferencePair

KIT_AUTHOR = "kit-author"
KIT_EDIT = "kit-edit:"

OFFICIAL_COUNTS = {
    "instances": 1_133,
    "human_llm": 509,
    "llm_llm": 624,
    "relevance": 136,
    "fluency": 225,
    "characterization": 215,
    "creativity": 292,
    "coherence": 265,
}
"""The size of StoryRMB: five dimensions (section 2.2) and two sources (section 2.1)."""


class Repetitions:
    """Finds ids and contents that come twice, and texts that stand in two splits; a digest of each text is kept."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._contents: dict[bytes, str] = {}
        self._splits: dict[bytes, tuple[str, str]] = {}

    def check(self, row: Instance | PreferencePair, line: Line) -> None:
        """Compare one row with all before it. Texts that differ in white space alone are the same.

        Raises:
            BadRow: it repeats an earlier one, or its premise or a story of it is in another split too.
        """
        here = f"{line.path}:{line.number}"
        if row.id in self._ids:
            raise BadRow(f"the id stands in {self._ids[row.id]} already")
        premise, *stories = map(_hash, (row.prompt, *row.stories))
        # Sorted: the same stories in another order are no new content, they contradict it.
        content = sha256(premise + b"".join(sorted(stories))).digest()[:16]
        if content in self._contents:
            raise BadRow(f"the same premise with the same stories stands in {self._contents[content]} already")
        self._ids[row.id] = self._contents[content] = here
        if isinstance(row, PreferencePair):
            place = (row.split, here)
            for what, text in zip(("premise", "chosen story", "rejected story"), (premise, *stories), strict=True):
                split, before = self._splits.setdefault(text, place)
                if split != row.split:
                    raise BadRow(f"its {what} is in split {split} too ({before}); a text belongs to one split")


def check_sample(row: Instance | PreferencePair) -> None:
    """Check that a row is what the card of a sample says.

    Raises:
        BadRow: it has other writers, or figures that only a real annotation gives.
    """
    rejected = row.rejected_writers if isinstance(row, Instance) else (row.rejected_writer,)
    writers = (row.chosen_writer, *rejected)
    if foreign := [w for w in writers if w != KIT_AUTHOR and not (w or "").startswith(KIT_EDIT)]:
        raise BadRow(f"a sample is written by {KIT_AUTHOR} and {KIT_EDIT}<operator>, not by {foreign[0]}")
    if isinstance(row, Instance) and (row.tau_avg is not None or row.route is not None):
        raise BadRow("nobody ranked a sample: tau_avg and route must be null")


def check_no_sample(row: Instance | PreferencePair) -> None:
    """Check that no row of the sample passes as real data.

    Raises:
        BadRow: the chosen story was written for the kit.
    """
    if row.chosen_writer == KIT_AUTHOR:
        raise BadRow(f"{KIT_AUTHOR} wrote the chosen story: this is the synthetic sample; build it with --sample")


def check_official_size(statistics: DatasetStatistics, name: str) -> None:
    """Check the size of StoryRMB, in total, by dimension and by source.

    Args:
        statistics: of all instances.
        name: what to name in the error.

    Raises:
        DataError: a count differs.
    """
    found = {"instances": statistics.n_rows}
    found |= {dimension: statistics.count(row=dimension) for dimension in DIMENSIONS}
    found |= {source: statistics.count(column=source) for source in SOURCES}
    wrong = [f"{found[what]} {what} instead of {n}" for what, n in OFFICIAL_COUNTS.items() if found[what] != n]
    if wrong:
        raise DataError(f"{name}: not the official size: {', '.join(wrong)}; leave out --official-size for another set")


def _hash(text: str) -> bytes:
    return sha256(" ".join(text.split()).encode()).digest()[:16]
