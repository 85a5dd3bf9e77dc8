"""Rewards depend neither on batch size nor on order, neighbours or padding side."""

import random

import pytest

from storyalign.scoring.reward_models import load_scorer
from storyalign.scoring.reward_store import Request
from tests.support.tiny_models import tiny_model_folder, words

PREMISE = "A keeper, a captain and a tin box."
LENGTHS = [round(20 * 300 ** (n / 39)) for n in range(40)]  # 20 to 6,000 words
STORIES = [words(count, seed) for seed, count in enumerate(LENGTHS)]


def rewards(scorer, order):
    requests = [Request("i", n, PREMISE, STORIES[n]) for n in order]
    found = {row.candidate: row.reward for batch in scorer.score(requests) for row in batch}
    return [found[n] for n in range(len(STORIES))]


@pytest.mark.parametrize("kind", ["llama", "qwen3"])
def test_forty_stories_however_they_are_batched(tmp_path, kind):
    small = {"num_hidden_layers": 1}
    alone = load_scorer(tiny_model_folder(tmp_path / "alone", kind, config=small), batch_tokens=1)
    expected = rewards(alone, range(40))
    assert alone.packed
    assert max(expected) - min(expected) > 1, "rewards that hardly differ would prove nothing"
    shuffled = random.Random(7).sample(range(40), 40)
    for budget, order, side in [(700, range(40), "left"), (40_000, shuffled, "right"), (3000, shuffled, "left")]:
        folder = tiny_model_folder(tmp_path / f"{budget}", kind, config=small, padding_side=side)
        found = rewards(load_scorer(folder, batch_tokens=budget), order)
        assert found == pytest.approx(expected, abs=1e-4)
        assert found.index(max(found)) == expected.index(max(expected))
    exact = load_scorer(folder)
    exact.packed = False
    some = [n for n in range(40) if LENGTHS[n] < 500]
    for row in (r for n in some for r in exact(PREMISE, [STORIES[n]])):
        assert any(row.reward == pytest.approx(expected[n], abs=1e-4) for n in some)
