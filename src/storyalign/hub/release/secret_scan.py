"""Find what looks like a key or password before it leaves the machine.

Three things are looked for, in every file and in every text of a Parquet file: forms that the detectors of
`detect-secrets` know, the providers' own prefixes, which it mostly lacks, and assignments to a name like
``OPENAI_API_KEY``. Detectors that go by entropy are left out: every digest in a card would be an alarm. Texts in
Parquet are searched with one pattern first, so that gigabytes of stories take minutes, not hours.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from storyalign.errors import DataError
from storyalign.hub.parquet_texts import search_texts
from storyalign.hub.payload import Payload

DEPTH = 4
"""Archives within archives are opened so often."""


def members(path: str, data: bytes, depth: int = DEPTH) -> Iterator[tuple[str, bytes]]:
    """Yield a file, and if it is a zip (or wheel), tar or gzip file, everything in it.

    Args:
        path: its name; members are named ``path!member``.
        data: its content.
        depth: how many archives within archives are opened.

    Raises:
        DataError: it is packed, and cannot be looked into.
    """
    yield path, data
    packed = data.startswith((b"PK\x03\x04", b"\x1f\x8b\x08")) or data[257:262] == b"ustar"
    if packed and not depth:
        raise DataError(f"{path}: archives within archives; unpack it")
    if packed:
        try:
            inside = list(_unpack(data))
        except (*_BROKEN, NotImplementedError, RuntimeError) as error:  # RuntimeError: it asks for a password
            raise DataError(f"{path}: packed, and cannot be looked into ({error}); unpack it, or remove it") from error
        for name, inner in inside:
            yield from members(f"{path}!{name}", inner, depth - 1)


_BROKEN = (zipfile.BadZipFile, zlib.error, tarfile.TarError, OSError, EOFError)


def _unpack(data: bytes) -> Iterator[tuple[str, bytes]]:
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from ((info.filename, archive.read(info)) for info in archive.infolist() if not info.is_dir())
    elif data.startswith(b"\x1f\x8b"):
        yield "content", gzip.decompress(data)
    else:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for member in tar:
                if file := tar.extractfile(member):
                    yield member.name, file.read()


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
    "Hugging Face token": r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}",
    "sk- key": r"\bsk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, DashScope, Moonshot and others
    "Cerebras key": r"\bcsk-[a-z0-9]{32,}",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Docker Hub token": r"\bdckr_[po]at_[A-Za-z0-9_-]{27,}",
    "Fireworks key": r"\bfw_[A-Za-z0-9]{22,}",
    "GitHub fine-grained token": r"\bgithub_pat_[A-Za-z0-9_]{22,}",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "Google OAuth secret": r"\bGOCSPX-[A-Za-z0-9_-]{28}",
    "Groq key": r"\bgsk_[A-Za-z0-9]{40,}",
    "LangSmith key": r"\blsv2_[a-z]{2}_[0-9a-f]{32}",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "NVIDIA key": r"\bnvapi-[A-Za-z0-9_-]{40,}",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{40,}",
    "Pinecone key": r"\bpcsk_[A-Za-z0-9_]{40,}",
    "Replicate token": r"\br8_[A-Za-z0-9]{30,}",
    "Tavily key": r"\btvly-[A-Za-z0-9-]{28,}",
    "Together key": r"\btgp_v1_[A-Za-z0-9_-]{30,}",
    "Weights & Biases key": r"\bwandb_v1_[A-Za-z0-9_]{40,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{40,}",
    "Zhipu key": r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b",
}
"""Prefixes and lengths as the providers document them, in RE2's syntax; a match counts where it holds a digit."""

ASSIGNMENTS = (
    # shell, .env, YAML, TOML, JSON, Python: OPENAI_API_KEY=..., "HF_TOKEN": "...", os.environ["X_SECRET"] = "..."
    r"[A-Z0-9]_(?:API_?KEY|ACCESS_KEY|SECRET_KEY|TOKEN|SECRET|PASSWORD)"
    r"""(?:\\?["']\]?)?\s*(?::|=|=>)\s*\\?["']?([^\s"'\\<>{}$()\[\],;]{12,})""",
    r"""(?i:(?:\b|_)(?:api|access|auth|secret|private)[_-]?(?:key|token|secret)\\?["']?\]?\s*(?::|=|=>)\s*\\?["']?)"""
    r"""([^\s"'\\<>{}$()\[\],;]{12,})""",
    r"(?i:\bauthorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:bearer|basic|token)\s+)([A-Za-z0-9._~+/=-]{12,})",
    r"(?:\bmachine\s+\S+\s+|\bdefault\s+)(?:login\s+\S+\s+)(?:account\s+\S+\s+)?password\s+(\S+)",  # netrc
)
"""A name that says key, with a value; the value counts where it holds a digit, so that no sentence is an alarm."""

PASSWORD = re.compile(r"""(?i)\b(?:password|passwd)\b["']?\s*[:=]\s*["']([^\s"'<>{}$]{6,})["']""")
"""Looked for in settings and code only: in a story somebody may tell a password."""

SETTINGS = {".cfg", ".env", ".ini", ".py", ".sh", ".toml", ".yaml", ".yml"}
KEY_FILES = {".env", ".netrc", ".npmrc", ".pypirc", "credentials", "id_ed25519", "id_rsa", "stored_tokens", "token"}
"""Files that are keys by their name."""

MAX_HEADER = 100_000_000
"""Bytes; safetensors allows no longer header."""

_COMPILED = {
    **{rule: re.compile(pattern) for rule, pattern in RULES.items()},
    **{f"assignment {number}": re.compile(pattern) for number, pattern in enumerate(ASSIGNMENTS)},
}
_IN_STORIES = "|".join(
    (
        *RULES.values(),
        *ASSIGNMENTS,
        r"\bgh[opsur]_\w{30}|\bgl[a-z]{2,5}-|\bGR1348941|(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}",
        r"\bxox[abposr]-|hooks\.slack\.com|BEGIN [A-Z2 ]*PRIVATE|PuTTY-User|\beyJ[\w-]{10,}\.|_authToken|pypi-AgE",
        r"\bSG\.[\w-]{20}|[rs]k_live_|\bsq0|://[^\s/:@]+:[^\s/:@]+@|AccountKey=|[0-9a-z]{32}-us\d",
        r"[MNO][\w-]{23,25}\.[\w-]{6}\.|\d{8,10}:[\w-]{35}",
    )
)
"""Whatever one of the rules or detectors may take for a key."""


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
    """Return a file's content; of weights only what is not numbers, the header."""
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
    for rule, pattern in _COMPILED.items():
        for match in pattern.finditer(text):
            value = match[match.lastindex or 0]
            if any(character.isdigit() for character in value):
                yield "a key by its name" if rule.startswith("assignment") else rule, match.group()
    if settings:
        yield from (("a password", match.group()) for match in PASSWORD.finditer(text))


def _as_text(data: bytes) -> str:
    """Read any file as text; in what is no text the byte patterns of keys still stand as they are."""
    return data.decode("utf-8", "replace")


@cache
def _detectors() -> tuple[Any, ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Any = get_mapping_from_secret_type_to_class().values()
    by_name = {cls.__name__: cls for cls in classes}
    return tuple(by_name[name]() for name in DETECTORS)
