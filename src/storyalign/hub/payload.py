"""What goes into one repository: every file under its path, and what may never be among them."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from storyalign.errors import DataError
from storyalign.text import digest

Kind = Literal["dataset", "metric", "space", "model"]

REPO_TYPES: Mapping[Kind, str] = {"dataset": "dataset", "metric": "space", "space": "space", "model": "model"}
"""The Hub's type of repository for each kind; a metric is a Space."""

IGNORED = {".git", ".cache", ".ipynb_checkpoints", "__pycache__", ".DS_Store", ".gitignore", ".gitattributes"}
"""Names that are never uploaded, wherever they stand; ``.gitattributes`` is the Hub's own."""


@dataclass(frozen=True)
class Payload:
    """The files of one repository.

    Args:
        kind: dataset, metric, space or model.
        folder: where the files come from, for messages.
        files: path in the repository, with ``/`` -> a file on disk, or the content itself where release made it.
    """

    kind: Kind
    folder: Path
    files: Mapping[str, Path | bytes]

    def read(self, path: str) -> bytes:
        """Return the content of one file."""
        source = self.files[path]
        return source if isinstance(source, bytes) else source.read_bytes()

    def text(self, path: str) -> str:
        """Return the content of one text file.

        Raises:
            DataError: it is no UTF-8.
        """
        try:
            return self.read(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.folder / path}: not UTF-8 ({error.reason}); save it as UTF-8") from error

    def with_files(self, files: Mapping[str, Path | bytes]) -> Payload:
        """Add or replace files."""
        return replace(self, files=dict(sorted({**self.files, **files}.items())))

    def size(self, path: str) -> int:
        """Return the size of one file in bytes."""
        source = self.files[path]
        return len(source) if isinstance(source, bytes) else source.stat().st_size

    @cached_property
    def sha256(self) -> dict[str, str]:
        """SHA-256 of every file, 64 hexadecimal digits."""
        return {path: _sha256(source) for path, source in self.files.items()}

    @property
    def digest(self) -> str:
        """One digest over all paths and contents."""
        return digest(*(part for item in sorted(self.sha256.items()) for part in item))


def collect(folder: Path, kind: Kind) -> Payload:
    """Take the files of a folder, links followed, and refuse what may not be released.

    Raises:
        DataError: the folder is missing or empty, has no README.md, holds a broken link, a link to a folder, a pickle,
            or code where a dataset or model may have none.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; build it first, or check the path")
    files = {path.relative_to(folder).as_posix(): path for path in _walk(folder)}
    if "README.md" not in files:
        raise DataError(f"{folder}: no README.md; a {kind} without its card is not released")
    if kind in ("dataset", "model") and (code := [p for p in files if p.endswith(".py")]):
        # `load_dataset` refuses a repository with a script, and a model with code needs trust_remote_code.
        raise DataError(f"{folder}: a {kind} holds no code, but {', '.join(code)} is in it; move it out of the folder")
    if pickles := [path for path, source in files.items() if is_pickle(source)]:
        raise DataError(
            f"{folder}: {', '.join(pickles)} can run code when loaded (pickle); remove it, weights go as .safetensors"
        )
    return Payload(kind, folder, dict(sorted(files.items())))


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in IGNORED or path.name.endswith(".tmp"):
            continue
        if path.is_symlink() and not path.is_file():
            raise DataError(f"{path}: a link to {'a folder' if path.is_dir() else 'nothing'}; put the files themselves")
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def _sha256(source: Path | bytes) -> str:
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    with source.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


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
    """Return the front matter of a payload's card.

    Raises:
        DataError: there is none, or it is broken.
    """
    try:
        return split_card(payload.text("README.md"))[0]
    except ValueError as error:
        raise DataError(f"{payload.folder / 'README.md'}: {error}") from error


ENDINGS = {".bin", ".ckpt", ".dill", ".joblib", ".pickle", ".pkl", ".pt", ".pt2", ".pth"}
"""Endings under which torch, transformers and scikit-learn write pickles."""

_HARMLESS = {".gguf", ".json", ".jsonl", ".md", ".parquet", ".png", ".safetensors", ".svg", ".txt", ".yaml"}
_PROTOCOL = re.compile(rb"\x80[\x02-\x05]")


def is_pickle(path: Path) -> bool:
    """Return whether a file is a pickle, by its ending or, where that says nothing, by its first bytes.

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
