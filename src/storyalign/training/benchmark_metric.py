"""Top-1 accuracy on a benchmark while a model is trained, counted once per group over all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from storyalign.accuracy import chosen_places, credit
from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.models.chat import Keep, TooLongError, cut, render_many

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from storyalign.training.trainer import StoryRewardTrainer


class BenchmarkMetric:
    """Scores every group of a benchmark with the model as it is.

    Args:
        data: a StoryRMB folder, a JSONL file or a Hub id.
        tokenizer: the model's.
        max_length: longer conversations are cut, and their groups counted.
        keep: the part of a cut story that stays.

    Raises:
        DataError: the benchmark cannot be had or has no gold order.
        TooLongError: a premise leaves no room for its stories.
    """

    def __init__(
        self, data: str, tokenizer: PreTrainedTokenizerBase, max_length: int | None, keep: Keep = "head"
    ) -> None:
        self.groups: list[list[torch.Tensor]] = []
        self.n_truncated = 0
        for instance in load_evaluation_set(data).instances:
            conversations = render_many(tokenizer, [(instance.prompt, story) for story in instance.stories])
            if max_length is not None and any(len(c) > max_length for c in conversations):
                self.n_truncated += 1
                try:
                    conversations = [cut(c, max_length, keep) for c in conversations]
                except TooLongError as error:
                    raise TooLongError(f"{data} (id {instance.id}): {error}") from error
            self.groups.append([torch.tensor(c.ids) for c in conversations])

    @torch.no_grad()
    def __call__(self, trainer: StoryRewardTrainer) -> dict[str, float]:
        """Return ``benchmark_accuracy``, in which ties share the credit, and the counts behind it."""
        accelerator, device = trainer.accelerator, trainer.args.device
        sums = torch.zeros(4, dtype=torch.float64, device=device)  # scored, credit, ties, unscored
        trainer.model.eval()
        # Sharded models need every process in every pass: those without a group left score one for company.
        for start in range(0, len(self.groups), accelerator.num_processes):
            own = start + accelerator.process_index
            group = self.groups[own if own < len(self.groups) else 0]
            with trainer.compute_loss_context_manager():
                rewards = trainer.rewards(trainer.model, [ids.to(device) for ids in group]).tolist()
            if own < len(self.groups):
                places = chosen_places(rewards, 0)
                if places is None:
                    sums[3] += 1
                else:
                    sums += torch.tensor([1, float(credit(places)), places > 1, 0], dtype=torch.float64, device=device)
        scored, right, ties, unscored = accelerator.reduce(sums, "sum").tolist()
        figures: dict[str, float] = {"benchmark_accuracy": right / scored} if scored else {}
        return {
            **figures,
            "benchmark_n": round(scored),
            "benchmark_ties": round(ties),
            "benchmark_unscored": round(unscored),
            "benchmark_truncated": self.n_truncated,
        }
