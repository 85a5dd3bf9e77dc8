"""What a training run says on screen: a progress bar, and one line for each step that is logged.

Everything else that was logged stands in ``log_history`` of the checkpoints' ``trainer_state.json``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from transformers import ProgressCallback, TrainerControl, TrainerState, TrainingArguments


class StepLines(ProgressCallback):
    """In place of transformers' callbacks that print raw dictionaries; the first of all processes speaks alone."""

    def __init__(self) -> None:
        super().__init__()
        self._training_seconds, self._step_began, self._tokens = 0.0, 0.0, 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Open the bar, unless the recipe disables it."""
        if not args.disable_tqdm:
            super().on_train_begin(args, state, control, **kwargs)  # type: ignore[no-untyped-call]

    def on_step_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Start the clock: validation and checkpoints are no training."""
        self._step_began = time.perf_counter()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Stop the clock and move the bar."""
        self._training_seconds += time.perf_counter() - self._step_began
        if self.training_bar is not None:
            super().on_step_end(args, state, control, **kwargs)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, *_: Any, **kwargs: Any
    ) -> None:
        """Move the bar of a validation, unless the recipe disables it."""
        if not args.disable_tqdm:
            super().on_prediction_step(args, state, control, **kwargs)  # type: ignore[no-untyped-call]

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Print the figures."""
        figures = logs or {}
        speed = self._tokens_per_second(figures)
        if not state.is_world_process_zero:
            return
        for line in lines(state.global_step, state.max_steps, figures, speed):
            if self.training_bar is not None:
                self.training_bar.write(line)
            else:
                print(line, flush=True)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Close the bar."""
        if self.training_bar is not None:
            super().on_train_end(args, state, control, **kwargs)

    def _tokens_per_second(self, figures: Mapping[str, Any]) -> float | None:
        """Return the tokens of all processes in a second of training since the last log that knew them."""
        if "num_tokens" not in figures:
            return None
        tokens, seconds = int(figures["num_tokens"]) - self._tokens, self._training_seconds
        self._tokens, self._training_seconds = int(figures["num_tokens"]), 0.0
        return tokens / seconds if tokens > 0 and seconds > 0 else None


def lines(step: int, of: int, figures: Mapping[str, Any], tokens_per_second: float | None = None) -> list[str]:
    """Turn logged figures into lines for people.

    Args:
        step: steps done.
        of: steps of the whole run.
        figures: what the trainer logs after some steps, after a validation (names begin with ``eval_``) or at the end.
        tokens_per_second: where known.

    Returns:
        A line for each kind of figures among them; none for other figures.

    >>> lines(6, 40, {"loss": 0.6731, "accuracy": 0.625, "margin": 0.0712, "learning_rate": 1e-4}, 1234.5)
    ['step 6/40: loss 0.6731, accuracy 62.5%, margin +0.071, learning rate 1.00e-04, 1,234 tokens/s']
    """
    place = f"step {step}/{of}"
    found = []
    if "loss" in figures:
        parts = _figures(figures, "")
        if "learning_rate" in figures:
            parts.append(f"learning rate {figures['learning_rate']:.2e}")
        if tokens_per_second is not None:
            parts.append(f"{tokens_per_second:,.0f} tokens/s")
        found.append(f"{place}: {', '.join(parts)}")
    validation = _figures(figures, "eval_")
    if validation:
        found.append(f"{place}, validation: {', '.join(validation)}")
    if "train_runtime" in figures:
        minutes, seconds = divmod(round(figures["train_runtime"]), 60)
        found.append(f"{place}: trained for {minutes} min {seconds} s")
    return found


def _figures(figures: Mapping[str, Any], prefix: str) -> list[str]:
    forms = {
        "loss": "loss {:.4f}",
        "accuracy": "accuracy {:.1%}",
        "margin": "margin {:+.3f}",
        "benchmark_accuracy": "benchmark accuracy {:.1%}",
    }
    parts = [form.format(figures[prefix + name]) for name, form in forms.items() if prefix + name in figures]
    if prefix and f"{prefix}n" in figures:
        parts.append(f"n {figures[f'{prefix}n']}")
    return parts
