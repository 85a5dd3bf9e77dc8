"""An OpenAI-compatible endpoint as a recipe describes it; the key itself stays in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from storyalign.errors import EndpointError, RecipeError
from storyalign.settings import Count, Name, NotNegative, Positive, Temperature, checked, from_entry
from storyalign.text import digest

ReplyFormat = Literal["json_schema", "json_object", "text"]
"""How the endpoint is asked for a machine-readable reply: a JSON schema, any JSON object, or in words alone."""

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@checked
@dataclass(frozen=True, slots=True)
class Price:
    """List price in US dollars for a million tokens."""

    prompt: NotNegative
    reply: NotNegative

    def cost(self, prompt_tokens: int, reply_tokens: int) -> float:
        """Return the cost of one call in US dollars."""
        return (prompt_tokens * self.prompt + reply_tokens * self.reply) / 1_000_000


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn."""

    max_tokens: int
    """Upper bound of the reply, reasoning included."""
    temperature: float | None
    """None leaves it out of the request."""
    seed: int | None
    """None leaves it out of the request."""


@checked
@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how a model is asked. Holds the name of the key's variable, never the key."""

    url: str
    """The API root, for instance ``https://api.openai.com/v1``; ``/chat/completions`` is appended."""
    model: Name
    key_variable: str | None = None
    """Environment variable that holds the API key; None for a server that wants none."""
    price: Price | None = None
    """None where the price is not known; a server on this machine costs nothing."""
    reply_format: ReplyFormat = "text"
    temperature: Temperature | None = 0.0
    """None leaves it out of the request, for models that refuse the field."""
    seed: int | None = None
    takes_seed: bool = True
    """False for endpoints that refuse the field; construction steps then leave it out."""
    tokenizer: str | None = None
    """A Hub id or a folder with the model's tokenizer; estimates of prompt tokens are then counts."""
    max_tokens: Count = 256
    """Upper bound of the reply, reasoning included."""
    max_tokens_field: str = "max_tokens"
    """Some endpoints call it ``max_completion_tokens``."""
    max_concurrency: Count = 8
    requests_per_minute: Positive | None = None
    timeout: Positive = 120.0
    """Seconds for one try, from connecting to the last byte."""
    tries: Count = 5
    """Tries for one call, the first one included."""
    first_pause: Positive = 1.0
    """Seconds before the second try; doubles each time, at most ``longest_pause``."""
    longest_pause: Positive = 60.0
    """A server that asks to wait longer than this is not asked again in this run."""
    extra: Mapping[str, Any] | None = None
    """Further fields of the request body, for instance ``{"reasoning_effort": "low"}``."""

    def __post_init__(self) -> None:
        """Refuse a URL that cannot work, or carries a secret; it is not shown."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RecipeError(f"endpoint {self.model}: url must be an http(s) address")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise RecipeError(
                f"endpoint {self.model}: url at {parts.hostname} carries credentials or a query; keep the key in an "
                "environment variable and name it in key_variable"
            )
        if self.key_variable is not None and not self.key_variable.isidentifier():
            raise RecipeError(
                f"endpoint {self.model}: key_variable must be the name of an environment variable, not a key"
            )

    @classmethod
    def from_recipe(cls, place: str, entry: object) -> Endpoint:
        """Make an endpoint of a recipe's entry.

        Args:
            place: the entry's keys in the file, joined by dots, for messages.
            entry: the fields of this class; ``price`` is ``{prompt: ..., reply: ...}`` in US dollars a million tokens.

        Raises:
            RecipeError: a field is unknown, missing or wrong, or the entry holds a key instead of a variable's name.
        """
        return from_entry(cls, entry, place)

    @property
    def sampling(self) -> Sampling:
        """How replies are drawn where a call does not say."""
        return Sampling(self.max_tokens, self.temperature, self.seed)

    @property
    def is_local(self) -> bool:
        """Whether the endpoint runs on this machine."""
        return urlsplit(self.url).hostname in _LOCAL_HOSTS

    @property
    def known_price(self) -> Price | None:
        """The price, zero for a server on this machine without one, None where nobody knows."""
        return self.price if self.price is not None or not self.is_local else Price(0.0, 0.0)

    def key(self) -> str | None:
        """Read the key from the environment.

        Raises:
            EndpointError: the variable is named and not set.
        """
        if self.key_variable is None:
            return None
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise EndpointError(f"{self.model}: {self.key_variable} is not set; export it with your API key")
        return key

    def settings_digest(self) -> str:
        """Hash all that may shape a reply: address, model and sampling, not pace, price or retries."""
        return digest(
            self.url.rstrip("/"),
            self.model,
            self.reply_format,
            repr(self.temperature),
            repr(self.seed),
            repr(self.max_tokens),
            repr(sorted((self.extra or {}).items())),
        )
