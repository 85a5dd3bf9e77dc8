"""What ``accelerate launch`` was asked for, and whether the processes really came to be.

``accelerate launch --cpu --num_processes 2`` starts one process and ends with code 0, and an FSDP file on a machine
without an accelerator trains unsharded. Both are found here and become errors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil
import torch
from accelerate import DistributedType, PartialState
from accelerate.commands.config.config_args import default_config_file, load_config_from_file
from accelerate.commands.launch import launch_command_parser

from storyalign.errors import RecipeError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from storyalign.training.arguments import TrainingRecipe

_COMMANDS = ("accelerate", "accelerate.commands.accelerate_cli", "accelerate_cli.py")
_MODULE = "accelerate/commands/launch.py"


class Launch(NamedTuple):
    """What the launcher was asked for."""

    processes: int
    """Over all machines; 1 where nobody asked for more."""
    sharding: str | None
    """``fsdp``, ``deepspeed`` or None."""
    threads_set: bool
    """True if a person set the number of threads, in the environment or for the launcher."""


class Execution(NamedTuple):
    """How a run is computed, as far as it shapes the trained weights."""

    precision: str
    """Mixed precision as accelerate knows it: ``no`` (fp32), ``bf16`` or ``fp16``."""
    attention: str
    """The attention implementation, by its name in transformers."""
    processes: int
    sharding: str | None
    """``fsdp``, ``deepspeed`` or None."""


def read_launch(command: Sequence[str] | None = None) -> Launch:
    """Find out what this process's launcher was asked for.

    Args:
        command: the launcher's command line; by default that of the parent process.
    """
    parent_environment: dict[str, str] = {}
    if command is None:
        command, parent_environment = _parent()
    asked = _asked_of_accelerate(list(command))
    processes = max(asked.processes, int(os.environ.get("WORLD_SIZE", "1")))
    sharding = asked.sharding
    for kind in ("fsdp", "deepspeed"):
        if os.environ.get(f"ACCELERATE_USE_{kind.upper()}", "false").lower() == "true":
            sharding = kind
    launched = bool(asked.processes)
    threads = parent_environment if launched else os.environ
    return Launch(max(processes, 1), sharding, asked.threads_set or "OMP_NUM_THREADS" in threads)


def check_processes(launch: Launch, processes: int) -> None:
    """Compare the processes that are with those asked for.

    Args:
        launch: what was asked for.
        processes: how many processes train together.

    Raises:
        RecipeError: there are fewer.
    """
    if processes < launch.processes:
        raise RecipeError(
            f"{launch.processes} processes were asked for, but {processes} came up; on CPU launch with "
            "--config_file recipes/accelerate/two_cpu.yaml (accelerate's --cpu and MULTI_CPU start a single process)"
        )


def shard_on_cpu(launch: Launch) -> None:
    """Make FSDP2 shard over gloo on a machine without an accelerator; accelerate alone would train whole copies.

    Raises:
        RecipeError: the kind of sharding that was asked for needs an accelerator.
    """
    state = PartialState()
    if launch.sharding is None or state.device.type != "cpu":
        return
    if launch.sharding != "fsdp" or os.environ.get("FSDP_VERSION") != "2":
        raise RecipeError(
            f"{launch.sharding} was asked for, but without an accelerator only FSDP2 can shard; "
            "launch with --config_file recipes/accelerate/fsdp2_cpu.yaml or two_cpu.yaml"
        )
    # The state is shared: an accelerator made from it now takes the path of accelerators, on the gloo backend.
    state.distributed_type = DistributedType.MULTI_GPU


def planned_execution(launch: Launch, training: TrainingRecipe, model: PreTrainedModel) -> Execution:
    """Return how a run will be computed, from what launcher, recipe and model say."""
    sharding = launch.sharding or ("deepspeed" if training.deepspeed else "fsdp" if training.fsdp else None)
    return Execution(training.mixed_precision, str(model.config._attn_implementation), world_size(), sharding)


def check_execution(asked: Execution, ran: Execution) -> None:
    """Compare how a run is computed with what was asked for.

    Raises:
        RecipeError: they differ, for example as the weights are not sharded.
    """
    for name, wanted, found in zip(Execution._fields, asked, ran, strict=True):
        if wanted != found:
            raise RecipeError(
                f"{name} {wanted} was asked for, but it is {found} here; choose another file in recipes/accelerate/, "
                "or a machine with accelerators"
            )


def set_cpu_threads(launch: Launch, threads: int | None) -> int:
    """Use the free cores: the launcher gives each process one thread unless somebody says otherwise.

    Args:
        launch: what the launcher was asked for.
        threads: the wanted number; None shares the cores out evenly, unless somebody set ``OMP_NUM_THREADS``.

    Returns:
        The number of threads of this process.
    """
    if threads is None and not launch.threads_set:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        threads = max(cores // int(os.environ.get("LOCAL_WORLD_SIZE", "1")), 1)
    if threads is not None:
        torch.set_num_threads(threads)
    return torch.get_num_threads()


def world_size() -> int:
    """Number of processes that train together."""
    return int(PartialState().num_processes)


def printer() -> Callable[[object], None]:
    """Return a ``print`` that speaks on the first process only."""
    return print if PartialState().is_main_process else lambda _: None


def _parent() -> tuple[list[str], dict[str, str]]:
    try:
        parent = psutil.Process().parent()
        return (parent.cmdline(), parent.environ()) if parent is not None else ([], {})
    except psutil.Error:
        return [], {}  # another user's process: nothing can be known, and the world is taken as it is


class _Asked(NamedTuple):
    processes: int
    sharding: str | None = None
    threads_set: bool = False


def _asked_of_accelerate(command: list[str]) -> _Asked:
    """Read accelerate's own command line with accelerate's own parser; 0 processes: it was not accelerate."""
    options = _options_of_accelerate(command)
    if options is None:
        return _Asked(0)
    args, _ = launch_command_parser().parse_known_args(options)
    file = args.config_file or (default_config_file if Path(default_config_file).is_file() and not args.cpu else None)
    config = load_config_from_file(file) if file else None
    processes = args.num_processes or getattr(config, "num_processes", None) or 1
    kind = str(getattr(getattr(config, "distributed_type", None), "value", "")).lower()
    sharding = "fsdp" if args.use_fsdp or kind == "fsdp" else None
    sharding = "deepspeed" if args.use_deepspeed or kind == "deepspeed" else sharding
    return _Asked(int(processes), sharding, args.num_cpu_threads_per_process is not None)


def _options_of_accelerate(command: list[str]) -> list[str] | None:
    for index, part in enumerate(command[:4]):
        name = Path(part).name
        if name in _COMMANDS and command[index + 1 : index + 2] == ["launch"]:
            return command[index + 2 :]
        if name in ("accelerate-launch", "accelerate.commands.launch") or part.endswith(
            "accelerate/commands/launch.py"
        ):
            return command[index + 1 :]
    return None
