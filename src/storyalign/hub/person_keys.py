"""Keys in the place of people's names: the same name gives the same key, and nobody can go back without the salt."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from storyalign.errors import DataError

HANDLE = re.compile(
    r"^/?u/[\w-]+$|^@\w|^[^\s@]+@[^\s@]+\.\w+$|^(?:https?://|www\.)|(?:reddit|twitter|x|douban|zhihu|facebook)\.com/"
)
"""Writers that are a user's handle, mail address or profile; a model's id is none of these."""


@dataclass(frozen=True)
class PersonKeys:
    """Makes keys with one secret salt.

    Args:
        salt: random bytes that stay with whoever releases.
    """

    salt: bytes

    def key(self, name: str) -> str:
        """Give the key of a person: ``person-`` and 12 hexadecimal digits."""
        return f"person-{hmac.digest(self.salt, name.encode(), 'sha256').hex()[:12]}"


def is_handle(writer: str | None) -> bool:
    """Say whether a writer is a person's handle.

    >>> is_handle("u/night_owl"), is_handle("openai/gpt-4o"), is_handle("human")
    (True, False, False)
    """
    return writer is not None and HANDLE.search(writer) is not None


def load_person_keys(path: Path | None = None) -> PersonKeys:
    """Read the salt, or make one at the first use, readable for its owner alone.

    Args:
        path: the file with the salt. Default: ``STORYALIGN_SALT_FILE``, else ``~/.config/storyalign/salt``.

    Raises:
        DataError: the file cannot be read or written, or is no salt.
    """
    path = path or Path(os.environ.get("STORYALIGN_SALT_FILE") or Path.home() / ".config/storyalign/salt")
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_hex(32))
        salt = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: no usable salt ({error}); name another file in STORYALIGN_SALT_FILE") from error
    if len(salt) < 16:
        raise DataError(f"{path}: the salt is shorter than 16 bytes; delete the file to get a new one")
    return PersonKeys(salt)
