from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from storyalign.errors import DataError
from storyalign.training.mixture import PairDataset, balance_length, split_by_premise
from storyalign.training.pairs import PairSource, load_pairs
from storyalign.training.tokens import LengthPolicy, TokenPairs, tokenize_pairs
from tests.support.tiny_models import tiny_tokenizer
from tests.support.training_runs import write_pairs


def tokens(tmp_path: Path, count: int, *, name: str = "a", **source: object) -> TokenPairs:
    path = write_pairs(tmp_path / f"{name}.jsonl", count, construction=name, seed=len(name) * 1000)
    pairs = load_pairs(PairSource(str(path), **source))  # type: ignore[arg-type]
    return tokenize_pairs(pairs, tiny_tokenizer(), LengthPolicy(None), cache=tmp_path / "cache")


@pytest.mark.parametrize(("weight", "shown"), [(1.0, 10), (0.5, 5), (2.0, 20), (2.5, 25)])
def test_weight_is_how_often_an_epoch_shows_a_set(tmp_path: Path, weight: float, shown: int) -> None:
    sets = [tokens(tmp_path, 10, name="rewriting", weight=weight), tokens(tmp_path, 4, name="llm_pairs")]
    rows = PairDataset(sets, seed=3)
    assert rows.counts() == {"llm_pairs": 4, "rewriting": shown}
    times = Counter(i for i, c in zip(rows.rows["id"], rows.constructions, strict=True) if c == "rewriting")
    assert max(times.values()) - min([*times.values(), 0 if weight < 1 else int(weight)]) <= 1
    assert PairDataset(sets, seed=3).rows["id"] == rows.rows["id"]  # seeded


def test_a_fixed_number_of_pairs(tmp_path: Path) -> None:
    assert len(PairDataset([tokens(tmp_path, 10, pairs=7)], seed=1)) == 7
    with pytest.raises(DataError, match="11 pairs are asked for, but only 10 are there"):
        PairDataset([tokens(tmp_path, 10, pairs=11)])


def test_filler_is_its_pair_with_weight_zero(tmp_path: Path) -> None:
    rows = PairDataset([tokens(tmp_path, 3)])
    pair, filler = rows[1], rows[len(rows) + 1]
    assert (pair.pop("weight"), filler.pop("weight")) == (1.0, 0.0)
    assert pair == filler


def test_batches_hold_chosen_then_rejected_without_padding(tmp_path: Path) -> None:
    rows = PairDataset([tokens(tmp_path, 3)])
    batch = rows.collate([rows[0], rows[2]])
    assert [s.tolist() for s in batch["segments"]] == [
        rows[0]["chosen_ids"], rows[2]["chosen_ids"], rows[0]["rejected_ids"], rows[2]["rejected_ids"],
    ]  # fmt: skip
    assert batch["index"].tolist() == [0, 2]
    assert "margin" not in batch


def test_length_balance_leaves_as_many_longer_as_shorter_ones(tmp_path: Path) -> None:
    rows = PairDataset([tokens(tmp_path, 40)])
    lengths = [(len(rows[i]["chosen_ids"]), len(rows[i]["rejected_ids"])) for i in range(40)]
    longer, shorter = sum(a > b for a, b in lengths), sum(a < b for a, b in lengths)
    assert longer != shorter and min(longer, shorter) > 0  # there is something to balance
    left_out = balance_length(rows, seed=0)
    kept = [(len(rows[i]["chosen_ids"]), len(rows[i]["rejected_ids"])) for i in range(len(rows))]
    assert sum(a > b for a, b in kept) == sum(a < b for a, b in kept) == min(longer, shorter)
    assert left_out == abs(longer - shorter)


def test_split_by_premise_keeps_a_premise_on_one_side() -> None:
    prompts = [f"premise {i % 10}" for i in range(37)]
    train, held = split_by_premise(prompts, 0.3, seed=1)
    assert sorted(train + held) == list(range(37))
    assert {prompts[i] for i in train}.isdisjoint(prompts[i] for i in held)
    assert len({prompts[i] for i in held}) == 3
    assert split_by_premise(prompts, 0.3, seed=1) == (train, held)
    assert split_by_premise(prompts, 0.3, seed=2) != (train, held)
    with pytest.raises(DataError, match="same premise"):
        split_by_premise(["a", "a"], 0.5, seed=0)
