"""What a run says on screen, from logged figures and in real runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from storyalign.training.step_lines import lines
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import launch, run_here, write_pairs


def options(tmp_path: Path, *more: str) -> list[str]:
    tiny_model_folder(tmp_path / "base", "llama")
    write_pairs(tmp_path / "pairs.jsonl", 6)
    write_pairs(tmp_path / "held.jsonl", 3, seed=500)
    (tmp_path / "r.yaml").write_text(f"validation_datasets: [{{path: {tmp_path / 'held.jsonl'}}}]\n")
    return [
        "--config", str(tmp_path / "r.yaml"), "--model_name_or_path", str(tmp_path / "base"),
        "--dataset_name", str(tmp_path / "pairs.jsonl"), "--output_dir", str(tmp_path / "model"),
        "--per_device_train_batch_size", "1", "--max_steps", "5", "--logging_steps", "2", "--eval_strategy", "steps",
        "--eval_steps", "4", "--save_strategy", "steps", "--save_steps", "5", *more,
    ]  # fmt: skip


STEP = (
    r"step %d/5: loss \d\.\d{4}, accuracy \d+\.\d%%, margin [+-]\d\.\d{3}, learning rate \d\.\d\de-\d\d, "
    r"[\d,]+ tokens/s"
)


def test_a_line_a_logged_step_and_none_of_a_dictionary(tmp_path: Path) -> None:
    printed = run_here(*options(tmp_path, "--disable_tqdm", "true"))
    said = [line for line in printed.splitlines() if line.startswith("step ")]
    assert re.fullmatch(STEP % 2, said[0]) and re.fullmatch(STEP % 4, said[1])
    validation = r"step 4/5, validation: loss \d\.\d{4}, accuracy \d+\.\d%, margin [+-]\d\.\d{3}, n 3"
    assert re.fullmatch(validation, said[2])
    assert re.fullmatch(r"step 5/5: trained for \d+ min \d+ s", said[-1])
    assert "{" not in printed and "grad_norm" not in printed
    # Machines still find everything.
    state = json.loads((tmp_path / "model-checkpoints/checkpoint-5/trainer_state.json").read_text())
    assert {"loss", "grad_norm", "learning_rate", "num_tokens", "reward_std"} <= set(state["log_history"][0])


def test_the_bar_stays_and_the_second_process_is_silent(tmp_path: Path) -> None:
    two = Path(__file__).parents[2] / "recipes/accelerate/two_cpu.yaml"
    done = launch(*options(tmp_path), accelerate=["--config_file", str(two)])
    assert done.returncode == 0, done.stderr
    assert len(re.findall(STEP % 2, done.stdout)) == len(re.findall("trained for", done.stdout)) == 1
    assert "5/5" in done.stderr and "{" not in done.stdout


def test_figures_that_are_not_known_are_left_out() -> None:
    assert lines(3, 9, {"loss": 0.5}) == ["step 3/9: loss 0.5000"]
    assert lines(3, 9, {"eval_benchmark_accuracy": 0.25, "eval_runtime": 1.0}) == [
        "step 3/9, validation: benchmark accuracy 25.0%"
    ]
    assert lines(3, 9, {"epoch": 1.0}) == []
    last = {"train_runtime": 125.4, "train_loss": 0.4, "loss": 0.25, "accuracy": 1.0, "margin": -0.5}
    assert lines(9, 9, last) == [
        "step 9/9: loss 0.2500, accuracy 100.0%, margin -0.500",
        "step 9/9: trained for 2 min 5 s",
    ]
