from __future__ import annotations

from pathlib import Path

import pytest
import torch

from storyalign.files import write_jsonl
from storyalign.models.chat import TooLongError
from storyalign.training.benchmark_metric import BenchmarkMetric
from tests.support.tiny_models import tiny_model_folder, tiny_tokenizer, words
from tests.support.training_runs import build, write_pairs


def benchmark(path: Path, count: int, length: int = 10) -> Path:
    rows = []
    for i in range(count):
        rejected = [words(length, 100 + 3 * i + k) for k in range(3)]
        rows.append({"id": f"g{i}", "prompt": f"p{i}", "chosen": words(length, i), "rejected": rejected})
    write_jsonl(path, rows)
    return path


def test_accuracy_is_logged_with_every_validation(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama")
    pairs = write_pairs(tmp_path / "pairs.jsonl", 8)
    trainer, _ = build(
        "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "m"),
        "--max_steps", "2", "--eval_strategy", "steps", "--eval_steps", "1", "--save_strategy", "no",
        "--disable_tqdm", "true", "--learning_rate", "0", "--validation_share", "0.25",
    )  # fmt: skip
    metric = BenchmarkMetric(str(benchmark(tmp_path / "b.jsonl", 9)), trainer.processing_class, 512)
    trainer.more_metrics = metric
    trainer.train()
    logged = [row for row in trainer.state.log_history if "eval_benchmark_accuracy" in row]
    assert [row["step"] for row in logged] == [1, 2]
    with torch.no_grad():
        rewards = [[trainer.rewards(trainer.model, [ids]).item() for ids in group] for group in metric.groups]
    right = sum(group[0] == max(group) for group in rewards)
    assert 0 < right < 9  # else the figure could not be wrong
    assert logged[0]["eval_benchmark_accuracy"] == pytest.approx(right / 9)
    assert (logged[0]["eval_benchmark_n"], logged[0]["eval_benchmark_ties"]) == (9, 0)


def test_constant_model_gets_chance(tmp_path: Path) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama")
    pairs = write_pairs(tmp_path / "pairs.jsonl", 4)
    trainer, _ = build(
        "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "m"),
    )  # fmt: skip
    torch.nn.init.zeros_(trainer.model.score.weight)
    figures = BenchmarkMetric(str(benchmark(tmp_path / "b.jsonl", 4)), trainer.processing_class, None)(trainer)
    assert (figures["benchmark_accuracy"], figures["benchmark_ties"]) == (0.25, 4)


def test_long_stories_are_cut_and_counted(tmp_path: Path) -> None:
    metric = BenchmarkMetric(str(benchmark(tmp_path / "b.jsonl", 2, length=80)), tiny_tokenizer(), 40)
    assert metric.n_truncated == 2 and {len(ids) for group in metric.groups for ids in group} == {40}
    with pytest.raises(TooLongError, match=r"b\.jsonl \(id g0\)"):
        BenchmarkMetric(str(tmp_path / "b.jsonl"), tiny_tokenizer(), 5)
