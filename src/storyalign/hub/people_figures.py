"""What people said of some pairs of each construction, for the card of the pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson

from storyalign.errors import DataError
from storyalign.records import PAIR_LABELS

FILE = "people_agreement.json"
"""Stands beside the card that names the figures."""


class PeopleFigure(NamedTuple):
    """How often people put the chosen story of a construction first."""

    construction: str
    share: float
    low: float
    high: float
    """95% interval of the share (Wilson)."""
    n: int
    """Pairs with a verdict that names a best story."""
    unsure: int
    """Pairs on which nobody was sure."""
    verdicts: int


def read_people_figures(path: str | Path) -> tuple[PeopleFigure, ...]:
    """Read what ``storyalign construct people-agreement --json`` wrote.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        content = orjson.loads(Path(path).read_bytes())
        figures = tuple(_figure(name, row) for name, row in content.items())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except KeyError as error:
        raise DataError(
            f"{path}: not written by this version's storyalign construct people-agreement --json (no {error}); "
            "write it again"
        ) from error
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError) as error:
        raise DataError(
            f"{path}: not written by storyalign construct people-agreement --json ({type(error).__name__})"
        ) from error
    if unknown := [figure.construction for figure in figures if figure.construction not in PAIR_LABELS]:
        raise DataError(f"{path}: unknown construction {unknown[0]!r}")
    return figures


def people_json(figures: tuple[PeopleFigure, ...]) -> dict[str, Any]:
    """Give the figures in the form in which they are read, and nothing else of the check by people."""
    return {
        f.construction: {"share": f.share, "ci": [f.low, f.high], "n": f.n, "unsure": f.unsure, "verdicts": f.verdicts}
        for f in figures
    }


def _figure(name: str, row: dict[str, Any]) -> PeopleFigure:
    low, high = row["ci"]
    n, unsure, verdicts = (int(row[name]) for name in ("n", "unsure", "verdicts"))
    return PeopleFigure(name, float(row["share"]), float(low), float(high), n, unsure, verdicts)
