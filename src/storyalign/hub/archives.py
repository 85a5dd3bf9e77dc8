"""Look into archives, so that nothing leaves the machine unseen because it is packed."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

from storyalign.errors import DataError

DEPTH = 4
"""Archives within archives are opened so often."""


def members(path: str, data: bytes, depth: int = DEPTH) -> Iterator[tuple[str, bytes]]:
    """Give a file, and if it is a zip (or wheel), tar or gzip file, everything in it.

    Args:
        path: its name; members are named ``path!member``.
        data: its content.
        depth: how many archives within archives are opened.

    Raises:
        DataError: it is packed, and cannot be looked into.
    """
    yield path, data
    packed = data.startswith((b"PK\x03\x04", b"\x1f\x8b\x08")) or data[257:262] == b"ustar"
    if packed and not depth:
        raise DataError(f"{path}: archives within archives; unpack it")
    if packed:
        try:
            inside = list(_unpack(data))
        except (*_BROKEN, NotImplementedError, RuntimeError) as error:  # RuntimeError: it asks for a password
            raise DataError(f"{path}: packed, and cannot be looked into ({error}); unpack it, or remove it") from error
        for name, inner in inside:
            yield from members(f"{path}!{name}", inner, depth - 1)


_BROKEN = (zipfile.BadZipFile, zlib.error, tarfile.TarError, OSError, EOFError)


def _unpack(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from ((info.filename, archive.read(info)) for info in archive.infolist() if not info.is_dir())
    elif data.startswith(b"\x1f\x8b"):
        yield "content", gzip.decompress(data)
    else:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if file := tar.extractfile(member):
                    yield member.name, file.read()
