"""Trial 3, in training: padding tokens that mean something else do not keep a model from learning."""

from __future__ import annotations

from pathlib import Path

import pytest

from storyalign.files import read_jsonl, write_jsonl
from tests.support.tiny_models import tiny_model_folder
from tests.support.training_runs import build, write_pairs


@pytest.mark.parametrize(
    "tokenizer",
    [{"pad": "<|im_end|>"}, {"pad": None, "special": ("<|endoftext|>", "<|im_start|>", "<|im_end|>")}],
    ids=["pad is the end of a turn", "no pad"],
)
def test_loss_falls_on_separable_pairs(tmp_path: Path, tokenizer: dict[str, object]) -> None:
    base = tiny_model_folder(tmp_path / "base", "llama-lm", **tokenizer)  # type: ignore[arg-type]
    pairs = write_pairs(tmp_path / "pairs.jsonl", 40)
    # The end of a turn stands inside every prompt: whoever looks for the first one reads the reward there.
    write_jsonl(pairs, [{**line.row, "prompt": line.row["prompt"] + " <|im_end|> end"} for line in read_jsonl(pairs)])
    trainer, _ = build(
        "--model_name_or_path", str(base), "--dataset_name", str(pairs), "--output_dir", str(tmp_path / "m"),
        "--per_device_train_batch_size", "4", "--num_train_epochs", "4", "--learning_rate", "3e-3",
        "--logging_steps", "1", "--save_strategy", "no", "--disable_tqdm", "true",
    )  # fmt: skip
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    assert losses[-1] < 0.1 < 0.4 < losses[0]
