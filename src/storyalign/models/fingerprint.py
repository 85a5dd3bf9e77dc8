"""The identity of a model folder: a hash of everything in it that shapes a reward."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from storyalign.text import digest

_BLOB = re.compile(r"[0-9a-f]{64}")
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_PATTERNS = (
    "*.safetensors",
    "config.json",
    "adapter_config.json",
    *_TOKENIZER,
    "vocab.*",
    "*.model",
    "*.jinja",
    "*.py",
    "modules.json",
    "[12]_*/config.json",
    "[12]_*/*.safetensors",
)


def folder_digest(folder: Path) -> str:
    """Hash weights, configuration, tokenizer and code of a model folder to 64 hexadecimal digits.

    Training leftovers, cards and the folder's place do not count. Large files in the Hub's cache are not read again:
    the cache has named them by their SHA-256 already.
    """
    files = sorted({path for pattern in _PATTERNS for path in folder.glob(pattern) if path.is_file()})
    return digest(*(part for path in files for part in (str(path.relative_to(folder)), _file_digest(path))))


def _file_digest(path: Path) -> str:
    target = path.resolve()
    if target.parent.name == "blobs" and _BLOB.fullmatch(target.name):
        return target.name
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
