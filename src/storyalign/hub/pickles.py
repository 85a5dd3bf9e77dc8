"""Tell pickles: files that can run code when they are loaded."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

ENDINGS = {".bin", ".ckpt", ".dill", ".joblib", ".pickle", ".pkl", ".pt", ".pt2", ".pth"}
"""Endings under which torch, transformers and scikit-learn write pickles."""

_HARMLESS = {".gguf", ".json", ".jsonl", ".md", ".parquet", ".png", ".safetensors", ".svg", ".txt", ".yaml"}
_PROTOCOL = re.compile(rb"\x80[\x02-\x05]")


def is_pickle(path: Path) -> bool:
    """Say whether a file is a pickle, by its ending or, where that says nothing, by its first bytes.

    A zip archive (how torch saves) counts where a member is a pickle.
    """
    ending = path.suffix.lower()
    if ending in ENDINGS:
        return True
    if ending in _HARMLESS:
        return False
    with path.open("rb") as handle:
        if _PROTOCOL.match(handle.read(2)):
            return True
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(Path(name).suffix.lower() in ENDINGS for name in archive.namelist())
