"""Stopping, resuming, half-written checkpoints, a full disk: with the real ``train.py``."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from storyalign.errors import DataError, RecipeError
from storyalign.training.arguments import cpu_has_bf16, parse_recipe
from storyalign.training.checkpoints import is_whole, last_checkpoint, list_checkpoints, lock_run
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import ROOT, environment, launch, run_here, write_pairs

STEPS = 24


def options(tmp_path: Path, out: str, *more: str) -> list[str]:
    if not (tmp_path / "base").is_dir():
        tiny_model_folder(tmp_path / "base", "llama-lm")
        write_pairs(tmp_path / "pairs.jsonl", 30)
    return [
        "--model_name_or_path", str(tmp_path / "base"), "--dataset_name", str(tmp_path / "pairs.jsonl"),
        "--output_dir", str(tmp_path / out), "--per_device_train_batch_size", "2", "--max_steps", str(STEPS),
        "--learning_rate", "1e-3", "--logging_steps", "1", "--save_steps", "4", "--disable_tqdm", "true", *more,
    ]  # fmt: skip


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


def test_sigterm_saves_and_the_same_command_ends_with_the_same_weights(tmp_path: Path) -> None:
    run_here(*options(tmp_path, "whole"))
    expected = weights(tmp_path / "whole")

    command = [sys.executable, str(ROOT / "train.py"), *options(tmp_path, "stopped", "--save_strategy", "no")]
    with subprocess.Popen(
        command, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert any("loss" in line for line in process.stdout)  # the first step is done
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        message = process.stderr.read()
    assert process.returncode == 128 + signal.SIGTERM, message
    last = last_checkpoint(tmp_path / "stopped-checkpoints")
    assert last is not None and not (tmp_path / "stopped" / "model.safetensors").exists()
    step = int(last.name.split("-")[1])
    assert 0 < step < STEPS
    assert f"error: stopped by SIGTERM after step {step} of {STEPS}; {last} is saved" in message

    printed = run_here(*options(tmp_path, "stopped", "--save_strategy", "no"))
    assert f"going on from {last}" in printed
    assert same(expected, weights(tmp_path / "stopped"))
    assert "nothing to do" in run_here(*options(tmp_path, "stopped", "--save_strategy", "no"))


def test_half_written_checkpoints_are_passed_over(tmp_path: Path) -> None:
    run_here(*options(tmp_path, "m"))
    expected = weights(tmp_path / "m")
    checkpoints = tmp_path / "m-checkpoints"
    assert [c.name for c in list_checkpoints(checkpoints)] == ["checkpoint-20", "checkpoint-24"]  # save_total_limit 2
    shutil.rmtree(tmp_path / "m")
    last = checkpoints / "checkpoint-24"
    data = (last / "model.safetensors").read_bytes()
    (last / "model.safetensors").write_bytes(data[: len(data) // 2])  # what a full disk leaves
    assert not is_whole(last)
    printed = run_here(*options(tmp_path, "m"))
    assert f"going on from {checkpoints / 'checkpoint-20'}" in printed
    assert same(expected, weights(tmp_path / "m"))

    shutil.rmtree(tmp_path / "m")
    state = last / "trainer_state.json"
    state.write_text(state.read_text()[:50])  # what SIGKILL leaves
    assert last_checkpoint(checkpoints) == checkpoints / "checkpoint-20"
    assert not list((tmp_path / "m-checkpoints").rglob("training_args.bin"))


def test_folders_of_another_run_are_kept(tmp_path: Path) -> None:
    run_here(*options(tmp_path, "m", "--max_steps", "2"))
    before = weights(tmp_path / "m")
    with pytest.raises(RecipeError, match="holds a model trained with another recipe, data, base or launch"):
        run_here(*options(tmp_path, "m", "--max_steps", "2", "--learning_rate", "2e-3"))
    assert same(before, weights(tmp_path / "m"))
    shutil.rmtree(tmp_path / "m")
    with pytest.raises(RecipeError, match="m-checkpoints holds checkpoints of another recipe"):
        run_here(*options(tmp_path, "m", "--max_steps", "2", "--learning_rate", "2e-3"))
    run_here(*options(tmp_path, "m", "--max_steps", "2", "--learning_rate", "2e-3", "--overwrite", "true"))
    assert not same(before, weights(tmp_path / "m"))
    # What shapes no weight may change: another place for logs, another number of kept checkpoints.
    again = options(tmp_path, "m", "--max_steps", "2", "--learning_rate", "2e-3", "--save_total_limit", "1")
    assert "nothing to do" in run_here(*again)
    assert json.loads((tmp_path / "m" / "training.json").read_text())["run"]["steps"] == 2


@pytest.mark.parametrize("room", [100_000, 400_000], ids=["weights do not fit", "optimizer does not fit"])
def test_full_disk_ends_in_one_line_and_leaves_the_last_whole_checkpoint(tmp_path: Path, room: int) -> None:
    first = options(tmp_path, "m", "--max_steps", "4")
    run_here(*first)
    shutil.rmtree(tmp_path / "m")
    checkpoints = tmp_path / "m-checkpoints"
    shutil.move(checkpoints / "checkpoint-4", checkpoints / "checkpoint-2")
    state = json.loads((checkpoints / "checkpoint-2" / "trainer_state.json").read_text())
    (checkpoints / "checkpoint-2" / "trainer_state.json").write_text(json.dumps({**state, "global_step": 2}))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))  # writing beyond it fails as on a full disk
    try:
        with pytest.raises(DataError, match=r"checkpoint-4: no room on the disk; .* goes on from .*checkpoint-2"):
            run_here(*first)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [c.name for c in list_checkpoints(checkpoints)] == ["checkpoint-2"]
    assert not (tmp_path / "m" / "training.json").exists()


def test_a_second_launch_is_refused_until_the_first_has_ended_however_it_ends(tmp_path: Path) -> None:
    given = options(tmp_path, "m", "--max_steps", "4000")
    command = [sys.executable, str(ROOT / "train.py"), *given]
    with subprocess.Popen(command, env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert any("step 5/4000" in line for line in first.stdout)  # checkpoint-4 is there
        for more in ((), ("--overwrite", "true")):
            with pytest.raises(RecipeError, match="m: another launch is training into this folder; wait for it"):
                run_here(*given, *more)
        assert first.poll() is None and list_checkpoints(tmp_path / "m-checkpoints")
        first.kill()
    lock_run(parse_recipe(given).training).release()


def test_what_ran_is_recorded_and_another_precision_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = options(tmp_path, "m", "--max_steps", "1", "--save_strategy", "no")
    done = launch(*given, accelerate=("--mixed_precision", "bf16", "--num_processes", "1"))
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "m" / "training.json").read_text())["run"]
    precision = "bf16" if cpu_has_bf16() else "fp32"
    ran = [run[name] for name in ("precision", "attention", "processes", "sharding")]
    assert ran == [precision, "storyalign_packed", 1, None]
    assert f"precision {precision}, attention `storyalign_packed`, seed" in (tmp_path / "m" / "README.md").read_text()
    recipe = (tmp_path / "m" / "recipe.yaml").read_text().splitlines()
    assert f"bf16: {'true' if precision == 'bf16' else 'false'}" in recipe
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")  # what the launcher sets
    assert "nothing to do" in run_here(*given)
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    if precision == "bf16":
        with pytest.raises(RecipeError, match="holds a model trained with another recipe, data, base or launch"):
            run_here(*given)
