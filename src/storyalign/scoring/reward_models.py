"""Reward models as scorers: premise and stories in, rewards out, with everything that shaped them in a signature."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import torch

from storyalign._version import __version__
from storyalign.errors import ModelError, RecipeError
from storyalign.models.batches import plan_batches
from storyalign.models.chat import Conversation, Keep, TooLongError, cut, render_many, template_digest
from storyalign.models.fingerprint import folder_digest
from storyalign.models.loading import DType, RewardModel, load_reward_model
from storyalign.models.packed import enable, one_by_one, packed_rewards
from storyalign.records import Reward
from storyalign.scoring.reward_heads import read_reward, reward_token
from storyalign.scoring.reward_store import Request, row_signature
from storyalign.text import digest

CPU_BATCH_TOKENS = 2048
"""Tokens of one forward on a CPU: enough to keep the matrix products busy, few enough to stay in its caches."""

GPU_BATCH_TOKENS = 32768

_AT_ONCE = 64  # requests tokenised in one call
_REMEMBERED = 1024  # rewards kept for equal conversations further on


@dataclass(frozen=True, slots=True)
class _Prepared:
    request: Request
    ids: torch.Tensor
    """Token ids, as many as the model reads; none where even cutting cannot make the story fit."""
    n_tokens: int
    truncated: bool

    @property
    def key(self) -> bytes:
        """What tells conversations apart; empty where there is nothing to score."""
        return hashlib.blake2b(self.ids.numpy().tobytes(), digest_size=16).digest() if self.ids.numel() else b""


class RewardModelScorer:
    """Score stories with one reward model.

    Args:
        loaded: the model.
        max_length: the most tokens a conversation may have; the model's own limit by default.
        truncate: the part of an over-long story to keep; None refuses over-long stories.
        batch_tokens: tokens of one forward pass. Rewards do not depend on it.

    Raises:
        RecipeError: ``max_length`` is more than the model was made for.
    """

    sees_rivals = False

    def __init__(
        self,
        loaded: RewardModel,
        *,
        max_length: int | None = None,
        truncate: Keep | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        if max_length is not None and loaded.max_length is not None and max_length > loaded.max_length:
            raise RecipeError(
                f"{loaded.name}: --max-length {max_length} is beyond the model's {loaded.max_length} tokens"
            )
        self.loaded, self.truncate = loaded, truncate
        self.name = loaded.name
        self.max_length = max_length or loaded.max_length
        self.packed = enable(loaded.model)
        self.batch_tokens = batch_tokens or (CPU_BATCH_TOKENS if self._device.type == "cpu" else GPU_BATCH_TOKENS)
        self._suffix = reward_token(loaded.model.config)
        self.signature: dict[str, Any] = {
            "kind": "reward_model",
            "model": loaded.name,
            "revision": loaded.revision,
            "weights": folder_digest(loaded.folder),
            "base_weights": loaded.base_folder and folder_digest(loaded.base_folder),
            "template": template_digest(loaded.tokenizer),
            "dtype": loaded.dtype,
            "max_length": self.max_length,
            "truncate": truncate,
            "storyalign": __version__,
        }
        shaping = {key: value for key, value in self.signature.items() if key != "model"}  # a moved folder is no change
        self.digest = digest(orjson.dumps(shaping, option=orjson.OPT_SORT_KEYS).decode())

    def __call__(self, premise: str, stories: Sequence[str]) -> list[Reward]:
        """Score a few stories for one premise; a story without a reward says why.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
        """
        rows = [row for batch in self.score(Request("", i, premise, s) for i, s in enumerate(stories)) for row in batch]
        return sorted(rows, key=lambda row: row.candidate)

    def rank(self, premise: str, stories: Sequence[str]) -> list[float]:
        """Give one reward a story.

        Raises:
            ModelError: a story has no reward.
        """
        rewards = []
        for row in self(premise, stories):
            if row.reward is None:
                raise ModelError(f"{self.name}: story {row.candidate + 1} has no reward ({row.detail})")
            rewards.append(row.reward)
        return rewards

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Name the stories that do not fit, before any work is done.

        Raises:
            TooLongError: there are some, and cutting was not asked for.
        """
        if self.truncate is not None or self.max_length is None:
            return
        # A token is at least one byte, so most stories need no tokenizer to be known to fit.
        margin = self.max_length - len(self._render([("", "")])[0]) - 8
        doubtful = [r for r in requests if len(r.prompt.encode()) + len(r.story.encode()) > margin]
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

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Score a stream of requests of any length, one batch of rewards at a time, in the order of the work.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
            ModelError: the model gives something that is no reward.
        """
        budget = self.batch_tokens if self.packed else 1
        memo: dict[
            bytes, float | None
        ] = {}  # conversations of equal tokens get one and the same reward: noise breaks no tie
        for batch in plan_batches(self._prepare(requests), lambda item: item.ids.numel(), budget=budget):
            new = {item.key: item.ids for item in batch if item.key and item.key not in memo}
            memo.update(zip(new, self._forward(list(new.values())), strict=True))
            yield [self._row(item, memo.get(item.key)) for item in batch]
            for key in list(islice(memo, max(0, len(memo) - _REMEMBERED))):
                del memo[key]

    def report(self, requests: Iterable[Request]) -> dict[str, Any]:
        """Give nothing: a reward model has no figures beside its rewards."""
        return {}

    @property
    def _device(self) -> torch.device:
        return next(self.loaded.model.parameters()).device

    def _render(self, pairs: list[tuple[str, str]]) -> list[Conversation]:
        rendered = render_many(self.loaded.tokenizer, pairs)
        if not self._suffix:
            return rendered
        return [
            c if c.after[-1:] == self._suffix else Conversation(c.before, c.story, c.after + self._suffix)
            for c in rendered
        ]

    def _prepare(self, requests: Iterable[Request]) -> Iterator[_Prepared]:
        for chunk in _chunks(requests, _AT_ONCE):
            for request, whole in zip(chunk, self._render([(r.prompt, r.story) for r in chunk]), strict=True):
                yield self._fit(request, whole)

    def _fit(self, request: Request, whole: Conversation) -> _Prepared:
        n_tokens, limit = len(whole), self.max_length or len(whole)
        if n_tokens <= limit:
            return _Prepared(request, torch.tensor(whole.ids), n_tokens, False)
        if self.truncate is None:
            where = f"{request.id}[{request.candidate}]" if request.id else f"story {request.candidate + 1}"
            raise TooLongError(f"{where}: {n_tokens} tokens are more than {limit}; give --truncate, or a shorter story")
        try:
            return _Prepared(request, torch.tensor(cut(whole, limit, self.truncate).ids), n_tokens, True)
        except TooLongError:
            return _Prepared(request, torch.empty(0, dtype=torch.long), n_tokens, False)

    def _forward(self, segments: list[torch.Tensor]) -> list[float | None]:
        """Give one reward a segment; None for one that does not fit into the device's memory even alone."""
        try:
            return self._run(segments)
        except torch.OutOfMemoryError:
            if len(segments) == 1:
                return [None]
        torch.cuda.empty_cache()
        half = len(segments) // 2
        return self._forward(segments[:half]) + self._forward(segments[half:])

    @torch.inference_mode()
    def _run(self, segments: list[torch.Tensor]) -> list[float | None]:
        if not segments:
            return []
        model = self.loaded.model
        if self.packed:
            return [float(r) for r in packed_rewards(model, segments).tolist()]
        return [read_reward(output, self.name) for output in one_by_one(model, segments)]

    def _row(self, item: _Prepared, reward: float | None) -> Reward:
        request = item.request
        status, detail = "scored", None
        if reward is None and item.key:
            status, detail = "failed", f"{item.ids.numel()} tokens are more than the memory of {self._device} holds"
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
            row_signature(self.digest, request.prompt, request.story),
            detail,
        )


def load_scorer(
    model: str | Path,
    *,
    revision: str | None = None,
    dtype: DType = "fp32",
    trust_remote_code: bool = False,
    device: str | None = None,
    max_length: int | None = None,
    truncate: Keep | None = None,
    batch_tokens: int | None = None,
) -> RewardModelScorer:
    """Load a reward model as a scorer; see ``load_reward_model`` and ``RewardModelScorer`` for arguments and errors."""
    loaded = load_reward_model(
        model, revision=revision, dtype=dtype, trust_remote_code=trust_remote_code, device=device
    )
    return RewardModelScorer(loaded, max_length=max_length, truncate=truncate, batch_tokens=batch_tokens)


def _chunks(items: Iterable[Request], size: int) -> Iterator[list[Request]]:
    stream = iter(items)
    while chunk := list(islice(stream, size)):
        yield chunk
