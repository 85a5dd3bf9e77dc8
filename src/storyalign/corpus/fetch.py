"""Download files through pooch: whole and with the expected digest, or a one-line error."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

from storyalign.errors import DataError, MissingExtraError

TRIES = 3
PAUSE = 1.0
"""Seconds before the second try; each further pause is twice as long."""
TIMEOUT = 60.0
"""Seconds without a single byte."""


def fetch(url: str, target: Path, sha256: str | None = None, *, pause: Callable[[float], object] = time.sleep) -> str:
    """Download a file and return its digest; an existing file with the right digest is not downloaded again.

    The target appears only when the download is complete and its digest is right.

    Args:
        url: http or https; redirects are followed.
        target: where to store the file.
        sha256: 64 hexadecimal digits; None if they are not known.
        pause: waits so many seconds between tries.

    Returns:
        The SHA-256 of the file.

    Raises:
        DataError: the address does not exist, does not answer, breaks off in each try, or holds another file.
        MissingExtraError: pooch is not installed.
    """
    try:
        import pooch
        import requests
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "pooch") from error

    if target.exists():
        found = file_digest(target)
        if sha256 not in (None, found):
            raise DataError(f"{target}: sha256 is {found}, expected {sha256}; remove the file to fetch it again")
        return found
    if not url.startswith(("https://", "http://")):
        raise DataError(f"{url}: expected an address that begins with https://")
    pooch.get_logger().setLevel("WARNING")
    # The digests are of the files as they are published, not as a server compresses them.
    options = {"headers": {"Accept-Encoding": "identity"}, "timeout": TIMEOUT, "chunk_size": 1 << 16}
    download = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), **options)
    for attempt in range(TRIES):
        if attempt:
            pause(PAUSE * 2 ** (attempt - 1))
        try:
            pooch.retrieve(url, sha256, target.name, target.parent, downloader=download)
            return file_digest(target)
        except ValueError as error:
            if isinstance(error, requests.RequestException):  # an invalid address is both
                raise DataError(f"{url}: {error}") from error
            raise DataError(
                f"{url}: the file has changed: {str(error).split('. ')[0]}; nothing of it was used. "
                "Look at what changed before you put the new digest into the recipe"
            ) from error
        except requests.RequestException as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            answer = error.response
            if answer is not None and 400 <= answer.status_code < 500 and answer.status_code != 429:
                raise DataError(
                    f"{url}: answers {answer.status_code} {answer.reason}; the file may have moved: look for its new "
                    "address and put it into the recipe, or leave the source out with --skip"
                ) from error
    raise DataError(f"{url}: could not be fetched in {TRIES} tries ({reason}); run again later")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
