"""One line of the table: a measured figure, its spread, and the goal it is held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True)
class Figure:
    what: str
    values: Sequence[float]
    goal: float | None = None
    better: Literal["higher", "lower"] = "higher"

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    @property
    def met(self) -> bool:
        if self.goal is None:
            return True
        return self.median >= self.goal if self.better == "higher" else self.median <= self.goal

    @property
    def goal_text(self) -> str:
        if self.goal is None:
            return ""
        return f"{'>=' if self.better == 'higher' else '<='} {self.goal:g}"

    @property
    def verdict(self) -> str:
        if self.goal is None:
            return ""
        return "met" if self.met else "MISSED"
