"""Find what looks like a key or password before it leaves the machine.

Files are read whole by the detectors of `detect-secrets` that know a key by its form, plus rules for forms that it does
not know. Detectors that go by entropy are left out: every digest in a card would be an alarm. Texts in Parquet are
looked through with one pattern first, so that gigabytes of stories take minutes, not hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from storyalign.errors import DataError
from storyalign.hub.archives import members
from storyalign.hub.parquet_texts import search_texts
from storyalign.hub.payload import Payload

DETECTORS = (
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "BasicAuthDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
)
"""Detectors of detect-secrets that know a key by its form."""

RULES = {
    "Hugging Face token": re.compile(r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    "Anthropic key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    "OpenAI project key": re.compile(r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
    "Google key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}"),
}
"""Forms that detect-secrets does not know."""

ASSIGNMENT = re.compile(
    r"""(?i)\b(?:api|access|auth|secret|private)[_-]?(?:key|token|secret)\b["']?\s*[:=]\s*["']?([^\s"'<>{}$]{12,})"""
    r"""|\b(?:password|passwd)\b["']?\s*[:=]\s*["']([^\s"'<>{}$]{6,})["']"""
)
"""A name that says key or password, with a value; looked for in settings and code only."""

SETTINGS = {".cfg", ".env", ".ini", ".py", ".sh", ".toml", ".yaml", ".yml"}
KEY_FILES = {".env", ".netrc", ".npmrc", ".pypirc", "credentials", "id_ed25519", "id_rsa", "stored_tokens", "token"}
"""Files that are keys by their name."""

MAX_HEADER = 100_000_000
"""Bytes; safetensors allows no longer header."""

_IN_STORIES = (
    r"\bhf_\w{30}|\bgh[opsu]_\w{30}|github_pat_|\bA[KS]IA[A-Z0-9]{16}|\bsk-[\w-]{20}|\bAIza[\w-]{35}|\bglpat-|\bxox[abprs]-"
    r"|-----BEGIN |\beyJ[\w-]{10,}\.|\bnpm_\w{30}|pypi-AgE|\bSG\.[\w-]{20}|\b[rs]k_live_|\bsq0|://[^\s/:@]+:[^\s/:@]+@"
)


class Secret(NamedTuple):
    """Where something looks like a key; the key itself is not kept."""

    place: str
    rule: str


def refuse_secrets(payload: Payload, token: str | None = None) -> None:
    """Stop where a payload holds anything that looks like a key, or the very token that is in use.

    Raises:
        DataError: names each place and the rule, never the key.
    """
    found = list(find_secrets(payload, token))
    if found:
        listed = "; ".join(f"{secret.place} ({secret.rule})" for secret in found[:10])
        more = f" and {len(found) - 10} more" if len(found) > 10 else ""
        raise DataError(
            f"{payload.folder}: what looks like a key is not released: {listed}{more}; take it out, and revoke it "
            "if it was real"
        )


def find_secrets(payload: Payload, token: str | None = None) -> Iterator[Secret]:
    """Go through all files of a payload, and through what is packed in them."""
    for path, source in payload.files.items():
        if path.endswith(".parquet") and not isinstance(source, bytes):
            for found in search_texts(source, _IN_STORIES):
                for rule, _ in _keys(found.text, settings=False, token=token):
                    yield Secret(f"{path}, row {found.row_id}, {found.column}", rule)
            continue
        for place, data in members(path, _content(payload, path)):
            yield from _in_file(place, data, token)


def _content(payload: Payload, path: str) -> bytes:
    """Give a file's content; of weights only what is not numbers, the header."""
    source = payload.files[path]
    if not path.endswith(".safetensors") or isinstance(source, bytes):
        return payload.read(path)
    with source.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return file.read(min(size, MAX_HEADER))


def _in_file(place: str, data: bytes, token: str | None) -> Iterator[Secret]:
    name = PurePosixPath(place.rpartition("!")[2])
    if name.name in KEY_FILES or name.suffix in (".key", ".pem"):
        yield Secret(place, "a file for keys")
        return
    text = _as_text(data)
    for rule, value in _keys(text, settings=name.suffix in SETTINGS, token=token):
        yield Secret(f"{place}:{text.count(chr(10), 0, text.find(value)) + 1}", rule)


def _keys(text: str, settings: bool, token: str | None) -> Iterator[tuple[str, str]]:
    if token and token in text:
        yield "the token in use", token
        return
    for detector in _detectors():
        yield from ((detector.secret_type, str(value)) for value in detector.analyze_string(text))
    for rule, pattern in RULES.items():
        yield from ((rule, match.group()) for match in pattern.finditer(text))
    if settings:
        yield from (("a key by its name", match.group()) for match in ASSIGNMENT.finditer(text))


def _as_text(data: bytes) -> str:
    """Read any file as text; in what is no text the byte patterns of keys still stand as they are."""
    return data.decode("utf-8", "replace")


@cache
def _detectors() -> tuple[Any, ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Any = get_mapping_from_secret_type_to_class().values()
    by_name = {cls.__name__: cls for cls in classes}
    return tuple(by_name[name]() for name in DETECTORS)
