"""From requests to token ids within a limit, and from outcomes to rows; the forward passes are somebody else's."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from transformers import PreTrainedTokenizerBase

from storyalign.models.batches import plan_batches
from storyalign.models.chat import Conversation, Keep, TooLongError, cut, render_many
from storyalign.records import Reward
from storyalign.scoring.reward_store import Request, row_signature
from storyalign.text import same_text

_AT_ONCE = 64  # requests tokenised in one call
_REMEMBERED = 1024  # outcomes kept for equal conversations further on

Outcome = float | str
"""A reward, which may be NaN or infinite, or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as the model reads it."""

    request: Request
    ids: torch.Tensor
    """Token ids, as many as the model reads; none where even cutting cannot make the story fit."""
    story: tuple[int, int]
    """First token of the story, and the one after its last."""
    n_tokens: int
    truncated: bool

    @property
    def key(self) -> bytes:
        """What tells conversations apart; empty where there is nothing to score."""
        return hashlib.blake2b(self.ids.numpy().tobytes(), digest_size=16).digest() if self.ids.numel() else b""


Forward = Callable[[list[Prepared]], list[Outcome]]
"""Some conversations -> one outcome each."""


class Conversations:
    """Renders premise and story, keeps to a limit, and scores conversations of equal tokens once.

    Args:
        tokenizer: the model's.
        max_length: the most tokens a conversation may have; None for no limit.
        truncate: the part of an over-long story to keep; None refuses over-long stories.
        suffix: tokens that must end a conversation.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        max_length: int | None,
        truncate: Keep | None,
        suffix: tuple[int, ...] = (),
    ):
        self.tokenizer, self.max_length, self.truncate, self.suffix = tokenizer, max_length, truncate, suffix

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Name the stories that do not fit, before any work is done.

        Raises:
            TooLongError: there are some, and cutting was not asked for.
        """
        if self.truncate is not None or self.max_length is None:
            return
        # A token is at least one byte, so most stories need no tokenizer to be known to fit.
        margin = self.max_length - len(self._render([("", "")])[0]) - 8
        doubtful = [r for r in requests if _bytes(r.prompt) + _bytes(r.story) > margin]
        long = [
            (request, len(conversation))
            for chunk in _chunks(doubtful, _AT_ONCE)
            for request, conversation in zip(chunk, self._render([(r.prompt, r.story) for r in chunk]), strict=True)
            if len(conversation) > self.max_length
        ]
        if long:
            some = ", ".join(f"{r.id}[{r.candidate}] ({n})" for r, n in long[:5])
            raise TooLongError(
                f"{len(long)} of {len(requests)} stories are longer than {self.max_length} tokens: {some}"
                f"{', ...' if len(long) > 5 else ''}; give --truncate head, tail or middle, or leave them out"
            )

    def score(self, requests: Iterable[Request], forward: Forward, budget: int, scorer: str) -> Iterator[list[Reward]]:
        """Score a stream of requests of any length, one batch of rewards at a time, in the order of the work.

        Args:
            requests: the candidates.
            forward: what gives the rewards.
            budget: tokens of one call of it.
            scorer: digest of the scorer's settings, for the rows.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
        """
        # Conversations of equal tokens get one and the same outcome: noise breaks no tie.
        memo: dict[bytes, Outcome] = {}
        for batch in plan_batches(self._prepare(requests), lambda item: item.ids.numel(), budget=budget):
            new = {item.key: item for item in batch if item.key and item.key not in memo}
            memo.update(zip(new, forward(list(new.values())), strict=True))
            yield [self._row(item, memo.get(item.key), scorer) for item in batch]
            for key in list(islice(memo, max(0, len(memo) - _REMEMBERED))):
                del memo[key]

    def _render(self, pairs: list[tuple[str, str]]) -> list[Conversation]:
        rendered = render_many(self.tokenizer, pairs)
        if not self.suffix:
            return rendered
        return [
            c if c.after[-1:] == self.suffix else Conversation(c.before, c.story, c.after + self.suffix)
            for c in rendered
        ]

    def _prepare(self, requests: Iterable[Request]) -> Iterator[Prepared]:
        for chunk in _chunks(requests, _AT_ONCE):
            for request, whole in zip(chunk, self._render([(r.prompt, r.story) for r in chunk]), strict=True):
                yield self._fit(request, whole)

    def _fit(self, request: Request, whole: Conversation) -> Prepared:
        n_tokens, limit = len(whole), self.max_length or len(whole)
        if n_tokens <= limit:
            return _prepared(request, whole, n_tokens, False)
        if self.truncate is None:
            where = f"{request.id}[{request.candidate}]" if request.id else f"story {request.candidate + 1}"
            raise TooLongError(f"{where}: {n_tokens} tokens are more than {limit}; give --truncate, or a shorter story")
        try:
            return _prepared(request, cut(whole, limit, self.truncate), n_tokens, True)
        except TooLongError:
            return Prepared(request, torch.empty(0, dtype=torch.long), (0, 0), n_tokens, False)

    def _row(self, item: Prepared, outcome: Outcome | None, scorer: str) -> Reward:
        request = item.request
        status, detail = "scored", None
        reward = None if isinstance(outcome, str) else outcome
        if isinstance(outcome, str):
            status, detail = "failed", outcome
        elif reward is None:
            status, detail = "too_long", f"the premise alone leaves no room for a story within {self.max_length} tokens"
        elif not math.isfinite(reward):
            status, detail, reward = "not_finite", f"the model returned {reward}", None
        return Reward(
            request.id,
            request.candidate,
            reward,
            item.n_tokens,
            item.truncated,
            status,  # type: ignore[arg-type]
            row_signature(scorer, request.prompt, request.story),
            detail,
        )


def _prepared(request: Request, conversation: Conversation, n_tokens: int, truncated: bool) -> Prepared:
    first = len(conversation.before)
    span = (first, first + len(conversation.story))
    return Prepared(request, torch.tensor(conversation.ids), span, n_tokens, truncated)


def _bytes(text: str) -> int:
    return len(same_text(text).encode())


def _chunks(items: Iterable[Request], size: int) -> Iterator[list[Request]]:
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk
