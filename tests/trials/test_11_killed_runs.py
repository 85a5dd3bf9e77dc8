"""SIGKILL at any moment, half a last line, another batch size or number of processes: the same rows, each once."""

import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.command import environment, storyalign
from tests.support.rows_to_score import read_rewards, write_instances
from tests.support.tiny_models import tiny_model_folder

COUNT = 60


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Model, data and the rewards of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    model = tiny_model_folder(folder / "model")
    write_instances(folder / "data.jsonl", COUNT)
    done = storyalign("score", model, folder / "data.jsonl", "--out", folder / "rewards.jsonl")
    assert done.returncode == 0, done.stderr
    return model, folder / "data.jsonl", read_rewards(folder / "rewards.jsonl")


def equal(found, expected):
    assert list(found) == list(expected), "other rows, or another order"
    for key, row in expected.items():
        assert found[key]["reward"] == pytest.approx(row["reward"], abs=1e-4)
        one, other = ({k: v for k, v in r.items() if k not in ("reward", "check")} for r in (found[key], row))
        assert one == other


def kill_when(command, part, rows):
    """Run a command and kill it once its part holds so many lines."""
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        while process.poll() is None and (not part.exists() or part.read_bytes().count(b"\n") < rows):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        return process.wait()
    finally:
        process.kill()
        process.communicate()


def interrupted(tmp_path, whole, rows, budget, half_line):
    model, data, expected = whole
    out = tmp_path / "rewards.jsonl"
    part = tmp_path / "rewards.jsonl.part-0"
    command = [sys.executable, "-m", "storyalign", "score", model, data, "--out", out, "--batch-tokens", "120"]
    assert kill_when(list(map(str, command)), part, rows) == -signal.SIGKILL
    kept = part.read_bytes()
    assert kept.count(b"\n") >= rows
    if half_line:
        part.write_bytes(kept + kept.splitlines()[0][:41])
    again = storyalign("score", model, data, "--out", out, "--batch-tokens", budget)
    assert again.returncode == 0, again.stderr
    assert f"{kept.count(chr(10).encode())} from before" in again.stdout
    equal(read_rewards(out), expected)
    assert not part.exists()


def test_killed_in_the_middle_with_half_a_line(tmp_path, whole):
    interrupted(tmp_path, whole, rows=31, budget="5000", half_line=True)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8))
def test_killed_anywhere(tmp_path, whole, seed):
    chance = random.Random(seed)
    interrupted(
        tmp_path, whole, chance.randint(1, COUNT * 3), str(chance.choice([1, 300, 9000])), chance.random() < 0.5
    )


def test_two_processes_give_the_same_rows_each_once(tmp_path, whole):
    model, data, expected = whole
    out = tmp_path / "rewards.jsonl"
    command = [sys.executable, "-m", "storyalign", "score", model, data, "--out", out, "--batch-tokens", "120"]
    kill_when(list(map(str, command)), tmp_path / "rewards.jsonl.part-0", 25)
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    done = subprocess.run(
        [*launch, "--main_process_port", "0", "-m", *map(str, command[2:])],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("scored 240 | unscored 0") == 1, "one process reports"
    equal(read_rewards(out), expected)
    assert sorted(p.name for p in tmp_path.glob("rewards*")) == ["rewards.jsonl", "rewards.jsonl.scorer.json"]


def test_an_error_of_the_data_ends_both_processes(tmp_path, whole):
    model, data, _ = whole
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    command = ["storyalign", "score", str(model), str(data), "--out", str(tmp_path / "r.jsonl"), "--max-length", "60"]
    done = subprocess.run(
        [*launch, "--main_process_port", "0", "-m", *command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode != 0
    assert "stories are longer than 60 tokens" in done.stderr
    assert not (tmp_path / "r.jsonl").exists()
