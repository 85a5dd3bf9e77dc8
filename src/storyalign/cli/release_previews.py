"""What a dry run of a release prints: each repository, and what would change in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storyalign.hub.payload import Payload
    from storyalign.hub.release.release_one import Preview


def payload_lines(payload: Payload, repo: str, tag: str | None) -> Iterator[str]:
    """Yield what was checked for one repository: its name and tag, and every file with its size."""
    what = f"{repo} ({payload.kind}{f', tag {tag}' if tag else ''})"
    yield f"{what}: {len(payload.files)} files checked, digest {payload.digest[:12]}"
    for path in payload.files:
        yield f"  {path} ({size_of(payload.size(path))})"


def preview_lines(preview: Preview) -> Iterator[str]:
    """Yield what would change in one repository on the Hub."""
    payload, changes = preview.payload, preview.changes
    sent = size_of(sum(map(payload.size, changes.add)))
    if preview.unseen is not None:
        yield f"not compared with the Hub: {preview.unseen}"
    elif preview.head is None:
        yield f"{preview.repo}: not there yet, or private: all files ({sent}) would be sent"
    elif not changes:
        yield f"{preview.repo}: nothing would change, {preview.head[:12]} holds these files"
    else:
        yield f"{preview.repo}: {sent} would be sent on top of {preview.head[:12]}"
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
