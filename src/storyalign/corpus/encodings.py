"""The encoding of a text file, decided once for the whole file.

UTF-16 is known by its byte-order mark. A file whose bytes are all valid UTF-8 is UTF-8. A file in which most lines
beyond ASCII are valid UTF-8 is UTF-8 with stray bytes of cp1252, as public story files hold them. Anything else is
cp1252 where bytes beyond ASCII mostly stand alone between ASCII letters, else the most probable of GB 18030, Big5 and
Shift JIS that decodes the whole file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from storyalign.errors import DataError

_BLOCK = 1 << 20
_SAMPLE = 256 * 1024
"""Bytes of lines beyond ASCII that the guess looks at."""

_STRAY = "storyalign.cp1252"


def _stray_bytes(error: UnicodeError) -> tuple[str, int]:
    """Read single bytes as cp1252; the five that it leaves open become control characters, as in browsers."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data = error.object[error.start : error.end]
    return "".join(_CP1252[byte] for byte in data), error.end


_CP1252 = [bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256)]
codecs.register_error(_STRAY, _stray_bytes)


class Encoding(NamedTuple):
    """How the bytes of a file are decoded."""

    name: str
    """As a report names it."""
    codec: str
    errors: str = "strict"


UTF8 = Encoding("utf-8", "utf-8-sig")
_UTF16 = Encoding("utf-16", "utf-16")
_MIXED = Encoding("utf-8 with stray bytes of cp1252", "utf-8-sig", _STRAY)
_WESTERN = Encoding("cp1252", "cp1252", _STRAY)


def encoding_of(path: str | Path) -> Encoding:
    """Decide on the encoding of a file; its lines are read one after the other, never all at once.

    Raises:
        DataError: the file is missing, cannot be read, or is text in no known encoding.
    """
    path = Path(path)
    try:
        facts = path.stat()
        return _decided(path, facts.st_size, facts.st_mtime_ns)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def open_text(path: str | Path) -> IO[str]:
    r"""Open a text file in the encoding of the whole file; lines end in ``\n`` alone, and no line end is changed.

    Raises:
        DataError: the file is missing, cannot be read, or is text in no known encoding.
    """
    encoding = encoding_of(path)
    return Path(path).open(encoding=encoding.codec, errors=encoding.errors, newline="\n")


def read_whole(path: str | Path) -> str:
    """Read a text file as one string.

    Raises:
        DataError: the file is missing, cannot be read, or is text in no known encoding.
    """
    with open_text(path) as handle:
        return handle.read()


@lru_cache(maxsize=256)
def _decided(path: Path, size: int, changed: int) -> Encoding:
    with path.open("rb") as handle:
        if handle.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            if not _decodes(path, _UTF16):
                raise DataError(f"{path}: starts like UTF-16 and is not; convert it to UTF-8")
            return _UTF16
    if _decodes(path, UTF8):
        return UTF8
    with path.open("rb") as handle:
        found = _guess(handle)
    for encoding in found:
        if _decodes(path, encoding):
            return encoding
    raise DataError(f"{path}: no text in UTF-8, UTF-16, cp1252, GB 18030, Big5 or Shift JIS; convert it to UTF-8")


def _decodes(path: Path, encoding: Encoding) -> bool:
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    try:
        with path.open("rb") as handle:
            while block := handle.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _guess(lines: Iterable[bytes]) -> list[Encoding]:
    """Return the encodings that bytes which are not UTF-8 may be in, the most probable first."""
    n_utf8 = n_other = 0
    sample = bytearray()
    for line in lines:
        if line.isascii():
            if b"\x00" in line:
                return []
            continue
        try:
            line.removeprefix(codecs.BOM_UTF8).decode()
            n_utf8 += 1
        except UnicodeDecodeError:
            n_other += 1
            if b"\x00" in line:
                return []
            if len(sample) < _SAMPLE:
                sample += line
    if _stands_alone(bytes(sample)):
        return [_MIXED if n_utf8 > n_other else _WESTERN]
    if n_utf8 > n_other:
        return []  # neither UTF-8 nor a mixture that could be told apart
    from charset_normalizer import from_bytes

    characters = b" ".join(re.findall(rb"(?:[\x80-\xff][\x30-\xff]?)+", bytes(sample)))  # without the ASCII between
    guesses = (from_bytes(data, cp_isolation=["gb18030", "big5", "shift_jis"]) for data in (characters, bytes(sample)))
    return [Encoding(match.encoding, match.encoding) for matches in guesses for match in matches]


def _stands_alone(data: bytes) -> bool:
    """Return whether most bytes beyond ASCII stand alone, as accents and quotation marks of Western text do."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    return 2 * sum(len(run) == 1 for run in runs) > sum(map(len, runs))
