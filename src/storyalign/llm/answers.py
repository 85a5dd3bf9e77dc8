"""What one HTTP answer of a chat endpoint means: a reply, a failure worth another try, a final one, or a dead end."""

from __future__ import annotations

import email.utils
import json
import re
import time
from dataclasses import dataclass
from typing import Any

from storyalign.errors import EndpointError
from storyalign.text import lone_surrogate

_TRY_AGAIN = {408, 409, 425, 429}
_DEAD_END = {401, 402, 404, 405}
_MOST_WORDS = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply and what the endpoint counted."""

    text: str
    prompt_tokens: int | None
    reply_tokens: int | None


class CallFailed(Exception):
    """One try failed; the message is the reason that a row will carry."""

    def __init__(
        self,
        reason: str,
        *,
        again: bool,
        wait: float | None = None,
        billed: bool = False,
        unusable: bool = False,
        usage: object = None,
    ):
        super().__init__(reason)
        self.again = again
        """Whether the failure may pass, so that another try may help."""
        self.wait = wait
        """Seconds that the server asks to wait."""
        self.billed = billed
        """Whether the endpoint may charge for the try."""
        self.unusable = unusable
        """Whether there was a whole answer that holds no whole reply: cut, filtered or refused."""
        self.prompt_tokens, self.reply_tokens = _counts(usage)
        """What the endpoint counted all the same; None where it gives no counts."""


def read_answer(status: int, headers: dict[str, str], body: bytes, *, where: str, max_tokens: int) -> Reply:
    """Turn an HTTP answer into a reply.

    Args:
        status: the HTTP status.
        headers: names in lower case.
        body: the whole body.
        where: the endpoint's name, for messages.
        max_tokens: the bound that was asked for, for messages.

    Raises:
        CallFailed: this call has no reply, or not yet.
        EndpointError: no call can succeed: bad key, no credit, unknown model or address.
    """
    if status != 200:
        said = f"HTTP {status}{_error_text(body)}"
        if status in _DEAD_END or 300 <= status < 400:
            raise EndpointError(f"{where}: {said}; check url, model and key with `storyalign doctor`")
        raise CallFailed(said, again=status in _TRY_AGAIN or status >= 500, wait=_retry_after(headers))
    try:
        answer = json.loads(body)  # unlike orjson it reads lone surrogates, so that their place can be named
    except (ValueError, RecursionError) as error:
        raise CallFailed("the answer is no whole JSON", again=True, billed=True) from error
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or not answer["choices"]:
        raise CallFailed(f"the answer has no choice{_error_text(body)}", again=True)
    choice, usage = answer["choices"][0], answer.get("usage")
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise CallFailed("the choice has no message", again=True, billed=True, usage=usage)
    return _read_message(message, choice.get("finish_reason"), usage, max_tokens)


def _read_message(message: dict[str, Any], finish: object, usage: object, max_tokens: int) -> Reply:
    content, unusable = message.get("content"), None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if finish == "length":
        unusable = f"the reply was cut at {max_tokens} tokens; raise max_tokens"
    elif finish == "content_filter":
        unusable = "the endpoint's content filter stopped the reply"
    elif message.get("refusal"):
        unusable = f"refused: {_printable(str(message['refusal']))}"
    elif isinstance(content, str) and (lone := lone_surrogate(content)):
        unusable = f"the reply holds {lone}"
    if unusable:
        raise CallFailed(unusable, again=False, billed=True, unusable=True, usage=usage)
    if not isinstance(content, str) or not content.strip():
        raise CallFailed("the choice is empty", again=True, billed=True, usage=usage)
    return Reply(content, *_counts(usage))


def _counts(usage: object) -> tuple[int | None, int | None]:
    counts = usage if isinstance(usage, dict) else {}
    return _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens"))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _error_text(body: bytes) -> str:
    """Return the start of the server's own error message, on one line."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    error = answer.get("error", answer.get("detail")) if isinstance(answer, dict) else None
    text = error.get("message") if isinstance(error, dict) else error
    words = _printable(str(text if text is not None else body[:_MOST_WORDS].decode("utf-8", "replace")))
    return f": {words}" if words else ""


def _printable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", " ".join(text.split()))[:_MOST_WORDS]


def _retry_after(headers: dict[str, str]) -> float | None:
    """Read Retry-After, given in seconds or as a date; None where it is absent or makes no sense."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
