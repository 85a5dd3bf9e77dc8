"""People in a dataset: their names among the writers become salted keys, personal data in texts is listed.

The scan of texts is a help for the person who releases, not a proof: names in a text are not found, and a number in a
story may be invented. So it lists, asks for a look, and changes nothing.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from storyalign.errors import DataError
from storyalign.hub.build.row_checks import KIT_AUTHOR, KIT_EDIT
from storyalign.hub.parquet_texts import search_texts
from storyalign.hub.payload import Payload
from storyalign.hub.release.release_options import ReleaseOptions
from storyalign.hub.released_rows import Dataset, read_rows, rebuild
from storyalign.records import Instance, PreferencePair

RULES = {
    "mail address": r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b",
    "telephone number": (
        r"\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]?\d{2,4}){2,3}\b"  # +44 20 7946 0958
        r"|\(\d{3}\) ?\d{3}[ .-]\d{4}\b"  # (555) 123-4567
        r"|\b\d{3}[.-]\d{3}[.-]\d{4}\b"  # 555-123-4567
        r"|\b1[3-9]\d{9}\b"  # mainland China, mobile
    ),
    "link to a profile": (
        r"(?i)\b(?:(?:www\.|old\.)?reddit\.com/u(?:ser)?/|(?:twitter|x|facebook|instagram|tiktok|weibo|linkedin)\.com/(?:in/|u/)?"
        r"|douban\.com/people/|zhihu\.com/people/|github\.com/|t\.me/)@?[A-Za-z0-9._-]{2,}"
    ),
    "user handle": r"(?:\s|^|\()/?u/[A-Za-z0-9_-]{3,20}\b",
}
"""Kinds of personal data and their patterns, in RE2's syntax."""

_CARD_RULES = ("telephone number", "user handle")
"""What is looked for in cards; contact addresses and links stand there on purpose."""


class Finding(NamedTuple):
    """One place with what looks like personal data."""

    place: str
    kind: str
    excerpt: str


def find_personal_data(payload: Payload) -> Iterator[Finding]:
    """Go through all texts of Parquet files, and through cards and notes."""
    # ASCII: a word ends where Chinese begins, as in RE2.
    compiled = {kind: re.compile(pattern, re.ASCII) for kind, pattern in RULES.items()}
    for path, source in payload.files.items():
        if path.endswith(".parquet") and not isinstance(source, bytes):
            for kind, pattern in RULES.items():
                for text in search_texts(source, pattern):
                    for match in compiled[kind].finditer(text.text):
                        yield Finding(f"{path}, row {text.row_id}, {text.column}", kind, match.group().strip())
        elif path.endswith(".md") or (path.endswith(".txt") and payload.kind != "model"):  # vocabularies are no notes
            text_of_card = payload.text(path)
            for kind in _CARD_RULES:
                for match in compiled[kind].finditer(text_of_card):
                    line = text_of_card.count("\n", 0, match.start()) + 1
                    yield Finding(f"{path}:{line}", kind, match.group().strip())


def require_review(payload: Payload, findings: list[Finding]) -> None:
    """Stop where something was found that nobody has looked at.

    Raises:
        DataError: says how many findings there are and how to go on.
    """
    if findings:
        raise DataError(
            f"{payload.folder}: {len(findings)} places look like personal data (listed above); remove it, or, if it is "
            "harmless, run again with --personal-data-reviewed"
        )


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
        """Return the key of a person: ``person-`` and 12 hexadecimal digits."""
        return f"person-{hmac.digest(self.salt, name.encode(), 'sha256').hex()[:12]}"


def is_handle(writer: str | None) -> bool:
    """Return whether a writer is a person's handle.

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


NOBODY = re.compile(rf"(?i:human|unknown|anonymous)|person-[0-9a-f]{{12}}|{KIT_AUTHOR}|{KIT_EDIT}.*")
"""Writers that name no person, whoever they stand for."""

SHOWN = 12


def without_names(payload: Payload, dataset: Dataset, work: Path, sample: bool, options: ReleaseOptions) -> Payload:
    """Replace people among the writers by keys, build again where there were any, and list the writers that stay.

    A writer is a person whose name is a handle, a mail address or a profile, who wrote what people write by the
    dataset's own rule, or whom the releaser names.

    Args:
        payload: a built folder.
        dataset: which of the two.
        work: a folder for what is built.
        sample: the rows are the kit's synthetic sample.
        options: the releaser's decisions.
    """
    people, others = set(options.people), set[str]()
    for placed in read_rows(payload):
        people |= {writer for writer in _human_places(placed.row) if not NOBODY.fullmatch(writer)}
        for writer in _writers(placed.row):
            (people if is_handle(writer) else others).add(writer)
    others = {writer for writer in others - people if not NOBODY.fullmatch(writer)}
    if others:
        options.say(f"{payload.folder}: writers that keep their names, as models: {_listed(others)}")
        options.say("  if there are people among them, name each with --person")
    if not people:
        return payload
    options.say(f"{payload.folder}: writers that are people, and get salted keys: {_listed(people)}")
    keys = load_person_keys(options.salt)

    def hidden(writer: object) -> object:
        return keys.key(writer) if isinstance(writer, str) and writer in people else writer

    def renamed(row: dict[str, object]) -> dict[str, object]:
        for name in ("chosen_writer", "rejected_writer"):
            if name in row:
                row[name] = hidden(row[name])
        if isinstance(writers := row.get("rejected_writers"), list | tuple):
            row["rejected_writers"] = [hidden(writer) for writer in writers]
        return row

    rows = (renamed(placed.row.to_row()) for placed in read_rows(payload))
    return rebuild(payload, dataset, rows, work / "keyed", sample)[0]


def _human_places(row: Instance | PreferencePair) -> tuple[str, ...]:
    """Return the writers who are people by the dataset's own rule (sections 2.1 and 3.1)."""
    writers: tuple[str | None, ...] = ()
    if isinstance(row, Instance):
        if row.source == "human_llm":
            writers = (row.chosen_writer,)
    elif row.construction == "back_generation":
        writers = (row.chosen_writer, row.rejected_writer)
    return tuple(writer for writer in writers if writer)


def _writers(row: Instance | PreferencePair) -> tuple[str, ...]:
    rejected = row.rejected_writers if isinstance(row, Instance) else (row.rejected_writer,)
    return tuple(writer for writer in (row.chosen_writer, *rejected) if writer)


def _listed(names: Collection[str]) -> str:
    some = sorted(names)[:SHOWN]
    return ", ".join(some) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
