"""Check by people: some pairs of each construction, blind, for ``storyalign annotate``; and how often people agree.

The paper does so for two constructions with 20 pairs each. Which story was chosen stands in a file of its own, the key,
which annotators never see.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from storyalign.accuracy import wilson_interval
from storyalign.errors import DataError
from storyalign.files import Line, read_jsonl, write_jsonl
from storyalign.records import BadRow, PreferencePair, check_judged_texts
from storyalign.text import digest, judged_texts

TASKS, KEY = "pairs.jsonl", "key.jsonl"
PER_CONSTRUCTION = 20


class PeopleAgree(NamedTuple):
    """How often people put the chosen story of a construction first."""

    construction: str
    share: float
    """Mean over the pairs of the share of their verdicts that put the chosen story first, 0 to 1."""
    n: int
    """Pairs with a verdict that names a best story."""
    unsure: int
    """Pairs on which nobody was sure."""
    verdicts: int
    """Verdicts behind the share."""

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the share over pairs (Wilson; too wide rather than too narrow where people disagree)."""
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
    write_jsonl(Path(out) / KEY, (_key(pair, places[pair.id]) for pair in pairs))
    return len(pairs)


def people_agree(key: str | Path, verdicts: str | Path) -> list[PeopleAgree]:
    """Compare the verdicts of ``storyalign annotate`` with the key, pair by pair.

    Args:
        key: ``key.jsonl`` of ``export_check``.
        verdicts: rows with ``id``, ``texts``, ``verdict`` and ``ranking`` (candidates, best first), single or settled;
            a senior's verdict stands above the others of its pair, and repeated checks of one annotator (kind
            ``check``) are left out.

    Raises:
        RowError: a verdict is of no pair of the key, was given on other texts, names no candidate, or comes twice.
        DataError: no verdict names a best story.
    """
    chosen = {line.row["id"]: line.row for line in read_jsonl(key)}
    given: defaultdict[str, dict[object, bool | None]] = defaultdict(dict)
    seniors: set[str] = set()
    for line in read_jsonl(verdicts):
        if line.row.get("kind", "independent") == "check":
            continue
        entry = chosen.get(line.row.get("id"))
        if entry is None:
            raise line.error(f"no such pair in {key}")
        if "texts" not in entry:
            raise DataError(f"{key}: lacks the digests of the pairs' texts; write the check again, with the same seed")
        try:
            check_judged_texts(line.row, entry["texts"])
        except BadRow as error:
            raise line.error(str(error)) from error
        who = line.row.get("annotator", "settled")
        ranking = None if line.row.get("verdict") == "unsure" else line.row.get("ranking")
        if ranking and ranking[0] not in (0, 1):
            raise line.error(f"ranking is {ranking!r}; expected candidates 0 and 1, best first")
        if line.row.get("kind") == "senior":
            given[entry["id"]].clear()
            seniors.add(entry["id"])
        elif entry["id"] in seniors:
            continue
        if who in given[entry["id"]]:
            raise line.error(f"second verdict of {who} on this pair")
        given[entry["id"]][who] = ranking[0] == entry["chosen"] if ranking else None
    sure = {pair: [v for v in own.values() if v is not None] for pair, own in given.items()}
    by_construction: defaultdict[str, list[list[bool]]] = defaultdict(list)
    for pair, own in sure.items():
        by_construction[chosen[pair]["construction"]].append(own)
    found = [_agreement(name, by_construction[name]) for name in sorted(by_construction) if any(by_construction[name])]
    if not found:
        raise DataError(f"{verdicts}: no verdict names a best story")
    return found


def _agreement(construction: str, pairs: Sequence[Sequence[bool]]) -> PeopleAgree:
    sure = [own for own in pairs if own]
    share = fmean(fmean(own) for own in sure)
    return PeopleAgree(construction, share, len(sure), len(pairs) - len(sure), sum(map(len, sure)))


def _key(pair: PreferencePair, place: int) -> dict[str, Any]:
    shown = (pair.chosen, pair.rejected) if place == 0 else (pair.rejected, pair.chosen)
    texts = judged_texts(pair.prompt, shown)
    return {"id": pair.id, "texts": texts, "construction": pair.construction, "chosen": place}


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
