"""The installed package as a wheel, so that a Space gets the very code that released it.

It is packed from the files that are imported, not built from sources: the same in a checkout and from a wheel, without
network, and byte for byte the same each time, so that an unchanged Space makes no new commit.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import storyalign
from storyalign._version import __version__
from storyalign.errors import DataError

_EPOCH = (1980, 1, 1, 0, 0, 0)
PACKED = {".css", ".csv", ".html", ".jinja", ".js", ".json", ".jsonl", ".md", ".py", ".svg", ".txt", ".typed", ".yaml"}
"""Endings of the package's own files, as in ``setup.cfg``; whatever else lies in a checkout stays there."""


def wheel_name() -> str:
    """Return the file name of the wheel."""
    return f"storyalign-{__version__}-py3-none-any.whl"


def package_wheel() -> bytes:
    """Pack the package, links followed, with the metadata that it is installed with.

    Raises:
        DataError: the package is not installed, or it was installed as another version.
    """
    try:
        distribution = metadata.distribution("storyalign")
    except metadata.PackageNotFoundError as error:
        raise DataError("storyalign is imported but not installed; run: pip install -e . in its checkout") from error
    if distribution.version != __version__:
        raise DataError(
            f"storyalign {distribution.version} is installed, but its code says {__version__}; install it again"
        )
    info = f"storyalign-{__version__}.dist-info"
    files = {f"storyalign/{path}": source.read_bytes() for path, source in _package_files()}
    for name in ("METADATA", "entry_points.txt"):
        if text := distribution.read_text(name):
            files[f"{info}/{name}"] = text.encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: storyalign\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _package_files() -> Iterator[tuple[str, Path]]:
    root = Path(storyalign.__file__).parent
    found = []
    for folder, _, names in os.walk(root, followlinks=True):
        for name in names:
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            if path.suffix in PACKED and not name.startswith("."):
                found.append((relative, path))
    yield from sorted(found)


def _record(files: dict[str, bytes], own: str) -> bytes:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(data)}\n")
    return "".join((*lines, f"{own},,\n")).encode()
