"""Ending early without losing anything: SIGTERM and Ctrl-C save a checkpoint at the end of the step."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from storyalign.errors import StoryAlignError

_PR_SET_PDEATHSIG = 1


class StoppedError(StoryAlignError):
    """The run was asked to stop, and did so after saving a checkpoint."""

    def __init__(self, number: int, step: int, of: int, checkpoint: str):
        self.exit_code = 128 + number
        super().__init__(
            f"stopped by {signal.Signals(number).name} after step {step} of {of}; {checkpoint} is saved, "
            "the same command goes on from there"
        )


class StopCleanly(TrainerCallback):
    """Ends training after the current step, with a checkpoint, once one of the processes has got a signal."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle the signals inside the block; ask for SIGTERM should the launcher die (Linux)."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        if sys.platform == "linux" and "ACCELERATE_MIXED_PRECISION" in os.environ:
            # accelerate's launcher does not pass signals on to a single process.
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        """Agree with the other processes on whether this step is the last."""
        number = self.signal or 0
        if args.world_size > 1:
            seen = torch.tensor(number, device=args.device)
            torch.distributed.all_reduce(seen, torch.distributed.ReduceOp.MAX)
            number = int(seen.item())
        if number:
            self.signal = number
            control.should_save = control.should_training_stop = True
        return control

    def raise_if_stopped(self, state: TrainerState, checkpoint: str) -> None:
        """Turn a signal into the error that ends the program.

        Raises:
            StoppedError: a signal ended the run before its last step.
        """
        if self.signal is not None and state.global_step < state.max_steps:
            raise StoppedError(self.signal, state.global_step, state.max_steps, checkpoint)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.signal == signal.SIGINT == number:
            raise KeyboardInterrupt  # the second Ctrl-C: now
        self.signal = number
