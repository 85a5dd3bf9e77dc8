"""TRL's ``RewardTrainer`` with a forward pass without padding, exact counts, and no pickle in what it saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader
from transformers import PrinterCallback
from transformers.trainer import DEFAULT_PROGRESS_CALLBACK
from trl.trainer.reward_trainer import RewardTrainer

from storyalign.errors import StoryAlignError
from storyalign.models.packed import can_pack, one_by_one, packed_rewards
from storyalign.training.arguments import TrainingRecipe
from storyalign.training.checkpoints import last_checkpoint, room_on_disk
from storyalign.training.launch import Execution
from storyalign.training.loss import pair_losses
from storyalign.training.mixture import PairDataset
from storyalign.training.sampler import PairBatchSampler
from storyalign.training.step_lines import StepLines
from storyalign.training.tally import Tally

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback


class DivergedError(StoryAlignError):
    """The loss or its gradient is no longer finite."""


class PairLoader(DataLoader[Any]):
    """A loader whose shuffle follows the epoch; it is aware of the rank and must not be sharded again."""

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of an epoch."""
        self.batch_sampler.set_epoch(epoch)  # type: ignore[union-attr]


class StoryRewardTrainer(RewardTrainer):
    """Train a scalar reward model on pairs of any length.

    The loss of an optimizer step is the mean over its pairs, however they are dealt to devices and forward passes.

    Args:
        model: a sequence-classification model with one label, packed where ``models.packed.enable`` accepted it.
        args: the recipe.
        tokenizer: saved with the model.
        train: pairs to train on.
        validation: pairs to validate with.
        peft_config: wraps the model with an adapter.
        callbacks: more callbacks for transformers' trainer.
        more_metrics: called after each validation; its figures are logged with it.
    """

    args: TrainingRecipe
    model: Any
    loss_is_scaled_for_ga = True  # compute_loss divides by the pairs of the whole step

    def __init__(
        self,
        model: PreTrainedModel,
        args: TrainingRecipe,
        tokenizer: PreTrainedTokenizerBase,
        train: PairDataset,
        validation: PairDataset | None = None,
        *,
        peft_config: PeftConfig | None = None,
        callbacks: Sequence[TrainerCallback] = (),
        more_metrics: Callable[[StoryRewardTrainer], dict[str, float]] | None = None,
    ) -> None:
        self.train_pairs, self.validation_pairs, self.more_metrics = train, validation, more_metrics
        self.packed = can_pack(model)
        self.tally, self._real_tokens = Tally(), 0
        super().__init__(
            model=model,
            args=args,
            train_dataset=train.rows,
            eval_dataset=self._rows_to_validate(),
            processing_class=tokenizer,
            peft_config=peft_config,
            callbacks=list(callbacks),
        )
        for printer in (PrinterCallback, DEFAULT_PROGRESS_CALLBACK):
            self.remove_callback(printer)
        self.add_callback(StepLines())

    @property
    def execution(self) -> Execution:
        """How the run is computed, as accelerate has set it up."""
        sharding = "deepspeed" if self.is_deepspeed_enabled else "fsdp" if self.is_fsdp_enabled else None
        attention = str(self.model.config._attn_implementation)
        return Execution(self.accelerator.mixed_precision, attention, self.accelerator.num_processes, sharding)

    # --- data -------------------------------------------------------------------------------------------------------

    def _prepare_dataset(self, dataset: Any, *_: Any, **__: Any) -> Any:
        return dataset  # tokenised by the kit, with its own policy for long pairs

    def _rows_to_validate(self) -> Any:
        if self.validation_pairs is not None:
            return self.validation_pairs.rows
        # transformers wants some rows wherever it evaluates; ``evaluate`` reads the benchmark instead of them.
        return None if self.more_metrics is None else self.train_pairs.rows

    def get_train_dataloader(self) -> PairLoader:
        """Batches for this process, dealt by real tokens."""
        return self._loader(
            self.train_pairs,
            self._train_batch_size,
            self.args.gradient_accumulation_steps,
            self.args.data_seed if self.args.data_seed is not None else self.args.seed,
            self.train_pairs.premises if self.args.group_premises > 1 else None,
        )

    def _loader(
        self,
        pairs: PairDataset,
        batch_size: int,
        accumulation: int,
        seed: int | None,
        groups: Sequence[str] | None,
    ) -> PairLoader:
        sampler = PairBatchSampler(
            pairs.lengths,
            batch_size=batch_size,
            accumulation=accumulation,
            world_size=self.accelerator.num_processes,
            rank=self.accelerator.process_index,
            seed=seed,
            groups=groups,
            together=self.args.group_premises,
        )
        return PairLoader(
            pairs,
            batch_sampler=sampler,
            collate_fn=pairs.collate,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory and not self.args.use_cpu,
        )

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor | None:
        if not batch_samples:
            return None
        pairs = torch.stack([batch["weight"].sum() for batch in batch_samples]).sum().to(device)
        return self.accelerator.reduce(pairs, "sum")  # type: ignore[no-any-return]

    def floating_point_ops(self, inputs: dict[str, Any]) -> int:
        """Estimate forward and backward together: 6 operations per weight and real token."""
        tokens = sum(int(s.numel()) for s in inputs["segments"])
        return 6 * tokens * int(self.model.num_parameters(exclude_embeddings=True))

    # --- loss -------------------------------------------------------------------------------------------------------

    def rewards(self, model: Any, segments: Sequence[torch.Tensor]) -> torch.Tensor:
        """Score conversations: (segments,) fp32. ``model`` is what wraps the model, so that gradients are shared."""
        keys = [segment.cpu().numpy().tobytes() for segment in segments]
        different = dict(zip(keys, segments, strict=True))  # a story that stands in several pairs runs once
        if self.packed:
            rewards = packed_rewards(model, list(different.values()))
        else:
            outputs = one_by_one(model, list(different.values()))
            rewards = torch.cat([output.logits.reshape(-1) for output in outputs]).float()
        place = {key: i for i, key in enumerate(different)}
        return rewards[torch.tensor([place[key] for key in keys], device=rewards.device)]

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Return this pass's share of the step's mean loss, times the processes by which gradients are divided."""
        chosen, rejected = self.rewards(model, inputs["segments"]).chunk(2)
        losses = pair_losses(
            chosen,
            rejected,
            margin=inputs.get("margin"),
            label_smoothing=self.args.label_smoothing_factor,
            center=self.args.center_rewards_coefficient,
        )
        total = (losses * inputs["weight"]).sum()
        pairs = inputs["weight"].sum() if num_items_in_batch is None else num_items_in_batch
        loss = total * self.accelerator.num_processes / pairs
        self.tally.add(chosen, rejected, losses, inputs["weight"])
        self._last_indices = inputs["index"]
        if self.model.training:
            self._real_tokens += sum(s.numel() for s in inputs["segments"])
        return (loss, {"chosen": chosen, "rejected": rejected}) if return_outputs else loss

    def _get_grad_norm(self, model: torch.nn.Module, grad_norm: Any = None) -> Any:
        """Stop before the optimizer would write NaN into the weights; the norm is the same on every process."""
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)  # type: ignore[no-untyped-call]
        if norm is not None and not self.args.fp16:  # fp16's scaler meets infinite gradients on purpose
            value = float(norm)
            if value != value or value in (float("inf"), float("-inf")):
                raise DivergedError(self._divergence())
        return norm

    def _divergence(self) -> str:
        ids = [self.train_pairs.rows[int(i)]["id"] or f"row {int(i)}" for i in self._last_indices[:3]]
        return (
            f"step {self.state.global_step + 1}: the loss or its gradient is not a finite number "
            f"(last pairs: {', '.join(ids)}); lower --learning_rate or look at these pairs"
        )

    # --- figures ----------------------------------------------------------------------------------------------------

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the training figures since the last log, summed exactly over all processes."""
        if self.model.training:
            tokens = torch.tensor(float(self._real_tokens), dtype=torch.float64, device=self.args.device)
            logs["num_tokens"] = int(self.accelerator.reduce(tokens, "sum").item())
            for name, value in self.tally.drain(self.accelerator).figures().items():
                logs.setdefault(name, value)
        super().log(logs, start_time)

    def evaluate(self, *_: Any, metric_key_prefix: str = "eval", **__: Any) -> dict[str, float]:
        """Validate on all pairs, each counted once, and give the figures overall and per construction."""
        start = time.perf_counter()
        metrics: dict[str, float] = {}
        if self.validation_pairs is not None:
            metrics.update(self._validate(self.validation_pairs))
        if self.more_metrics is not None:
            metrics.update(self.more_metrics(self))
        metrics["runtime"] = round(time.perf_counter() - start, 3)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in metrics.items()}
        self.model.eval()
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    @torch.no_grad()
    def _validate(self, pairs: PairDataset) -> dict[str, float]:
        self.model.eval()
        names = sorted(set(pairs.constructions))
        number = {name: i for i, name in enumerate(names)}
        groups = torch.tensor([number[c] for c in pairs.constructions])
        tallies = [Tally() for _ in names]
        loader = self._loader(pairs, self.args.per_device_eval_batch_size, 1, None, pairs.premises)
        for batch in loader:
            inputs: dict[str, Any] = self._prepare_inputs(batch)
            with self.compute_loss_context_manager():
                chosen, rejected = self.rewards(self.model, inputs["segments"]).chunk(2)
            losses = pair_losses(chosen, rejected, margin=inputs.get("margin"))
            of = groups[batch["index"].cpu()].to(losses.device)
            for i, tally in enumerate(tallies):
                tally.add(chosen, rejected, losses, inputs["weight"] * (of == i))
            self.control = self.callback_handler.on_prediction_step(self.args, self.state, self.control)
        drained = [tally.drain(self.accelerator) for tally in tallies]
        metrics = Tally.sum(drained).figures()
        for name, tally in zip(names, drained, strict=True):
            if len(names) > 1:
                metrics.update({f"{name}_{key}": value for key, value in tally.figures().items()})
        return metrics

    # --- saving -----------------------------------------------------------------------------------------------------

    def _get_output_dir(self, trial: Any = None) -> str:
        return str(self.args.checkpoints_dir)

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        super()._save(output_dir, state_dict)
        # A pickle, and nothing reads it: the recipe is saved as YAML.
        (Path(output_dir or str(self.args.output_dir)) / "training_args.bin").unlink(missing_ok=True)

    def _save_checkpoint(self, model: torch.nn.Module, trial: Any) -> None:
        last = last_checkpoint(self.args.checkpoints_dir)
        hint = "and the same command starts again" if last is None else f"and the same command goes on from {last}"
        with room_on_disk(self.args.checkpoints_dir / f"checkpoint-{self.state.global_step}", hint):
            super(RewardTrainer, self)._save_checkpoint(model, trial)  # TRL's own would also write its model card
