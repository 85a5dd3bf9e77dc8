"""Check by people: some pairs of each construction, blind, for ``storyalign annotate``; and how often people agree.

The paper does so for two constructions with 20 pairs each. Which story was chosen stands in a file of its own, the key,
which annotators never see.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.accuracy import wilson_interval
from storyalign.errors import DataError
from storyalign.files import Line, read_jsonl, write_jsonl
from storyalign.records import BadRow, PreferencePair
from storyalign.text import digest

TASKS, KEY = "pairs.jsonl", "key.jsonl"
PER_CONSTRUCTION = 20


class PeopleAgree(NamedTuple):
    """How often people put the chosen story of a construction first."""

    construction: str
    agree: int
    n: int
    """Verdicts that name a best story."""
    unsure: int

    @property
    def share(self) -> float:
        """Share of the verdicts that agree."""
        return self.agree / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the share (Wilson)."""
        return wilson_interval(self.share, self.n)


def export_check(paths: Iterable[str | Path], out: str | Path, count: int = PER_CONSTRUCTION, seed: int = 0) -> int:
    """Draw pairs and write the tasks and the key.

    Args:
        paths: JSONL files of pairs.
        out: a folder for ``pairs.jsonl`` (ids, premises, stories in random order) and ``key.jsonl``.
        count: pairs of each construction.
        seed: of the draw and of the order.

    Returns:
        The number of pairs.

    Raises:
        RowError: a row is no pair.
        DataError: there are none.
    """
    drawn: defaultdict[str, list[tuple[str, PreferencePair]]] = defaultdict(list)
    for path in paths:
        for line in read_jsonl(path):
            pair = _pair(line)
            best = drawn[pair.construction]
            best.append((digest("check", str(seed), pair.id), pair))
            if len(best) > 4 * count:
                drawn[pair.construction] = sorted(best, key=lambda item: item[0])[:count]
    pairs = [pair for best in drawn.values() for _, pair in sorted(best, key=lambda item: item[0])[:count]]
    if not pairs:
        raise DataError("no pairs to check")
    random.Random(f"check/{seed}").shuffle(pairs)
    places = {pair.id: int(digest("place", str(seed), pair.id)[0], 16) % 2 for pair in pairs}
    write_jsonl(Path(out) / TASKS, (_task(pair, places[pair.id]) for pair in pairs))
    write_jsonl(Path(out) / KEY, ({"id": p.id, "construction": p.construction, "chosen": places[p.id]} for p in pairs))
    return len(pairs)


def people_agree(key: str | Path, verdicts: str | Path) -> list[PeopleAgree]:
    """Compare the verdicts of ``storyalign annotate`` with the key.

    Args:
        key: ``key.jsonl`` of ``export_check``.
        verdicts: rows with ``id``, ``verdict`` and ``ranking`` (candidates, best first); repeated checks of one
            annotator (kind ``check``) are left out.

    Raises:
        RowError: a verdict belongs to no pair of the key, or names no candidate.
        DataError: no verdict names a best story.
    """
    chosen = {line.row["id"]: line.row for line in read_jsonl(key)}
    agree, n, unsure = Counter[str](), Counter[str](), Counter[str]()
    for line in read_jsonl(verdicts):
        if line.row.get("kind", "independent") == "check":
            continue
        entry = chosen.get(line.row.get("id"))
        if entry is None:
            raise line.error(f"no such pair in {key}")
        ranking, construction = line.row.get("ranking"), entry["construction"]
        if line.row.get("verdict") == "unsure" or not ranking:
            unsure[construction] += 1
            continue
        if ranking[0] not in (0, 1):
            raise line.error(f"ranking is {ranking!r}; expected candidates 0 and 1, best first")
        n[construction] += 1
        agree[construction] += ranking[0] == entry["chosen"]
    if not n:
        raise DataError(f"{verdicts}: no verdict names a best story")
    return [PeopleAgree(name, agree[name], n[name], unsure[name]) for name in sorted(n)]


def _task(pair: PreferencePair, place: int) -> dict[str, Any]:
    stories = [(pair.chosen, pair.chosen_writer), (pair.rejected, pair.rejected_writer)]
    shown = stories if place == 0 else stories[::-1]
    # best-of-n asks which is better and for nothing else; a writer called human would make it another question
    candidates = [{"story": story, "writer": writer} for story, writer in shown]
    return {"id": pair.id, "prompt": pair.prompt, "candidates": candidates, "mode": "best-of-n"}


def _pair(line: Line) -> PreferencePair:
    try:
        return PreferencePair.from_row(line.row)
    except BadRow as error:
        raise line.error(str(error)) from error
