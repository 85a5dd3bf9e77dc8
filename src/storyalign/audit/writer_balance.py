"""Whether the writer gives the label away: how often each one's story is chosen, and how far the writer alone gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from storyalign.accuracy import wilson_interval
from storyalign.records import Instance
from storyalign.tables import Table, interval, percent


class WriterShare(NamedTuple):
    """One writer's comparisons with others."""

    writer: str
    chosen: int
    rejected: int

    @property
    def share(self) -> float:
        """Share of this writer's stories that were chosen, 0 to 1."""
        return self.chosen / (self.chosen + self.rejected)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of ``share`` (Wilson)."""
        return wilson_interval(self.share, self.chosen + self.rejected)


@dataclass(slots=True)
class WriterBalance:
    """Comparisons by chosen and rejected writer; those without both names are counted apart."""

    compared: Counter[tuple[str, str]] = field(default_factory=Counter)
    unnamed: int = 0

    def add(self, chosen: str | None, rejected: str | None) -> None:
        """Count one comparison."""
        if chosen and rejected:
            self.compared[chosen, rejected] += 1
        else:
            self.unnamed += 1

    @property
    def n(self) -> int:
        """Comparisons with both names."""
        return self.compared.total()

    def shares(self) -> list[WriterShare]:
        """Return each writer's share, the one chosen most often first."""
        chosen, rejected = Counter[str](), Counter[str]()
        for (one, other), n in self.compared.items():
            chosen[one] += n
            rejected[other] += n
        rows = [WriterShare(name, chosen[name], rejected[name]) for name in {*chosen, *rejected}]
        return sorted(rows, key=lambda row: (-row.share, row.writer))

    def accuracy(self) -> float | None:
        """Return how often "the writer with the larger share is chosen" is right; the same share counts half.

        The shares are those of the same comparisons, so that a handful of them flatters the rule. None without any.
        """
        share = {row.writer: row.share for row in self.shares()}
        right = sum(n * (1 + np.sign(share[a] - share[b])) / 2 for (a, b), n in self.compared.items())
        return float(right / self.n) if self.n else None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        accuracy = self.accuracy()
        return {
            "n": self.n,
            "n_unnamed": self.unnamed,
            "accuracy": accuracy,
            "ci": None if accuracy is None else list(wilson_interval(accuracy, self.n)),
            "writers": [{**row._asdict(), "share": row.share, "ci": list(row.interval)} for row in self.shares()],
        }


def writer_balance(instances: Sequence[Instance]) -> WriterBalance:
    """Compare the writer of each chosen story with those of the rejected ones."""
    balance = WriterBalance()
    for instance in instances:
        for writer in instance.rejected_writers or (None,) * len(instance.rejected):
            balance.add(instance.chosen_writer, writer)
    return balance


def writers_table(balances: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return how often each writer's story is chosen.

    Args:
        balances: ``WriterBalance.to_json`` by construction, or under an empty name.
    """
    rows, notes = [], []
    for name, balance in balances.items():
        place = f"{name}: " if name else ""
        rows += [
            [f"{place}{w['writer']}", f"{w['chosen']:,}", f"{w['rejected']:,}", percent(w["share"]), interval(w["ci"])]
            for w in balance["writers"]
        ]
        if balance["n"]:
            notes.append(
                f"{place}the writer alone tells the chosen story in {percent(balance['accuracy'])}% "
                f"({interval(balance['ci'])}) of {balance['n']:,} comparisons, with shares taken from the same ones"
            )
        if balance["n_unnamed"]:
            notes.append(f"{place}{balance['n_unnamed']:,} comparisons do not name both writers")
    return Table(["Writer", "Chosen", "Rejected", "Share chosen", "95%"], rows, notes=notes)
