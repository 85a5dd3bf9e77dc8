"""What reward models of different make want to read, and where they put the reward.

Plain heads give one logit. ArmoRM and QRM give many figures, the reward as ``score``. InternLM2 reads its reward at a
token of its own, which its configuration names and which must end the conversation.
"""

from __future__ import annotations

from typing import Any

import torch

from storyalign.errors import ModelError


def reward_token(config: Any) -> tuple[int, ...]:
    """Return the token that the head reads its reward from, where the model has one of its own."""
    token = getattr(config, "reward_token_id", None)
    return () if token is None else (int(token),)


def reward_of(output: Any, name: str) -> torch.Tensor:
    """Return the reward of one conversation from what the model returned: one number, perhaps NaN or infinite.

    Raises:
        ModelError: there is no single number to take.
    """
    value = output
    for field in ("score", "logits"):
        if getattr(output, field, None) is not None:
            value = getattr(output, field)
            break
    else:
        if isinstance(output, tuple) and output:
            value = output[0]
    if not isinstance(value, torch.Tensor):
        raise ModelError(f"{name}: the model returned {type(value).__name__} where a reward was expected")
    if value.numel() != 1:
        raise ModelError(
            f"{name}: the model returned {list(value.shape)} figures for one story; a reward model gives 1"
        )
    return value
