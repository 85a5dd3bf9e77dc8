"""Where the groups to explore come from: sets that the operator names, and datasets of the Hub that a visitor names."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from visitor_limits import InputRefused

from storyalign.corpus.evaluation_sets import EvaluationSet, load_evaluation_set
from storyalign.errors import DataError, HubError, StoryAlignError
from storyalign.records import BadRow, Instance

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
MOST_GROUPS = 1_000
MOST_CHARS = 40_000_000
KEPT = 4


def operator_sets(settings: Mapping[str, str], folder: Path | None = None) -> tuple[list[EvaluationSet], list[str]]:
    """Load the sets that the operator named in ``STORYALIGN_DATASETS`` (folders, files or Hub ids, by commas).

    Without the variable it is the folder ``storyrmb`` where there is one, else the sample that comes with the kit.

    Args:
        settings: environment variables.
        folder: where to look for ``storyrmb``; the working directory by default.

    Returns:
        The sets, and one line for each that could not be loaded.
    """
    names = [name.strip() for name in settings.get("STORYALIGN_DATASETS", "").split(",") if name.strip()]
    built = (folder or Path()) / "storyrmb"
    if not names and not built.is_dir():
        return [sample_set()], []
    sets, problems = [], []
    for name in names or [str(built)]:
        try:
            sets.append(load_evaluation_set(name))
        except StoryAlignError as error:
            problems.append(str(error))
    return sets, problems


def sample_set() -> EvaluationSet:
    """Make the embedded sample: synthetic, to look around in."""
    from storyalign.preferences.sample import sample_instances

    return EvaluationSet(sample_instances(), digest="", name="sample (synthetic)")


class VisitorSets:
    """Datasets of the Hub that visitors asked for: public ones only, bounded, the last few kept in memory."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, EvaluationSet] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, hub_id: str) -> EvaluationSet:
        """Load the first groups of a public dataset.

        Raises:
            InputRefused: the id is none, or the dataset cannot be shown; the message says why.
        """
        hub_id = hub_id.strip()
        if not HUB_ID.fullmatch(hub_id) or Path(hub_id).exists():
            raise InputRefused(f"{hub_id[:100]!r} is no dataset id. Write owner/name, as on the Hub.")
        with self._lock:
            if hub_id not in self._kept:
                self._kept[hub_id] = _first_groups(hub_id)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(hub_id)
            return self._kept[hub_id]


def _first_groups(hub_id: str) -> EvaluationSet:
    import datasets

    try:
        # token=False: whoever runs the Space must not lend visitors the view of private datasets.
        splits = datasets.load_dataset(hub_id, streaming=True, token=False)
        split = splits["test"] if "test" in splits else next(iter(splits.values()))
        names = {c: f.names for c, f in (split.features or {}).items() if isinstance(f, datasets.ClassLabel)}
        instances, chars = [], 0
        for number, row in enumerate(islice(split, MOST_GROUPS), start=1):
            row = {c: names[c][v] if c in names and isinstance(v, int) and v >= 0 else v for c, v in row.items()}
            instances.append(_instance(row, number))
            chars += sum(map(len, instances[-1].stories))
            if chars > MOST_CHARS:
                break
    except BadRow as error:
        raise InputRefused(
            f"{hub_id}: {error}. A set to explore has prompt, chosen and rejected in each row."
        ) from error
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError, DataError, HubError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputRefused(f"{hub_id} cannot be loaded from the Hub ({reason}).") from error
    if not instances:
        raise InputRefused(f"{hub_id} holds no rows.")
    more = f" (first {len(instances):,})" if len(instances) == MOST_GROUPS or chars > MOST_CHARS else ""
    return EvaluationSet(instances, digest="", name=hub_id + more)


def _instance(row: Mapping[str, object], number: int) -> Instance:
    if isinstance(row.get("rejected"), str):
        row = {**row, "rejected": [row["rejected"]]}
    try:
        return Instance.from_row(row)
    except BadRow as error:
        raise BadRow(f"row {number}: {error}") from error


def menu(sets: Sequence[EvaluationSet]) -> list[str]:
    """Return the names for the dropdown, made different where two sets share one."""
    names: list[str] = []
    for group in sets:
        names.append(group.name if group.name not in names else f"{group.name} ({len(names) + 1})")
    return names
