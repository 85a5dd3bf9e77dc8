"""What a dry run of a release prints: each repository, and what would change in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storyalign.hub.release import Preview


def preview_lines(preview: Preview, tag: str | None) -> Iterator[str]:
    """Say what one repository would get: its name and tag, and every file with its size."""
    payload, changes = preview.payload, preview.changes
    sent = sum(map(payload.size, changes.add))
    what = f"{preview.repo} ({payload.kind}{f', tag {tag}' if tag else ''})"
    checked = f"{len(payload.files)} files checked, digest {payload.digest[:12]}"
    if preview.head is None:
        yield f"{what}: {checked}; not there yet, or private: {size_of(sent)} would be sent"
    elif changes:
        yield f"{what}: {checked}; {size_of(sent)} would be sent on top of {preview.head[:12]}"
    else:
        yield f"{what}: {checked}; nothing would change, {preview.head[:12]} holds these files"
    for path in changes.add:
        yield f"  would add or replace {path} ({size_of(payload.size(path))})"
    for path in changes.delete:
        yield f"  would remove {path}"


def size_of(n_bytes: int) -> str:
    """Write a number of bytes for people.

    >>> size_of(999), size_of(1_250), size_of(540_400_000)
    ('999 bytes', '1.2 kB', '540.4 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"
