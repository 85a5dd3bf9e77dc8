"""The Bradley-Terry loss of a batch of pairs, in fp32."""

from __future__ import annotations

import torch
from torch.nn.functional import logsigmoid


def pair_losses(
    chosen: torch.Tensor,
    rejected: torch.Tensor,
    *,
    margin: torch.Tensor | None = None,
    label_smoothing: float = 0.0,
    center: float | None = None,
) -> torch.Tensor:
    """Return the loss of each pair: ``-log sigmoid(r_chosen - r_rejected - margin)``.

    Args:
        chosen: rewards of the chosen stories, shape ``(pairs,)``.
        rejected: rewards of the rejected stories, shape ``(pairs,)``.
        margin: by how much the chosen story should win, shape ``(pairs,)``.
        label_smoothing: share of pairs taken to be labelled the wrong way round, 0 to 0.5; each pair is then the
            mixture of both directions.
        center: weight of ``(r_chosen + r_rejected) ** 2``, which keeps rewards around zero (Eq. 2 of Eisenstein et
            al., 2023, "Helping or herding?").

    Returns:
        Losses in fp32, shape ``(pairs,)``.
    """
    chosen, rejected = chosen.float(), rejected.float()
    difference = chosen - rejected if margin is None else chosen - rejected - margin.float()
    losses = -logsigmoid(difference)
    if label_smoothing:
        losses = (1 - label_smoothing) * losses - label_smoothing * logsigmoid(-difference)
    if center is not None:
        losses = losses + center * (chosen + rejected) ** 2
    return losses
