"""Whether the card of a built dataset says what its rows say: the rows are built again, and the two cards compared."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from storyalign.errors import DataError
from storyalign.hub.payload import Payload, front_matter
from storyalign.hub.released_rows import Dataset, read_rows, rebuild

_FIGURES = re.compile(r"^\|.*\d.*\|$", re.MULTILINE)
"""A line of a table that holds a digit."""


def require_own_figures(payload: Payload, dataset: Dataset, sample: bool, work: Path) -> None:
    """Refuse rows that were changed after the build, and tables of figures that were changed by hand.

    Whatever a person wrote into the card besides stays as it is.

    Args:
        payload: a built folder, or one that was released and downloaded.
        dataset: which of the two.
        sample: the rows are the kit's synthetic sample.
        work: a folder for what is built.

    Raises:
        DataError: names what differs.
    """
    with tempfile.TemporaryDirectory(dir=work) as place:
        rows = (placed.row.to_row() for placed in read_rows(payload))
        again, digest = rebuild(payload, dataset, rows, Path(place) / "again", sample)
        expected_card, expected = again.text("README.md"), front_matter(again)
    card, advice, found = payload.folder / "README.md", "build it again", front_matter(payload)
    if (said := _by_name(found, "configs").get("default", {}).get("description")) != digest:
        raise DataError(
            f"{card}: its digest is {str(said)[:19]}, that of the rows is {digest[:19]}: they were changed after the "
            f"build, or built by an older version of the kit; {advice}"
        )
    if missing := missing_figures(payload.text("README.md"), expected_card):
        raise DataError(f"{card}: figures differ from the rows, which say {missing[0]!r}; {advice}")
    infos = _by_name(found, "dataset_info")
    for name, info in _by_name(expected, "dataset_info").items():
        if _columns_and_counts(infos.get(name, {})) != _columns_and_counts(info):
            raise DataError(f"{card}: dataset_info of {name} differs from the rows; {advice}")


def missing_figures(card: str, expected: str) -> list[str]:
    """Return the lines of tables with figures that a card should have and has not."""
    lines = {line.rstrip() for line in card.splitlines()}
    return [line for line in _FIGURES.findall(expected) if line not in lines]


def _by_name(front: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    listed = front.get(key) or []
    return {str(one.get("config_name", "default")): one for one in (listed if isinstance(listed, list) else [listed])}


def _columns_and_counts(info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What must be the same; sizes of files depend on the version of a library."""
    return info.get("features"), {split["name"]: split["num_examples"] for split in info.get("splits") or []}
