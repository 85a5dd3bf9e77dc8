"""Files from public addresses: whole and with the expected digest, or a clear error; a broken download goes on."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from storyalign.errors import DataError

if TYPE_CHECKING:
    import httpx

TRIES = 3
PAUSE = 1.0
"""Seconds before the second try; each further pause is twice as long."""
TIMEOUT = 60.0
"""Seconds without a single byte."""


def fetch(
    url: str,
    target: Path,
    sha256: str | None = None,
    *,
    advance: Callable[[int], object] = lambda _: None,
    pause: Callable[[float], object] = time.sleep,
) -> str:
    """Bring a file here and give its digest.

    A file that is there already, with the right digest, is not fetched again. The bytes go to a temporary file beside
    the target, which takes the target's name when it is whole and its digest is right. What a broken connection left
    is kept, and the next try or run asks for the rest of the same version (``If-Range`` with its ETag).

    Args:
        url: http or https; redirections are followed.
        target: where the file goes.
        sha256: 64 hexadecimal digits; None where they are not known.
        advance: called with the number of bytes of each block; for a progress bar.
        pause: waits so many seconds between tries.

    Returns:
        The SHA-256 of the file.

    Raises:
        DataError: the address does not exist, does not answer, stopped half way, or holds another file than expected.
    """
    if target.exists() and sha256 is None:
        return file_digest(target)
    if target.exists() and (found := file_digest(target)) != sha256:
        raise DataError(f"{target}: sha256 is {found}, expected {sha256}; remove the file to fetch it again")
    if target.exists():
        return sha256 or ""
    if not url.startswith(("https://", "http://")):
        raise DataError(f"{url}: expected an address that begins with https://")
    part = _download(url, target, advance, pause)
    found = file_digest(part)
    if sha256 is not None and found != sha256:
        _forget(part)
        raise DataError(
            f"{url}: the file has changed: its sha256 is {found}, the recipe expects {sha256}; nothing of it was used. "
            "Look at what changed before you put the new digest into the recipe"
        )
    part.replace(target)
    _tag_file(part).unlink(missing_ok=True)
    return found


def file_digest(path: Path) -> str:
    """Hash a file to 64 hexadecimal digits (SHA-256)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(url: str, target: Path, advance: Callable[[int], object], pause: Callable[[float], object]) -> Path:
    import httpx

    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    reason = ""
    for attempt in range(TRIES):
        if attempt:
            pause(PAUSE * 2 ** (attempt - 1))
        try:
            with httpx.stream("GET", url, headers=_resume(part), follow_redirects=True, timeout=TIMEOUT) as response:
                if response.status_code == 416:  # the part is no part of this file
                    _forget(part)
                    reason = "the kept part did not fit; it was thrown away"
                    continue
                if response.status_code >= 500 or response.status_code == 429:
                    reason = f"answers {response.status_code} {response.reason_phrase}"
                    continue
                if response.status_code >= 400:
                    raise DataError(
                        f"{url}: answers {response.status_code} {response.reason_phrase}; the file may have moved: "
                        "look for its new address and put it into the recipe, or leave the source out with --skip"
                    )
                _receive(response, part, advance)
            return part
        except httpx.HTTPError as error:
            kept = part.stat().st_size if part.exists() else 0
            reason = f"{' '.join(str(error).split()) or type(error).__name__}; {kept:,} bytes are kept"
    raise DataError(f"{url}: could not be fetched in {TRIES} tries ({reason}); run again to go on from there")


def _resume(part: Path) -> dict[str, str]:
    """Ask for the rest, if the version of which a part is here can be named; the bytes as they are, uncompressed."""
    headers = {"Accept-Encoding": "identity"}
    tag = _tag_file(part)
    if part.exists() and part.stat().st_size and tag.exists():
        return {**headers, "Range": f"bytes={part.stat().st_size}-", "If-Range": tag.read_text()}
    return headers


def _receive(response: httpx.Response, part: Path, advance: Callable[[int], object]) -> None:
    goes_on = response.status_code == 206
    tag = response.headers.get("ETag", "")
    if not goes_on:
        part.unlink(missing_ok=True)
        # A weak tag does not promise the same bytes.
        if tag and not tag.startswith("W/"):
            _tag_file(part).write_text(tag)
        else:
            _tag_file(part).unlink(missing_ok=True)
    with part.open("ab" if goes_on else "wb") as file:
        for block in response.iter_raw():  # as they come: a larger block would be lost with its connection
            file.write(block)
            advance(len(block))


def _tag_file(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _tag_file(part).unlink(missing_ok=True)
