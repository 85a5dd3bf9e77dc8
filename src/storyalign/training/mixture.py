"""The pairs of one epoch: several sets by weight, a held-out share by premise, and the batches made of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset

from storyalign.errors import DataError
from storyalign.text import digest
from storyalign.training.tokens import TokenPairs

if TYPE_CHECKING:
    import datasets


class PairDataset(Dataset[dict[str, Any]]):
    """Rows of token ids; index ``len(self) + i`` is pair ``i`` as a filler of weight zero.

    Args:
        sets: tokenised sets; dropped pairs are left out.
        seed: of the draws that a weight with a fraction needs.
        engagement_margin: scale of the margin taken from the readers' engagement; 0 for none.
    """

    def __init__(self, sets: Sequence[TokenPairs], *, seed: int = 0, engagement_margin: float = 0.0) -> None:
        from datasets import concatenate_datasets

        parts = [
            part for number, pairs in enumerate(sets) for part in _weighted(pairs, random.Random(f"{seed}/{number}"))
        ]
        self.rows: datasets.Dataset = concatenate_datasets(parts)
        self.engagement_margin = engagement_margin
        if not len(self.rows):
            raise DataError("no pair is left to train on: all of them are longer than max_length")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = dict(self.rows[index % len(self)])
        row["index"], row["weight"] = index % len(self), float(index < len(self))
        return row

    @property
    def lengths(self) -> list[int]:
        """Real tokens of each pair, both stories together."""
        return list(self.rows["n_tokens"])

    @property
    def constructions(self) -> list[str]:
        """The construction of each pair."""
        return list(self.rows["construction"])

    @property
    def premises(self) -> list[str]:
        """A digest of each pair's premise."""
        return list(self.rows["premise"])

    def counts(self) -> dict[str, int]:
        """Pairs per construction, with a weighted set's repetitions."""
        return dict(sorted(Counter(self.constructions).items()))

    def collate(self, examples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Put rows together; nothing is padded.

        Returns:
            ``segments``: token ids, 1-D each, all chosen conversations and then all rejected ones in the same order;
            ``weight``: (pairs,) 1 for a pair, 0 for a filler; ``index``: (pairs,) places in this dataset; and, where
            margins are asked for, ``margin``: (pairs,) by how much the chosen story should win.
        """
        ids = [e["chosen_ids"] for e in examples] + [e["rejected_ids"] for e in examples]
        batch = {
            "segments": [torch.tensor(i, dtype=torch.long) for i in ids],
            "weight": torch.tensor([e["weight"] for e in examples]),
            "index": torch.tensor([e["index"] for e in examples]),
        }
        if self.engagement_margin:
            batch["margin"] = torch.tensor([self.engagement_margin * (e["engagement_ratio"] or 0.0) for e in examples])
        return batch

    def select(self, indices: Sequence[int]) -> None:
        """Keep these rows only, in this order."""
        self.rows = self.rows.select(indices)


def balance_length(rows: PairDataset, seed: int) -> int:
    """Leave out pairs, drawn with the seed, until the chosen story is the longer one as often as the rejected one.

    Returns:
        How many pairs were left out.
    """
    longer: dict[bool, list[int]] = {True: [], False: []}
    keep: list[int] = []
    for index in range(len(rows)):
        row = rows[index]
        chosen, rejected = len(row["chosen_ids"]), len(row["rejected_ids"])
        (keep if chosen == rejected else longer[chosen > rejected]).append(index)
    size = min(map(len, longer.values()))
    for group in longer.values():
        keep.extend(random.Random(seed).sample(group, size))
    left_out = len(rows) - len(keep)
    if keep:
        rows.select(sorted(keep))
        return left_out
    raise DataError("balance_length: the chosen story is the longer one in every pair, or in none: nothing is left")


def split_by_premise(prompts: Sequence[str], share: float, seed: int) -> tuple[list[int], list[int]]:
    """Hold out a share of the premises; no premise is on both sides.

    Args:
        prompts: the premise of each pair.
        share: of the premises, 0 to 1; at least one is held out and at least one stays.
        seed: of the draw.

    Returns:
        Indices to train on, and indices to validate with.

    Raises:
        DataError: there is only one premise.
    """
    premises = sorted(set(prompts), key=lambda text: digest(str(seed), text))
    if len(premises) < 2:
        raise DataError("validation_share: all pairs have the same premise; name a validation split instead")
    held_out = set(premises[: min(max(round(share * len(premises)), 1), len(premises) - 1)])
    train = [i for i, prompt in enumerate(prompts) if prompt not in held_out]
    return train, [i for i, prompt in enumerate(prompts) if prompt in held_out]


def _weighted(pairs: TokenPairs, draw: random.Random) -> list[datasets.Dataset]:
    kept = [i for i, fate in enumerate(pairs.rows["fate"]) if fate != "dropped"]
    wanted = pairs.source.pairs
    if wanted is not None:
        if wanted > len(kept):
            raise DataError(f"{pairs.source}: {wanted} pairs are asked for, but only {len(kept)} are there")
        kept = sorted(draw.sample(kept, wanted))
    whole, fraction = divmod(pairs.source.weight, 1)
    extra = sorted(draw.sample(kept, round(fraction * len(kept))))
    indices = kept * int(whole) + extra
    return [pairs.rows.select(indices)] if indices else []
