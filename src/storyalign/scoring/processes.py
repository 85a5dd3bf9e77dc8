"""The processes that score together: who is who, how work is dealt, and how an error of one ends all.

``accelerate launch`` and ``torchrun`` start one process a device and tell each its place through the environment. What
passes between them is a few Python objects, so the group always runs on gloo, with and without accelerators.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from storyalign.errors import StoryAlignError

T = TypeVar("T")

_PATIENCE = timedelta(days=7)  # one process may be done long before another


@dataclass(frozen=True, slots=True)
class Processes:
    """This process's place among those that score together."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def is_main(self) -> bool:
        """True for the one process that owns the result file and talks to the user."""
        return self.rank == 0

    @property
    def device(self) -> str | None:
        """The accelerator of this process; None leaves the choice to the loader."""
        import torch

        return f"cuda:{self.local_rank}" if self.size > 1 and torch.cuda.is_available() else None

    def share(self, value: T) -> list[T]:
        """Return every process's value to every process, in the order of ranks; all wait for each other here."""
        if self.size == 1:
            return [value]
        import torch.distributed as distributed

        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, value)
        return values

    def together(self, work: Callable[[], T], *, only_main: bool = False) -> T | None:
        """Do something in every process (or the main one); an error that a user can mend then ends all of them alike.

        Raises:
            StoryAlignError: the first process's error, in every process.
        """
        result, error = None, None
        if self.is_main or not only_main:
            try:
                result = work()
            except StoryAlignError as problem:
                error = problem
        first = next((e for e in self.share(error) if e is not None), None)
        if first is not None:
            raise error or StoryAlignError(str(first))
        return result

    def deal(self, items: Sequence[T], size: Callable[[T], int]) -> list[T]:
        """Return this process's share: dealt largest first, so that shares weigh about the same, in order."""
        if self.size == 1:
            return list(items)
        by_size = sorted(range(len(items)), key=lambda i: size(items[i]), reverse=True)
        return [items[i] for i in sorted(by_size[self.rank :: self.size])]


def join_processes() -> Processes:
    """Join the group that the environment names; alone where it names none."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        return Processes()
    import torch
    import torch.distributed as distributed

    if not distributed.is_initialized():
        distributed.init_process_group("gloo", timeout=_PATIENCE)
    beside = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if os.environ.get("OMP_NUM_THREADS", "1") == "1" and not torch.cuda.is_available():
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // beside))  # launchers say 1, whatever the machine has
    return Processes(distributed.get_rank(), distributed.get_world_size(), int(os.environ.get("LOCAL_RANK", "0")))


def leave_processes() -> None:
    """Leave the group, so that the others are not kept waiting at the end."""
    distributed = sys.modules.get("torch.distributed")  # not imported: there is no group to leave
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
