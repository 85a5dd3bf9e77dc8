"""A reward model without fine-tuning: mean token states of a frozen base, and a convex Bradley-Terry head on them.

The head minimises the mean of ``softplus(margin - (r_chosen - r_rejected))`` plus ``l2 / 2`` times its squared length,
over features with standard deviation 1. That has one minimum, so a run has no seed. The layer and ``l2`` are those
with the lowest loss on held-out premises.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from storyalign.bootstrap import share_interval
from storyalign.errors import DataError, RecipeError
from storyalign.models.chat import input_format
from storyalign.models.loading import RewardModel
from storyalign.models.packed import can_pack
from storyalign.text import digest
from storyalign.training.arguments import Recipe, TrainingRecipe
from storyalign.training.features import Segment, open_features
from storyalign.training.launch import Execution
from storyalign.training.mixture import PairDataset
from storyalign.training.prepare import TrainingData, keep_lower

LEAST_PAIRS = 10
_PROGRESS_LINES = 10


class PooledModel(NamedTuple):
    """A fitted head."""

    layer: int
    """Counted from 1."""
    weight: torch.Tensor
    """(hidden size,), for features as they are."""
    bias: float


class Pairs(NamedTuple):
    """Training pairs as rows of features."""

    chosen: np.ndarray
    """(pairs,) rows of the chosen stories."""
    rejected: np.ndarray
    margins: np.ndarray
    """(pairs,) by how much the chosen story should win."""
    premises: list[str]


def fit(
    recipe: Recipe,
    base: RewardModel,
    data: TrainingData,
    weights: str,
    execution: Execution,
    say: Callable[[object], None],
) -> tuple[PooledModel, dict[str, Any]]:
    """Compute features, choose layer and l2, and fit the head; ``base`` keeps the layers that the head needs.

    Args:
        recipe: with ``method: pooled``.
        base: the frozen model; its layers above the chosen one are left out afterwards.
        data: the pairs.
        weights: digest of the base model's folder.
        execution: how the run is computed.
        say: prints a line.

    Returns:
        The head, and how it was made for ``training_record``.

    Raises:
        RecipeError: the base is an encoder, or the run has several processes.
        DataError: the pairs are too few, of one premise, or all alike.
    """
    training, begun = recipe.training, time.monotonic()
    if execution.processes > 1:
        raise RecipeError("method pooled runs in one process; launch it with --num_processes 1")
    if input_format(base.tokenizer) == "pair":
        raise RecipeError(f"{base.name}: method pooled reads decoder models; fine-tune an encoder instead")
    premises = len(set(data.train.premises))
    if len(data.train) < LEAST_PAIRS or premises < 2:
        raise DataError(
            f"method pooled needs at least {LEAST_PAIRS} pairs of 2 premises, found {len(data.train)} of {premises}"
        )
    layers = _layers(base, training)
    keep_lower(base.model, max(layers))
    device: Any = "cuda" if torch.cuda.is_available() and not training.use_cpu else "cpu"
    base.model.to(device).eval()
    sets = [_segments(rows) for rows in (data.train, data.validation) if rows is not None]
    segments = list(dict.fromkeys(segment for pairs in sets for segment in pairs))
    features = open_features(base, weights, layers)
    tokens = sum(len(segment.ids) for segment in segments)
    say(f"features of {len(segments):,} stories, {tokens:,} tokens, layers {', '.join(map(str, layers))}")
    features.compute(base, segments, layers, _tenths(say))
    place = {segment: row for row, segment in enumerate(segments)}
    table = features.read(segments)
    train = _pairs(data.train, sets[0], place)
    best, grid = choose(table, train, layers, training)
    layer, l2 = best
    rows = table[:, layers.index(layer)]
    weight, bias = fit_head(rows, train, l2, training.label_smoothing_factor)
    keep_lower(base.model, layer)
    rewards = rows @ weight.astype(np.float32) + np.float32(bias)
    held_out = next(row for row in grid if (row["layer"], row["l2"]) == best)
    run = {
        "run": {
            "method": "pooled",
            "layer": layer,
            "l2": l2,
            "folds": training.pooled_folds,
            "held_out": held_out,
            "grid": grid,
            "stories": len(segments),
            "precision": base.dtype,
            "packed": can_pack(base.model),
            "device": str(device),
            "seconds": round(time.monotonic() - begun, 3),
        },
        "last_train": _figures(rewards, train),
        "validation": {} if data.validation is None else _figures(rewards, _pairs(data.validation, sets[1], place)),
    }
    low, high = held_out["accuracy_ci"]
    say(
        f"layer {layer}, l2 {l2:g}: {held_out['accuracy']:.1%} [{low:.1%}, {high:.1%}] of {held_out['n']:,} pairs "
        f"right on premises held out, the best of {len(grid)} settings"
    )
    return PooledModel(layer, torch.from_numpy(weight).float(), bias), run


def choose(
    table: np.ndarray, pairs: Pairs, layers: Sequence[int], training: TrainingRecipe
) -> tuple[tuple[int, float], list[dict[str, Any]]]:
    """Return the layer and l2 with the lowest loss on held-out premises, and the figures of every setting.

    Args:
        table: (stories, layers, hidden size) features.
        pairs: rows of the table.
        layers: the layers' numbers.
        training: with the penalties and the number of folds.
    """
    order = sorted(set(pairs.premises), key=lambda premise: digest("fold", premise))
    folds = min(training.pooled_folds, len(order))
    fold_of = {premise: place % folds for place, premise in enumerate(order)}
    fold = np.array([fold_of[premise] for premise in pairs.premises])
    grid: list[dict[str, Any]] = []
    hits: dict[tuple[int, float], np.ndarray] = {}
    for number, layer in enumerate(layers):
        rows = table[:, number]
        margins: dict[float, np.ndarray] = {l2: np.zeros(len(fold)) for l2 in training.pooled_l2}
        for held in range(folds):
            use = fold != held
            kept = Pairs(pairs.chosen[use], pairs.rejected[use], pairs.margins[use], [])
            start = None
            for l2 in sorted(training.pooled_l2, reverse=True):
                weight, _ = fit_head(rows, kept, l2, training.label_smoothing_factor, start)
                start = weight
                own = fold == held
                margins[l2][own] = (rows[pairs.chosen[own]] - rows[pairs.rejected[own]]) @ weight
        for l2, margin in margins.items():
            right = (margin > 0) + 0.5 * (margin == 0)
            loss = float(np.logaddexp(0, pairs.margins - margin).mean())
            row = {"layer": layer, "l2": l2, "n": len(margin), "loss": loss, "accuracy": float(right.mean())}
            grid.append(row)
            hits[layer, l2] = right
    best = min(grid, key=lambda row: (round(row["loss"], 6), row["layer"], -row["l2"]))
    right = hits[best["layer"], best["l2"]]
    best["accuracy_ci"] = list(share_interval(right, pairs.premises))
    return (best["layer"], best["l2"]), grid


def fit_head(
    rows: np.ndarray, pairs: Pairs, l2: float, label_smoothing: float = 0.0, start: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return the weights (hidden size,) and bias of the convex head, for features as they are; rewards have mean 0.

    Args:
        rows: (stories, hidden size) features.
        pairs: rows of the features.
        l2: the penalty on weights of standardised features.
        label_smoothing: share of pairs taken to be labelled the wrong way round.
        start: weights to start from, for speed alone.

    Raises:
        DataError: the features of all stories are the same.
    """
    from scipy.optimize import minimize

    used = np.concatenate([pairs.chosen, pairs.rejected])
    mean, scale = rows[used].mean(0, dtype=np.float64), rows[used].std(0, dtype=np.float64)
    if not np.any(scale > 0):
        raise DataError("method pooled: the base model gives all stories the same states; choose another base or layer")
    scale = np.where(scale > 0, scale, 1.0)
    difference = ((rows[pairs.chosen].astype(np.float64) - rows[pairs.rejected]) / scale).astype(np.float64)
    count = len(difference)

    def objective(weight: np.ndarray) -> tuple[float, np.ndarray]:
        above = difference @ weight - pairs.margins
        losses = (1 - label_smoothing) * np.logaddexp(0, -above) + label_smoothing * np.logaddexp(0, above)
        wrong = 0.5 * (1 - np.tanh(above / 2)) - label_smoothing
        return losses.mean() + l2 / 2 * weight @ weight, l2 * weight - difference.T @ wrong / count

    first = np.zeros(difference.shape[1]) if start is None else start * scale
    options = {"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-13}
    weight = minimize(objective, first, jac=True, method="L-BFGS-B", options=options).x / scale
    return weight, float(-(mean @ weight))


def _layers(base: RewardModel, training: TrainingRecipe) -> list[int]:
    count = base.model.config.get_text_config().num_hidden_layers
    layers = sorted(set(training.pooled_layers)) or [count]
    if layers[0] < 1 or layers[-1] > count:
        raise RecipeError(f"pooled_layers is {layers}; {base.name} has the layers 1 to {count}")
    return layers


def _segments(rows: PairDataset) -> list[Segment]:
    """Return the chosen and the rejected story of each pair in turn."""
    found = []
    for row in rows.rows:
        for column in ("chosen_ids", "rejected_ids"):
            ids = tuple(row[column])
            found.append(Segment(ids, (row["n_before"], len(ids) - row["n_after"])))
    return found


def _pairs(rows: PairDataset, segments: Sequence[Segment], place: dict[Segment, int]) -> Pairs:
    at = np.array([place[segment] for segment in segments])
    ratios = np.array([ratio or 0.0 for ratio in rows.rows["engagement_ratio"]], np.float64)
    return Pairs(at[::2], at[1::2], rows.engagement_margin * ratios, rows.premises)


def _figures(rewards: np.ndarray, pairs: Pairs) -> dict[str, Any]:
    margin = rewards[pairs.chosen].astype(np.float64) - rewards[pairs.rejected]
    return {
        "n": len(margin),
        "loss": float(np.logaddexp(0, pairs.margins - margin).mean()),
        "accuracy": float(np.mean((margin > 0) + 0.5 * (margin == 0))),
        "margin": float(margin.mean()),
    }


def _tenths(say: Callable[[object], None]) -> Callable[[int, int], None]:
    """Return a progress line for every tenth of the work: few enough for a log, enough for a person."""
    begun, shown = time.monotonic(), [0]

    def tell(done: int, of: int) -> None:
        if done * _PROGRESS_LINES // of > shown[0]:
            shown[0] = done * _PROGRESS_LINES // of
            rest = (time.monotonic() - begun) / done * (of - done)
            say(f"  {done:,} of {of:,} stories, {rest:.0f} s to go")

    return tell
