"""Which run a folder belongs to, and where to go on: only whole checkpoints of the very same run count."""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open

from storyalign.errors import DataError, RecipeError
from storyalign.files import write_json, writing
from storyalign.text import digest
from storyalign.training.arguments import Recipe, TrainingRecipe
from storyalign.training.launch import Execution

RUN_FILE = "run.json"
"""In the checkpoints folder: whose checkpoints these are."""

RECORD_FILE = "training.json"
"""In a finished model's folder, written last: what it was trained with. Without it the folder is not finished."""

_NO_EFFECT = re.compile(
    r"output_dir|log_.*|logging_.*|save_.*|eval_.*|do_.*|report_to|run_name|project|trackio_.*|hub_.*|push|push_.*|"
    r"disable_tqdm|dataloader_.*|dataset_num_proc|resume_from_checkpoint|keep_checkpoints|overwrite|cpu_threads|"
    r"per_device_eval_batch_size|benchmark|max_lost_share|.*_on_start|.*_on_each_node|debug|use_cpu|"
    r"gradient_checkpointing.*|activation_checkpointing.*|ddp_.*|parallelism_config|deepspeed|fsdp.*|accelerator_config"
)
"""Options that do not change the trained weights (but for rounding)."""


_FULL = (
    "No space left",
    "os error 28",
    "os error 27",
    "Disk quota exceeded",
    "PytorchStreamWriter failed",
    "inline_container.cc",
)
"""How libraries without error numbers say that a file could not be written."""


class Start(NamedTuple):
    """How to begin."""

    finished: bool
    """The finished model of this very run is already there."""
    checkpoint: Path | None
    """The checkpoint to go on from."""


def run_fingerprint(recipe: Recipe, data_digests: Sequence[str], base_digest: str, execution: Execution) -> str:
    """Hash everything that shapes the trained weights: options, rows, base model, and how the run is computed."""
    options: dict[str, Any] = {}
    for part in recipe:
        for field in fields(part):
            if not _NO_EFFECT.fullmatch(field.name):
                options[field.name] = getattr(part, field.name)
    options.pop("dataset_name", None), options.pop("datasets", None)  # the rows count, not where they lie
    options.pop("model_name_or_path", None)
    for name in ("device_map", "validation_datasets", "dataset_validation_split"):
        options.pop(name, None)
    plain = orjson.dumps(options, default=str, option=orjson.OPT_SORT_KEYS).decode()
    return digest(plain, *data_digests, base_digest, *map(str, execution))


def lock_run(args: TrainingRecipe) -> FileLock:
    """Keep other launches out of a run's folders until the lock is released or this process ends, however it ends.

    Only the first of all processes takes the lock.

    Raises:
        RecipeError: another launch trains into these folders.
    """
    folder = args.checkpoints_dir
    lock = FileLock(folder.with_name(f".{folder.name}.lock"))
    if args.process_index == 0:
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise RecipeError(
                    f"{args.output_dir}: another launch is training into this folder; wait for it, stop it, or choose "
                    "another --output_dir"
                ) from None
    return lock


def find_start(args: TrainingRecipe, fingerprint: str) -> Start:
    """Decide between done, resume and a fresh start; nothing is changed on disk.

    Raises:
        RecipeError: the folders hold another run, or the named checkpoint is not whole.
    """
    wanted = args.resume_from_checkpoint or "auto"
    record = read_record(Path(str(args.output_dir)))
    owner = _read(args.checkpoints_dir / RUN_FILE)
    if args.overwrite:
        begun = owner is not None and owner.get("fingerprint") == fingerprint and record is None
        return Start(False, last_checkpoint(args.checkpoints_dir) if begun else None)
    if record is not None:
        if record.get("fingerprint") == fingerprint:
            return Start(True, None)
        raise RecipeError(
            f"{args.output_dir} holds a model trained with another recipe, data, base or launch; "
            "choose another --output_dir, or replace it with --overwrite"
        )
    if wanted not in ("auto", "never", "true", "false", "True", "False"):
        checkpoint = Path(wanted)
        if not is_whole(checkpoint):
            raise RecipeError(f"{checkpoint}: no whole checkpoint; choose another, or --resume_from_checkpoint auto")
        return Start(False, checkpoint)
    if owner is not None and owner.get("fingerprint") != fingerprint:
        raise RecipeError(
            f"{args.checkpoints_dir} holds checkpoints of another recipe, data, base or launch; "
            "choose another --output_dir, or replace them with --overwrite"
        )
    if wanted in ("never", "false", "False"):
        return Start(False, None)
    return Start(False, last_checkpoint(args.checkpoints_dir))


def claim(args: TrainingRecipe, fingerprint: str, start: Start) -> None:
    """Make the checkpoints folder this run's own: half-written checkpoints go, and on a fresh start old ones too."""
    folder = args.checkpoints_dir
    for checkpoint in list_checkpoints(folder):
        stale = start.checkpoint is None
        if stale or not is_whole(checkpoint):
            shutil.rmtree(checkpoint)
    write_json(folder / RUN_FILE, {"fingerprint": fingerprint})


def last_checkpoint(folder: Path) -> Path | None:
    """Return the latest whole checkpoint."""
    return next((c for c in reversed(list_checkpoints(folder)) if is_whole(c)), None)


def list_checkpoints(folder: Path) -> list[Path]:
    """Return all checkpoints, whole or not, by step."""
    found = [(int(m[1]), p) for p in folder.glob("checkpoint-*") if (m := re.fullmatch(r"checkpoint-(\d+)", p.name))]
    return [path for _, path in sorted(found)]


def is_whole(checkpoint: Path) -> bool:
    """Return whether a checkpoint was written to its end.

    ``trainer_state.json`` is written last; the weights are looked at too, as a full disk can cut them short.
    """
    state = _read(checkpoint / "trainer_state.json")
    if state is None or not isinstance(state.get("global_step"), int):
        return False
    return all(_is_whole_safetensors(file) for file in checkpoint.rglob("*.safetensors"))


@contextmanager
def room_on_disk(folder: Path, hint: str) -> Iterator[None]:
    """Turn a full disk into one line, and take away what was half-written in ``folder``.

    Raises:
        DataError: there was no room for a file.
    """
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if not full and not any(sign in str(error) for sign in _FULL):
            raise
        shutil.rmtree(folder, ignore_errors=True)
        raise DataError(f"{folder}: no room on the disk; free some, {hint}") from error


def read_record(model: Path) -> dict[str, Any] | None:
    """Read what a finished model was trained with; None where the folder holds no finished model."""
    return _read(model / RECORD_FILE)


def _is_whole_safetensors(path: Path) -> bool:
    try:
        with safe_open(path, "pt"):
            return True
    except (SafetensorError, OSError):
        return False


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    except orjson.JSONDecodeError:
        return None  # cut short by a crash: as good as missing
    return value if isinstance(value, dict) else None
