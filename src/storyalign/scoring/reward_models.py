"""Reward models as scorers: premise and stories in, rewards out, with everything that shaped them in a signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import torch

from storyalign._version import __version__
from storyalign.errors import ModelError, RecipeError
from storyalign.models.chat import render_many, template_digest
from storyalign.models.fingerprint import folder_digest
from storyalign.models.loading import RewardModel, load_reward_model
from storyalign.models.mean_pooling import pooled_rewards
from storyalign.models.packed import enable, one_by_one, packed_rewards
from storyalign.records import Reward
from storyalign.scoring.conversations import Conversations, Outcome, Prepared
from storyalign.scoring.learned_from import learned_from
from storyalign.scoring.options import DEFAULTS, ScoringOptions
from storyalign.scoring.reward_heads import reward_of, reward_token
from storyalign.scoring.reward_store import Request
from storyalign.scoring.run import Scorer
from storyalign.text import digest

CPU_BATCH_TOKENS = 2048
"""Tokens of one forward on a CPU: enough to keep the matrix products busy, few enough to stay in its caches."""

GPU_BATCH_TOKENS = 32768


class RewardModelScorer(Scorer):
    """Score stories with one reward model.

    Args:
        loaded: the model.
        options: its ``max_length``, ``truncate`` and ``batch_tokens``.

    Raises:
        RecipeError: ``max_length`` is more than the model was made for.
    """

    sees_rivals = False

    def __init__(self, loaded: RewardModel, options: ScoringOptions = DEFAULTS) -> None:
        max_length, truncate = options.max_length, options.truncate
        if max_length is not None and loaded.max_length is not None and max_length > loaded.max_length:
            raise RecipeError(
                f"{loaded.name}: --max-length {max_length} is beyond the model's {loaded.max_length} tokens"
            )
        self.loaded, self.name = loaded, loaded.name
        self.max_length = max_length or loaded.max_length
        self.packed = enable(loaded.model, all_states=loaded.pooled)
        default = CPU_BATCH_TOKENS if self._device.type == "cpu" else GPU_BATCH_TOKENS
        self.batch_tokens = options.batch_tokens or default
        suffix = reward_token(loaded.model.config)
        self._conversations = Conversations(loaded.tokenizer, self.max_length, truncate, suffix)
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
        # A moved folder is no change, and what the weights learned from is in the weights.
        shaping = {key: value for key, value in self.signature.items() if key != "model"}
        self.digest = digest(orjson.dumps(shaping, option=orjson.OPT_SORT_KEYS).decode())
        self.learned_from = self.signature["learned_from"] = learned_from(loaded.folder)

    def __call__(self, premise: str, stories: Sequence[str]) -> list[Reward]:
        """Score a few stories for one premise; a story without a reward says why.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
        """
        rows = [row for batch in self.score(Request("", i, premise, s) for i, s in enumerate(stories)) for row in batch]
        return sorted(rows, key=lambda row: row.candidate)

    def rank(self, premise: str, stories: Sequence[str]) -> list[float]:
        """Return one reward a story.

        Raises:
            ModelError: a story has no reward.
        """
        rewards = []
        for row in self(premise, stories):
            if row.reward is None:
                raise ModelError(f"{self.name}: story {row.candidate + 1} has no reward ({row.detail})")
            rewards.append(row.reward)
        return rewards

    def tokens(self, premise: str, stories: Sequence[str]) -> list[int]:
        """Return how many tokens the model reads of each story with its premise, after any cut."""
        lengths = map(len, render_many(self.loaded.tokenizer, [(premise, story) for story in stories]))
        return [n if self.max_length is None else min(n, self.max_length) for n in lengths]

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Raise ``TooLongError`` for stories that do not fit, unless they may be cut."""
        self._conversations.refuse_too_long(requests)

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Score a stream of requests of any length, one batch of rewards at a time, in the order of the work.

        Raises:
            TooLongError: a story is longer than the limit, and cutting was not asked for.
            ModelError: the model gives something that is no reward.
        """
        budget = self.batch_tokens if self.packed else 1
        yield from self._conversations.score(requests, self._forward, budget, self.digest)

    @property
    def _device(self) -> torch.device:
        return next(self.loaded.model.parameters()).device

    def _forward(self, items: list[Prepared]) -> list[Outcome]:
        """Return one reward each; a reason for one that does not fit into the device's memory even alone."""
        try:
            return self._run(items)
        except torch.OutOfMemoryError:
            if len(items) == 1:
                return [f"{items[0].ids.numel()} tokens are more than the memory of {self._device} holds"]
        torch.cuda.empty_cache()
        half = len(items) // 2
        return self._forward(items[:half]) + self._forward(items[half:])

    @torch.inference_mode()
    def _run(self, items: list[Prepared]) -> list[Outcome]:
        if not items:
            return []
        model, segments = self.loaded.model, [item.ids for item in items]
        if self.loaded.pooled:
            return [float(r) for r in pooled_rewards(model, segments, [item.story for item in items]).tolist()]
        if self.packed:
            return [float(r) for r in packed_rewards(model, segments).tolist()]
        return [float(reward_of(output, self.name).float().item()) for output in one_by_one(model, segments)]


def load_scorer(
    model: str | Path, options: ScoringOptions = DEFAULTS, *, device: str | None = None, **changes: Any
) -> RewardModelScorer:
    """Load a reward model as a scorer; see ``load_reward_model`` and ``RewardModelScorer`` for errors.

    Args:
        model: a local folder, an adapter folder or a Hub id.
        options: how to score.
        device: where the model is put; the accelerator where there is one.
        **changes: fields of ``ScoringOptions`` by name, such as ``dtype="bf16"``.
    """
    options = replace(options, **changes)
    loaded = load_reward_model(
        model,
        revision=options.revision,
        dtype=options.dtype,
        trust_remote_code=options.trust_remote_code,
        device=device,
    )
    return RewardModelScorer(loaded, options)
