"""Training speed: the kit's packed trainer beside TRL's RewardTrainer with its defaults, on the same pairs.

SmolLM2-135M, full fine-tuning in fp32, eight pairs a step (TRL's default), lengths with a padding ratio of about 1.9.
The variants take turns, so that a busy machine slows all of them; the table gives medians of real tokens per second.
"""

from __future__ import annotations

import copy
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import TrainerCallback
from trl import RewardConfig, RewardTrainer

from storyalign.models.base_model import BASE_MODEL
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import enable
from storyalign.training.arguments import TrainingRecipe
from storyalign.training.mixture import PairDataset
from storyalign.training.pairs import PairSource
from storyalign.training.tokens import TokenPairs
from storyalign.training.trainer import StoryRewardTrainer

PAIRS = 8
GOALS = {"packed, checkpointing": 2.1, "packed": 2.6}
LENGTHS = (171, 62, 88, 120, 54, 97, 143, 70, 66, 105, 59, 131, 76, 92, 51, 83)
"""Tokens of the sixteen conversations of a step; padded to the longest they take 1.86 times their sum."""


class Stopwatch(TrainerCallback):
    """Seconds of each optimizer step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.start = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.seconds.append(time.perf_counter() - self.start)


def pairs(steps: int, vocabulary: int) -> datasets.Dataset:
    """Random tokens in the lengths above, another order each step."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for step in range(steps):
        order = torch.randperm(2 * PAIRS, generator=generator).tolist()
        ids = [torch.randint(vocabulary, (LENGTHS[i],), generator=generator).tolist() for i in order]
        for i in range(PAIRS):
            chosen, rejected = ids[2 * i], ids[2 * i + 1]
            rows.append(
                {
                    "chosen_ids": chosen,
                    "rejected_ids": rejected,
                    "n_tokens": len(chosen) + len(rejected),
                    "premise": f"{step}-{i}",
                    "construction": "rewriting",
                    "engagement_ratio": None,
                    "id": f"{step}-{i}",
                    "fate": "kept",
                    "longest": max(len(chosen), len(rejected)),
                }
            )
    return datasets.Dataset.from_list(rows)


def variants(model: Any, tokenizer: Any, rows: datasets.Dataset, steps: int, out: Path) -> dict[str, Callable[[], Any]]:
    """Makers of the three trainers; each starts from the same weights."""
    common: dict[str, Any] = {
        "max_steps": steps, "per_device_train_batch_size": PAIRS, "save_strategy": "no", "use_cpu": True, "bf16": False,
        "report_to": "none", "disable_tqdm": True, "logging_strategy": "no",
    }  # fmt: skip

    def trl() -> Any:
        args = RewardConfig(output_dir=str(out / "trl"), **common)  # with gradient checkpointing, as is TRL's default
        return RewardTrainer(copy.deepcopy(model), args, train_dataset=rows, processing_class=tokenizer)

    def packed(checkpointing: bool) -> Any:
        own = copy.deepcopy(model)
        assert enable(own)
        args = TrainingRecipe(output_dir=str(out / "own"), gradient_checkpointing=checkpointing, **common)
        return StoryRewardTrainer(own, args, tokenizer, PairDataset([TokenPairs(PairSource("random"), rows)]))

    return {
        "TRL defaults": trl,
        "packed, checkpointing": lambda: packed(True),
        "packed": lambda: packed(False),
    }


def run(long: bool = False) -> str:
    """Measure and give a table; ``long`` takes more turns."""
    turns, steps = (5, 3) if long else (3, 2)
    loaded = load_reward_model(BASE_MODEL, allow_new_head=True, device="cpu")
    rows = pairs(steps, loaded.model.config.vocab_size)
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        makers = variants(loaded.model, loaded.tokenizer, rows, steps, Path(folder))
        for _ in range(turns):
            for name, make in makers.items():
                trainer, watch = make(), Stopwatch()
                trainer.add_callback(watch)
                trainer.train()
                times.setdefault(name, []).extend(watch.seconds[1:])  # the first step also makes the optimizer's state
    base = statistics.median(times["TRL defaults"])
    ratio = max(LENGTHS) * len(LENGTHS) / sum(LENGTHS)
    lines = [
        f"training, SmolLM2-135M fp32, {PAIRS} pairs a step, padding ratio {ratio:.2f}, "
        f"{torch.get_num_threads()} threads, median of {len(times['packed'])}",
        f"{'variant':<24}{'tokens/s':>10}{'times TRL':>11}{'goal':>7}",
    ]
    for name, seconds in times.items():
        median = statistics.median(seconds)
        goal = f"{GOALS[name]:.1f}" if name in GOALS else ""
        lines.append(f"{name:<24}{sum(LENGTHS) / median:>10.0f}{base / median:>11.2f}{goal:>7}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(run())
