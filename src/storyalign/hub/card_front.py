"""The front matter of a card, parsed."""

from __future__ import annotations

import re
from typing import Any

import yaml

from storyalign.errors import DataError
from storyalign.hub.payload import Payload

_FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


def split_card(text: str) -> tuple[dict[str, Any], str]:
    """Split a card into front matter and text.

    Raises:
        ValueError: there is no front matter, or it is no YAML mapping.
    """
    match = _FRONT.match(text.replace("\r\n", "\n"))
    if not match:
        raise ValueError("no front matter; the file must begin with a line of three dashes")
    try:
        front = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        raise ValueError(f"front matter is no YAML ({' '.join(str(error).split())})") from error
    if not isinstance(front, dict):
        raise ValueError("front matter is no mapping")
    return front, text.replace("\r\n", "\n")[match.end() :]


def front_matter(payload: Payload) -> dict[str, Any]:
    """Give the front matter of a payload's card.

    Raises:
        DataError: there is none, or it is broken.
    """
    try:
        return split_card(payload.text("README.md"))[0]
    except ValueError as error:
        raise DataError(f"{payload.folder / 'README.md'}: {error}") from error
