"""Where an export may write: a new place, an empty folder, or over an older export of the same kind."""

from __future__ import annotations

from pathlib import Path

from storyalign.errors import DataError


def require_replaceable(out: Path, heading: str) -> None:
    """Refuse a place that holds anything but an older export.

    Args:
        out: the folder to write.
        heading: the first heading of the export's card; an older export has the same.

    Raises:
        DataError: ``out`` holds something else, such as the dataset that is exported.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    card = out / "README.md"
    if not card.is_file() or f"\n{heading}\n" not in card.read_text(encoding="utf-8", errors="replace"):
        raise DataError(f"{out}: holds something else; name another --out")
