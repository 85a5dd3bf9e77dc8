"""Training speed: the kit's packed trainer beside TRL's RewardTrainer with its defaults, on the same pairs.

SmolLM2-135M, full fine-tuning in fp32, eight pairs a step (TRL's default), lengths with a padding ratio of about 1.9.
Each variant lives in a process of its own, as trainings do, and they take turns, so that a busy machine slows all of
them; the table gives medians of real tokens per second. Every turn is one epoch of the same pairs, whatever order each
trainer draws, so all of them do the same work.
"""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import PrinterCallback, TrainerCallback
from trl import RewardConfig, RewardTrainer

from benchmarks.figures import Figure
from benchmarks.inputs import save_reward_model
from benchmarks.waiting import Waiting
from storyalign.models.loading import load_reward_model
from storyalign.models.packed import enable
from storyalign.training.arguments import TrainingRecipe
from storyalign.training.mixture import PairDataset
from storyalign.training.pairs import PairSource
from storyalign.training.tokens import TokenPairs
from storyalign.training.trainer import StoryRewardTrainer

GOALS = {"packed, checkpointing": 2.1, "packed": 2.6}
LENGTHS = (72, 26, 37, 50, 23, 41, 60, 29, 28, 44, 25, 55, 32, 38, 22, 35)
"""Tokens of the sixteen conversations of a step; padded to the longest they take 1.87 times their sum."""

Makers = dict[str, Callable[[], Any]]


class Stopwatch(TrainerCallback):
    """Seconds of each optimizer step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        _finish_queued_work()
        self.start = time.perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        _finish_queued_work()
        self.seconds.append(time.perf_counter() - self.start)


def random_pairs(lengths: Sequence[int], vocabulary: int) -> datasets.Dataset:
    """Pairs of random tokens: conversations of these lengths in turn are chosen and rejected."""
    generator = torch.Generator().manual_seed(0)
    ids = [torch.randint(vocabulary, (length,), generator=generator).tolist() for length in lengths]
    return datasets.Dataset.from_list(
        [
            {
                "chosen_ids": chosen,
                "rejected_ids": rejected,
                "n_tokens": len(chosen) + len(rejected),
                "premise": str(number),
                "construction": "rewriting",
                "engagement_ratio": None,
                "id": str(number),
                "fate": "kept",
                "longest": max(len(chosen), len(rejected)),
            }
            for number, (chosen, rejected) in enumerate(zip(ids[::2], ids[1::2], strict=True))
        ]
    )


def variants(model: Any, tokenizer: Any, rows: datasets.Dataset, out: Path, **options: Any) -> Makers:
    """Makers of the three trainers; each starts from the same weights and takes the same training options."""
    common: dict[str, Any] = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True, **options}

    def trl() -> Any:
        # With gradient checkpointing, as is TRL's default; without its limit of 1,024 tokens, which drops pairs.
        args = RewardConfig(output_dir=str(out / "trl"), logging_strategy="no", max_length=None, **common)
        return RewardTrainer(copy.deepcopy(model), args, train_dataset=rows, processing_class=tokenizer)

    def packed(checkpointing: bool) -> Any:
        own = copy.deepcopy(model)
        assert enable(own)
        args = TrainingRecipe(
            output_dir=str(out / "own"), gradient_checkpointing=checkpointing, logging_strategy="no", **common
        )
        return StoryRewardTrainer(own, args, tokenizer, PairDataset([TokenPairs(PairSource("random"), rows)]))

    return {"TRL defaults": trl, "packed, checkpointing": lambda: packed(True), "packed": lambda: packed(False)}


def epochs(trainer: Any) -> Iterator[float]:
    """Train for one epoch after another and give the seconds of each; the first also makes the optimizer's state."""
    watch = Stopwatch()
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(watch)
    while True:
        watch.seconds.clear()
        trainer.train()
        yield sum(watch.seconds)


def serve(variant: str, folder: Path) -> None:
    """Train the model of a folder for an epoch whenever a line comes in."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    loaded = load_reward_model(folder, device="cpu")
    rows = random_pairs(LENGTHS, loaded.model.config.vocab_size)
    with tempfile.TemporaryDirectory() as out:
        makers = variants(
            loaded.model, loaded.tokenizer, rows, Path(out), max_steps=1, use_cpu=True, bf16=False,
            per_device_train_batch_size=len(LENGTHS) // 2,
        )  # fmt: skip
        trainer = makers[variant]()
        del loaded
        for _, seconds in zip(sys.stdin, epochs(trainer), strict=False):
            print(seconds, file=answers, flush=True)


def run(rounds: int) -> list[Figure]:
    """Measure tokens per second, and for each turn how many times as fast as TRL the kit was."""
    names = ("TRL defaults", *GOALS)
    times: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary:
        folder = save_reward_model(Path(temporary) / "model")
        workers = {name: Waiting("benchmarks.training_speed", name, str(folder)) for name in names}
        try:
            for turn in range(1 + rounds):
                for name, worker in workers.items():
                    seconds = worker.run()
                    if turn > 0:  # the first also makes the optimizer's state
                        times[name].append(seconds)
        finally:
            for worker in workers.values():
                worker.stop()
    speeds = [
        Figure(f"training, {name}, tokens/s", [sum(LENGTHS) / s for s in seconds]) for name, seconds in times.items()
    ]
    ratios = [
        Figure(
            f"training, {name} / TRL's defaults",
            [slow / fast for slow, fast in zip(times["TRL defaults"], times[name], strict=True)],
            goal,
        )
        for name, goal in GOALS.items()
    ]
    return [*speeds, *ratios]


def _finish_queued_work() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
