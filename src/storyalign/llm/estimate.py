"""What a step will cost, before anything is spent: calls, prompt tokens, and upper bounds of replies and money.

Prompt tokens are counted with the endpoint's tokenizer where the recipe names one; otherwise they are estimated from
the text and corrected by what the endpoint has counted in earlier calls of the step (a run with ``--limit`` is enough).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.errors import MissingExtraError, RecipeError
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.reply_log import ReplyLog
from storyalign.llm.step_runs import requests_of
from storyalign.llm.steps import Row, Step

Messages = Sequence[Mapping[str, str]]
CountTokens = Callable[[Messages], float]
"""Tokens of a request's messages, as its endpoint counts them."""

_PER_MESSAGE = 4
"""Tokens that a chat template puts around one message, as the usual ones do."""


class Estimate(NamedTuple):
    """What one endpoint will be asked for."""

    calls: int
    prompt_tokens: int
    reply_bound: int
    """Most tokens that the replies may have, if no reply is asked for twice."""
    cost_bound: float | None
    """US dollars for ``prompt_tokens`` and ``reply_bound``; None where no price is known."""


def estimate(step: Step, rows: Iterable[Row], endpoint: Endpoint, count_tokens: CountTokens) -> Estimate:
    """Estimate a step over rows that all need a call."""
    calls, prompt_tokens, reply_bound = 0, 0.0, 0
    for row in rows:
        request = step.request(row)
        calls += 1
        prompt_tokens += count_tokens(request.messages)
        reply_bound += request.max_tokens
    price = endpoint.known_price
    whole = round(prompt_tokens)
    return Estimate(calls, whole, reply_bound, None if price is None else price.cost(whole, reply_bound))


def plain_count(messages: Messages) -> float:
    """Estimate without a tokenizer: what today's tokenizers take on average for prose, and the template's share.

    English prose takes about 4.4 characters a token, digits and other scripts' letters more tokens; Chinese about
    1.4 characters a token. Off by up to 15% for one tokenizer or another.
    """
    return sum(_PER_MESSAGE + _prose_tokens(message["content"]) for message in messages)


def _prose_tokens(text: str) -> float:
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ascii_characters / 4.4 + (len(text) - ascii_characters) / 1.4


def corrected_count(counted: Sequence[tuple[Messages, int]], count_tokens: CountTokens = plain_count) -> CountTokens:
    """Correct a count by what the endpoint said of earlier requests.

    Args:
        counted: earlier requests and the endpoint's own count of each.
        count_tokens: the count to correct; it is given back unchanged where nothing was counted.
    """
    said = sum(tokens for _, tokens in counted)
    ours = sum(count_tokens(messages) for messages, _ in counted)
    if said <= 0 or ours <= 0:
        return count_tokens
    return lambda messages: count_tokens(messages) * said / ours


def tokenizer_count(name: str) -> CountTokens:
    """Count with a model's tokenizer, chat template included where ``transformers`` is installed.

    Args:
        name: a Hub id, or a folder with ``tokenizer.json``.

    Raises:
        RecipeError: there is no such tokenizer, or it cannot be reached.
    """
    templated = _templated(name)
    if templated is not None:
        return templated
    tokenizer = _plain_tokenizer(name)
    return lambda messages: sum(_PER_MESSAGE + tokenizer(message["content"]) for message in messages)


@cache
def _templated(name: str) -> CountTokens | None:
    try:
        from transformers import AutoTokenizer
    except ModuleNotFoundError:
        return None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise RecipeError(f"tokenizer {name}: cannot be loaded ({str(error).splitlines()[0]})") from error
    if not tokenizer.chat_template:
        return None

    def count(messages: Messages) -> float:
        tokens: Any = tokenizer.apply_chat_template(
            [dict(m) for m in messages], add_generation_prompt=True, return_dict=True
        )
        return len(tokens["input_ids"])

    return count


@cache
def _plain_tokenizer(name: str) -> Callable[[str], int]:
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "tokenizers") from error
    file = Path(name) / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file)) if file.is_file() else Tokenizer.from_pretrained(name)
    except Exception as error:  # the library raises bare Exceptions
        raise RecipeError(f"tokenizer {name}: cannot be loaded ({str(error).splitlines()[0]})") from error
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def counted_calls(
    step: Step, source: Path, endpoint: Endpoint, folder: Path, most: int = 50
) -> list[tuple[Messages, int]]:
    """Find requests of earlier runs that the endpoint has counted, with its count.

    Args:
        step: the step that asked.
        source: the rows it asked about.
        endpoint: whom it asked.
        folder: the step's folder.
        most: so many are enough.
    """
    if not (folder / "replies").is_dir() or not source.is_file():
        return []
    log = ReplyLog(folder / "replies")
    found: list[tuple[Messages, int]] = []
    for row, request in requests_of(step, source, endpoint, None):
        outcome = log.outcome(row["id"], request)
        if outcome is not None and outcome.counted:
            found.append((step.request(row).messages, outcome.counted))
            if len(found) == most:
                break
    return found
