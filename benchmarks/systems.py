"""The systems that are compared: each takes a model folder and gives a function from stories to rewards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.inputs import PREMISE

Score = Callable[[list[str]], list[float]]


def ours(folder: Path) -> Score:
    """This kit in fp32."""
    return _kit(folder, "fp32")


def ours_bf16(folder: Path) -> Score:
    """This kit in bf16."""
    return _kit(folder, "bf16")


def _kit(folder: Path, dtype: str) -> Score:
    from storyalign.models.allocator import keep_freed_memory
    from storyalign.scoring.reward_models import load_scorer

    keep_freed_memory()
    scorer = load_scorer(folder, dtype=dtype)  # type: ignore[arg-type]
    return lambda stories: scorer.rank(PREMISE, stories)


def pipeline_8(folder: Path) -> Score:
    """transformers' text-classification pipeline, batches of 8."""
    return _pipeline(folder, 8)


def pipeline_1(folder: Path) -> Score:
    """transformers' text-classification pipeline, one story at a time."""
    return _pipeline(folder, 1)


def _pipeline(folder: Path, batch_size: int) -> Score:
    import torch
    from transformers import pipeline

    classify = pipeline("text-classification", str(folder), dtype=torch.float32, device="cpu")
    template = classify.tokenizer.apply_chat_template

    def score(stories: list[str]) -> list[float]:
        turns = [[{"role": "user", "content": PREMISE}, {"role": "assistant", "content": s}] for s in stories]
        texts = [template(turn, tokenize=False) for turn in turns]
        return [row["score"] for row in classify(texts, batch_size=batch_size, function_to_apply="none")]

    return score


def cross_encoder(folder: Path) -> Score:
    """sentence-transformers' CrossEncoder with its defaults (batches of 32, sorted by length)."""
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(folder), num_labels=1, device="cpu", model_kwargs={"dtype": torch.float32})

    def score(stories: list[str]) -> list[float]:
        pairs = [(PREMISE, story) for story in stories]
        return [float(r) for r in model.predict(pairs, activation_fn=torch.nn.Identity())]

    return score


SYSTEMS: dict[str, Callable[[Path], Score]] = {
    "ours": ours,
    "ours_bf16": ours_bf16,
    "pipeline_8": pipeline_8,
    "pipeline_1": pipeline_1,
    "cross_encoder": cross_encoder,
}
