from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.errors import RecipeError
from storyalign.training.launch import Execution, check_execution, check_processes, read_launch
from tests.support.training_runs import ROOT

PYTHON = ["/usr/bin/python", "/usr/bin/accelerate", "launch"]
TRAIN = ["train.py", "--config", "recipes/smoke.yaml"]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORLD_SIZE", "ACCELERATE_USE_FSDP", "ACCELERATE_USE_DEEPSPEED", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("command", "processes", "sharding"),
    [
        ([*PYTHON, "--cpu", "--num_processes", "2", *TRAIN], 2, None),
        ([*PYTHON, "--num_processes=4", *TRAIN, "--num_processes", "9"], 4, None),  # the second is train.py's
        (["python", "-m", "accelerate.commands.launch", "--num_processes", "3", *TRAIN], 3, None),
        (["python", "-m", "accelerate.commands.accelerate_cli", "launch", "--num_processes", "5", *TRAIN], 5, None),
        ([*PYTHON, "--use_fsdp", "--num_processes", "2", *TRAIN], 2, "fsdp"),
        ([*PYTHON, *TRAIN], 1, None),
        (["bash", "-c", "python train.py"], 1, None),
        ([], 1, None),
    ],
)
def test_reads_what_the_launcher_was_asked_for(command: list[str], processes: int, sharding: str | None) -> None:
    launch = read_launch(command)
    assert (launch.processes, launch.sharding) == (processes, sharding)


@pytest.mark.parametrize(
    ("name", "processes", "sharding"),
    [
        ("two_cpu", 2, None),
        ("one_gpu", 1, None),
        ("ddp", 8, None),
        ("fsdp2", 8, "fsdp"),
        ("fsdp2_cpu", 2, "fsdp"),
        ("deepspeed_zero3", 8, "deepspeed"),
    ],
)
def test_reads_the_launchers_file(name: str, processes: int, sharding: str | None) -> None:
    path = ROOT / "recipes" / "accelerate" / f"{name}.yaml"
    launch = read_launch([*PYTHON, "--config_file", str(path), *TRAIN])
    assert (launch.processes, launch.sharding) == (processes, sharding)


def test_cpu_version_of_multi_processing_is_seen_through(tmp_path: Path) -> None:
    path = tmp_path / "multi_cpu.yaml"  # accelerate starts one process for it and ends with code 0
    path.write_text(
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_CPU\nnum_processes: 2\nuse_cpu: true\n"
    )
    launch = read_launch([*PYTHON, "--config_file", str(path), *TRAIN])
    assert launch.processes == 2
    with pytest.raises(RecipeError, match="2 processes were asked for, but 1 came up"):
        check_processes(launch, 1)
    check_processes(launch, 2)


def test_unsharded_where_sharding_was_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    launch = read_launch([])
    assert launch.sharding == "fsdp"
    asked, ran = (Execution("no", "sdpa", 2, sharding) for sharding in ("fsdp", None))
    with pytest.raises(RecipeError, match="sharding fsdp was asked for, but it is None here"):
        check_execution(asked, ran)
    check_execution(asked, asked)


def test_threads_set_by_a_person_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not read_launch([]).threads_set
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert read_launch([]).threads_set
    # Under accelerate the variable is the launcher's doing; only its own option counts.
    assert not read_launch([*PYTHON, *TRAIN]).threads_set
    assert read_launch([*PYTHON, "--num_cpu_threads_per_process", "1", *TRAIN]).threads_set
