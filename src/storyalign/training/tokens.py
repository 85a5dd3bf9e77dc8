"""From texts to token ids: in parallel, once per content, and with every cut and every drop written down."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from storyalign.errors import DataError
from storyalign.models.chat import Keep, TooLongError, cut, render_many, template_digest
from storyalign.text import digest
from storyalign.training.pairs import LoadedPairs, PairSource, label_names, read_pair

if TYPE_CHECKING:
    from datasets import Dataset, Features
    from transformers import PreTrainedTokenizerBase

OverLength = Literal["error", "drop", "truncate"]
Fate = Literal["kept", "cut", "dropped"]

_FORMAT = "5"
"""Part of the cache key: changes when the columns or the meaning of the cached tokens change."""


class LengthPolicy(NamedTuple):
    """What happens to pairs with a conversation of more than ``max_length`` tokens."""

    max_length: int | None
    over_length: OverLength = "error"
    keep: Keep = "head"


class TokenPairs(NamedTuple):
    """Pairs as token ids, one row each."""

    source: PairSource
    rows: Dataset
    """Columns: chosen_ids, rejected_ids, n_before and n_after (tokens around each story), n_tokens (both together),
    premise (a digest), construction, engagement_ratio, id, fate, longest (tokens of the longer conversation before any
    cut). Dropped pairs are still in it, with empty ids, so that they can be counted."""


def tokenize_pairs(
    pairs: LoadedPairs,
    tokenizer: PreTrainedTokenizerBase,
    policy: LengthPolicy,
    *,
    processes: int | None = None,
    cache: Path | None = None,
) -> TokenPairs:
    """Render every pair to token ids and apply the length policy.

    The result is kept in ``cache`` under a key made of the texts, the tokenizer and the policy, so that it is never
    stale and never made twice.

    Args:
        pairs: a loaded set.
        tokenizer: of the model to train.
        policy: what happens to over-long pairs.
        processes: worker processes; by default one per free core where the set is large.
        cache: a folder; ``HF_HOME/storyalign/tokens`` by default.

    Raises:
        DataError: the policy is ``error`` and a pair is too long, or a premise alone leaves no room for its stories.
    """
    from filelock import FileLock

    key = _key(pairs, tokenizer, policy)
    folder = (cache or _default_cache()) / key
    folder.mkdir(parents=True, exist_ok=True)
    processes = processes or _default_processes(len(pairs.rows))
    with FileLock(folder.with_name(f".{key}.lock")):  # the processes of one launch come here together
        rows = pairs.rows.map(
            _tokenize,
            batched=True,
            batch_size=64,
            fn_kwargs={"tokenizer": tokenizer, "policy": policy, "names": tuple(label_names(pairs.rows))},
            remove_columns=pairs.rows.column_names,
            features=_features(),
            num_proc=processes if processes > 1 else None,
            load_from_cache_file=True,
            cache_file_name=str(folder / "tokens.arrow"),
            new_fingerprint=key[:16],
            desc=f"Tokenizing {pairs.source}",
        )
    if policy.over_length == "error":
        _refuse_long(pairs, rows, policy)
    return TokenPairs(pairs.source, rows)


def _features() -> Features:
    from datasets import Features, Sequence, Value

    return Features(
        {
            "chosen_ids": Sequence(Value("int32")),
            "rejected_ids": Sequence(Value("int32")),
            "n_before": Value("int32"),
            "n_after": Value("int32"),
            "n_tokens": Value("int32"),
            "premise": Value("string"),
            "construction": Value("string"),
            "engagement_ratio": Value("float64"),
            "id": Value("string"),
            "fate": Value("string"),
            "longest": Value("int32"),
        }
    )


def _tokenize(
    batch: dict[str, list[Any]], tokenizer: PreTrainedTokenizerBase, policy: LengthPolicy, names: Sequence[str]
) -> dict[str, list[Any]]:
    rows = [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
    pairs = [read_pair(row, names) for row in rows]
    conversations = render_many(tokenizer, [(p.prompt, story) for p in pairs for story in (p.chosen, p.rejected)])
    out: dict[str, list[Any]] = {name: [] for name in _features()}
    for pair, chosen, rejected in zip(pairs, conversations[::2], conversations[1::2], strict=True):
        ids, fate = _fit([chosen, rejected], policy)
        row = {
            "chosen_ids": ids[0],
            "rejected_ids": ids[1],
            "n_before": len(chosen.before),
            "n_after": len(chosen.after),
            "n_tokens": len(ids[0]) + len(ids[1]),
            "premise": digest(pair.prompt)[:16],
            "construction": pair.construction,
            "engagement_ratio": pair.engagement_ratio,
            "id": pair.id,
            "fate": fate,
            "longest": max(len(chosen), len(rejected)),
        }
        for column, values in out.items():
            values.append(row[column])
    return out


def _fit(conversations: Sequence[Any], policy: LengthPolicy) -> tuple[list[list[int]], Fate]:
    limit = policy.max_length
    if limit is None or all(len(c) <= limit for c in conversations):
        return [c.ids for c in conversations], "kept"
    if policy.over_length == "truncate":
        try:
            ids = [cut(c, limit, policy.keep).ids for c in conversations]
        except TooLongError:
            return [[], []], "dropped"  # the premise alone is too long: nothing of the story would be left to judge
        if ids[0] != ids[1]:  # else the stories differ only in what was cut, and the pair teaches nothing
            return ids, "cut"
    return [[], []], "dropped"


def _refuse_long(pairs: LoadedPairs, rows: Dataset, policy: LengthPolicy) -> None:
    long = [i for i, fate in enumerate(rows["fate"]) if fate == "dropped"]
    if long:
        first = rows[long[0]]
        name = f"id {first['id']}" if first["id"] else f"row {long[0]}"
        raise DataError(
            f"{pairs.source}: {len(long)} of {len(rows)} pairs are longer than {policy.max_length} tokens, "
            f"the first one {name} with {first['longest']}; "
            "raise --max_length, or choose --over_length drop or truncate"
        )


class LengthTable(NamedTuple):
    """Pairs kept whole, cut and dropped, per construction."""

    counts: dict[str, Counter[str]]
    longest: dict[str, int]

    @classmethod
    def of(cls, sets: Sequence[TokenPairs]) -> LengthTable:
        """Count the pairs of several sets, each pair once, whatever the set's weight."""
        counts: dict[str, Counter[str]] = {}
        longest: dict[str, int] = {}
        for pairs in sets:
            columns = (pairs.rows[name] for name in ("construction", "fate", "longest"))
            for construction, fate, length in zip(*columns, strict=True):
                counts.setdefault(construction, Counter())[fate] += 1
                longest[construction] = max(longest.get(construction, 0), length)
        return cls(dict(sorted(counts.items())), longest)

    @property
    def lost_share(self) -> float:
        """Share of all pairs that are cut or dropped, 0 to 1."""
        total = sum(sum(c.values()) for c in self.counts.values())
        return sum(c["cut"] + c["dropped"] for c in self.counts.values()) / total

    def check(self, max_lost_share: float) -> None:
        """Stop above a threshold.

        Raises:
            DataError: a larger share than ``max_lost_share`` is cut or dropped.
        """
        if self.lost_share > max_lost_share:
            raise DataError(
                f"{self.lost_share:.1%} of the pairs are cut or dropped, and max_lost_share is {max_lost_share:.1%}; "
                "raise --max_length, or allow it with --max_lost_share"
            )

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("construction", "kept", "cut", "dropped", "longest (tokens)")]
        for name, count in self.counts.items():
            rows.append((name, *(f"{count[fate]:,}" for fate in ("kept", "cut", "dropped")), f"{self.longest[name]:,}"))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        )


def _key(pairs: LoadedPairs, tokenizer: PreTrainedTokenizerBase, policy: LengthPolicy) -> str:
    # The tokenizer's whole state, not its name: two of one name may cut texts differently.
    state = tokenizer.backend_tokenizer.to_str() if tokenizer.is_fast else str(sorted(tokenizer.get_vocab().items()))
    return digest(_FORMAT, pairs.digest, state, template_digest(tokenizer), *map(str, policy))


def _default_cache() -> Path:
    from huggingface_hub.constants import HF_HOME

    return Path(HF_HOME) / "storyalign" / "tokens"


def _default_processes(rows: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, rows // 2000), 1)
