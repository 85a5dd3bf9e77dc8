"""Two real processes on the CPU: DDP over gloo, started by ``accelerate launch``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from storyalign.models.loading import load_reward_model
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import ROOT, launch, run_here, write_pairs

FSDP2_CPU = ["--config_file", str(ROOT / "recipes" / "accelerate" / "fsdp2_cpu.yaml")]
TWO_CPU = ["--config_file", str(ROOT / "recipes" / "accelerate" / "two_cpu.yaml")]


def options(tmp_path: Path, out: str, *more: str) -> list[str]:
    if not (tmp_path / "base").is_dir():
        tiny_model_folder(tmp_path / "base", "llama-lm")
        write_pairs(tmp_path / "pairs.jsonl", 21)
        write_pairs(tmp_path / "held.jsonl", 5, seed=500)
        (tmp_path / "r.yaml").write_text(f"validation_datasets: [{{path: {tmp_path / 'held.jsonl'}}}]\n")
    return [
        "--config", str(tmp_path / "r.yaml"), "--model_name_or_path", str(tmp_path / "base"),
        "--dataset_name", str(tmp_path / "pairs.jsonl"), "--output_dir", str(tmp_path / out), "--num_train_epochs", "2",
        "--learning_rate", "1e-3", "--logging_steps", "1", "--save_steps", "5", "--disable_tqdm", "true",
        "--eval_strategy", "epoch", *more,
    ]  # fmt: skip


def validation(folder: Path) -> dict[str, float]:
    return dict(json.loads((folder / "training.json").read_text())["validation"])


def test_two_processes_train_as_one_would_on_the_same_steps(tmp_path: Path) -> None:
    # 21 pairs, 4 a step: the last step of an epoch has one pair, so one of the two processes only keeps company.
    done = launch(*options(tmp_path, "two", "--per_device_train_batch_size", "2"), accelerate=TWO_CPU)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the finished model is in") == 1  # one process speaks
    run_here(*options(tmp_path, "one", "--per_device_train_batch_size", "4"))

    two, one = (load_file(tmp_path / name / "model.safetensors") for name in ("two", "one"))
    start = load_file(tmp_path / "base" / "model.safetensors")
    moved = max((two[k] - start[k]).abs().max().item() for k in start if k in two)
    apart = max((two[k] - one[k]).abs().max().item() for k in one)
    assert moved > 1e-3 and apart < moved / 50
    record = json.loads((tmp_path / "two" / "training.json").read_text())["run"]
    assert (record["processes"], record["pairs_per_step"], record["steps"]) == (2, 4, 12)

    # Each of the five validation pairs once: padding the last batch would make it six.
    assert validation(tmp_path / "two")["n"] == validation(tmp_path / "one")["n"] == 5
    assert validation(tmp_path / "two")["loss"] == pytest.approx(validation(tmp_path / "one")["loss"], abs=1e-3)

    assert not load_reward_model(tmp_path / "two").new_head
    saved = sorted(p.name for p in (tmp_path / "two-checkpoints").iterdir())
    assert saved == ["checkpoint-10", "checkpoint-12", "run.json"]


@pytest.mark.full
def test_ranks_hold_equal_weights(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(
        "import sys, torch, hashlib\n"
        "from tests.support.training_runs import build\n"
        "trainer, _ = build(*sys.argv[1:])\n"
        "trainer.train()\n"
        "digest = hashlib.sha256()\n"
        "for name, value in sorted(trainer.model.state_dict().items()):\n"
        "    digest.update(value.numpy().tobytes())\n"
        "print('RANK', trainer.args.process_index, trainer.accelerator.num_processes, digest.hexdigest(), flush=True)\n"
    )
    done = launch(*options(tmp_path, "two"), accelerate=TWO_CPU, script=script)
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"RANK (\d) 2 ([0-9a-f]{64})", done.stdout))
    assert set(found) == {"0", "1"} and len(set(found.values())) == 1


@pytest.mark.full
def test_fsdp2_shards_over_gloo_and_resumes(tmp_path: Path) -> None:
    script = tmp_path / "shards.py"
    script.write_text(
        "import sys\n"
        "from tests.support.training_runs import build\n"
        "trainer, _ = build(*sys.argv[1:])\n"
        "assert trainer.execution == ('no', 'storyalign_packed', 2, 'fsdp'), trainer.execution\n"
        "trainer.train()\n"
        "weights = trainer.model.state_dict()\n"
        "part = sum(w.to_local().numel() for w in weights.values())\n"
        "print('SHARD', trainer.args.process_index, part, sum(w.numel() for w in weights.values()), flush=True)\n"
    )
    done = launch(*options(tmp_path, "shards", "--max_steps", "1"), accelerate=FSDP2_CPU, script=script)
    assert done.returncode == 0, done.stderr
    shares = {rank: (int(part), int(whole)) for rank, part, whole in re.findall(r"SHARD (\d) (\d+) (\d+)", done.stdout)}
    assert set(shares) == {"0", "1"} and shares["0"][1] == shares["1"][1]
    assert sum(part for part, _ in shares.values()) == shares["0"][1]  # nothing is held twice
    assert all(0.4 < part / whole < 0.6 for part, whole in shares.values())

    steps = ["--per_device_train_batch_size", "2", "--save_steps", "4"]
    done = launch(*options(tmp_path, "fsdp", *steps), accelerate=FSDP2_CPU)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "fsdp" / "training.json").read_text())["run"]["sharding"] == "fsdp"
    run_here(*options(tmp_path, "one", "--per_device_train_batch_size", "4"))
    whole, one = (load_file(tmp_path / name / "model.safetensors") for name in ("fsdp", "one"))
    start = load_file(tmp_path / "base" / "model.safetensors")
    moved = max((one[k] - start[k]).abs().max().item() for k in start if k in one)
    assert max((whole[k] - one[k]).abs().max().item() for k in one) < moved / 50

    shutil.rmtree(tmp_path / "fsdp")
    shutil.rmtree(tmp_path / "fsdp-checkpoints" / "checkpoint-12")
    done = launch(*options(tmp_path, "fsdp", *steps), accelerate=FSDP2_CPU)
    assert done.returncode == 0, done.stderr
    assert "going on from" in done.stdout and "checkpoint-8" in done.stdout
    again = load_file(tmp_path / "fsdp" / "model.safetensors")
    assert max((whole[k] - again[k]).abs().max().item() for k in one) < moved / 50


@pytest.mark.full
@pytest.mark.parametrize("wrong", [["--cpu", "--num_processes", "2"], ["--use_fsdp", "--num_processes", "2"]])
def test_fewer_processes_or_no_sharding_is_an_error(tmp_path: Path, wrong: list[str]) -> None:
    done = launch(*options(tmp_path, "m"), accelerate=[*wrong, "--main_process_port", "0"])
    assert done.returncode != 0
    assert re.search(r"error.*: (2 processes were|fsdp was) asked for", done.stderr)
    assert not (tmp_path / "m" / "training.json").exists()
