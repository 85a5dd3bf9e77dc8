"""What is scored: mixed story lengths, and a reward model of SmolLM2-135M's size with an untrained head."""

from __future__ import annotations

import random
from pathlib import Path

PREMISE = "A lighthouse keeper finds a letter that was never meant for him."
_WORDS = """
the of and a to in he was that it his her with as had she for on at by which be not from him all were but they so one
said there when who would been their more no out if up what time about then them into could now only little some very
your like other our over down any upon after before how old long way house door night sea lamp stairs letter window
mother captain silence promise garden river winter morning letters keeper wind water stone
""".split()  # noqa: SIM905


def text(words: int, seed: int) -> str:
    pick = random.Random(seed)
    return " ".join(pick.choice(_WORDS) for _ in range(words)).capitalize() + "."


def mixed_stories(count: int = 16, shortest: int = 20, longest: int = 330) -> list[str]:
    """Stories from ``shortest`` to ``longest`` words, lengths in geometric steps, in a shuffled order."""
    lengths = [round(shortest * (longest / shortest) ** (n / (count - 1))) for n in range(count)]
    random.Random(0).shuffle(lengths)
    return [text(length, seed) for seed, length in enumerate(lengths)]


def save_reward_model(folder: Path, layers: int | None = None) -> Path:
    """Save the base model with a new head; ``layers`` keeps only so many of its 30 layers."""
    import torch

    from storyalign.models.base_model import resolve_base
    from storyalign.models.loading import load_reward_model

    torch.manual_seed(0)
    loaded = load_reward_model(resolve_base(), allow_new_head=True)
    if layers is not None:
        loaded.model.model.layers = loaded.model.model.layers[:layers]
        loaded.model.config.num_hidden_layers = layers
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return folder
