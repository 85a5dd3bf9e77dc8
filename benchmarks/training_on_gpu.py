"""Training speed and memory on one GPU: a randomly initialised Qwen3-shaped model on pairs of the paper's lengths.

    python -m benchmarks.training_on_gpu --peak-tflops 989
    python -m benchmarks.training_on_gpu --tiny          # on a CPU: shows that it runs, measures nothing of interest

Stories average 2,800 words in the paper, about 3,700 tokens; lengths are drawn log-normally around that. One pair a
step, bf16. The share of the chip's peak counts 6 operations per weight and token and leaves attention out.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForSequenceClassification

from benchmarks.training_speed import epochs, random_pairs, variants

SHAPE = {
    "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151_936,
}  # fmt: skip
"""Qwen3-0.6B's."""

TINY = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "vocab_size": 256,
}  # fmt: skip


def lengths(pairs: int, mean: float, spread: float = 0.5, limit: int = 16_384) -> list[int]:
    """Tokens of each conversation, two per pair."""
    generator = torch.Generator().manual_seed(1)
    middle = torch.log(torch.tensor(mean)) - spread**2 / 2
    drawn = torch.exp(middle + spread * torch.randn(2 * pairs, generator=generator))
    return [min(max(int(n), 8), limit) for n in drawn.tolist()]


def run(tiny: bool, peak_tflops: float | None, turns: int = 3) -> str:
    """Measure and give a table."""
    gpu = torch.cuda.is_available()
    if not gpu and not tiny:
        raise SystemExit("no GPU here; --tiny runs the same code on a CPU")
    shape, mean = (TINY, 48.0) if tiny else (SHAPE, 3700.0)
    torch.manual_seed(0)
    config = Qwen3Config(**shape, num_labels=1, max_position_embeddings=16_384, pad_token_id=0, eos_token_id=1)
    model = Qwen3ForSequenceClassification(config)
    backend = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1}, unk_token="<pad>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>")
    weights = sum(p.numel() for n, p in model.named_parameters() if "embed_tokens" not in n)
    steps = 6
    drawn = lengths(steps, mean)
    rows = random_pairs(drawn, shape["vocab_size"])
    lines = [
        f"training, {weights / 1e6:.1f} M weights without embeddings, one pair a step, "
        f"mean {sum(drawn) / len(drawn):.0f} tokens, {torch.cuda.get_device_name(0) if gpu else 'CPU'}",
        f"{'variant':<24}{'tokens/s':>10}{'times TRL':>11}{'GiB':>8}{'of peak':>9}",
    ]
    base = 0.0
    with tempfile.TemporaryDirectory() as folder:
        makers = variants(
            model, tokenizer, rows, Path(folder), max_steps=steps, per_device_train_batch_size=1, bf16=gpu,
            use_cpu=not gpu,
        )  # fmt: skip
        for name, make in makers.items():
            if gpu:
                torch.cuda.reset_peak_memory_stats()
            timed = [*islice(epochs(make()), 1 + turns)][1:]
            speed = sum(drawn) / statistics.median(timed)
            base = base or speed
            memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f}" if gpu else "-"
            share = f"{6 * weights * speed / (peak_tflops * 1e12):.0%}" if peak_tflops and gpu else "-"
            lines.append(f"{name:<24}{speed:>10.0f}{speed / base:>11.2f}{memory:>8}{share:>9}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="a tiny model on short pairs; works without a GPU")
    parser.add_argument("--peak-tflops", type=float, help="the chip's dense bf16 peak, such as 989 for an H200")
    options = parser.parse_args()
    print(run(options.tiny, options.peak_tflops))
