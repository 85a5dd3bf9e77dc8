"""Looks at a reward model before a long run: all that makes rewards wrong, or stops the run half-way, in a minute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from storyalign.errors import ModelError
from storyalign.models.base_model import resolve_base
from storyalign.models.chat import Conversation, render_many
from storyalign.models.loading import DType, RewardModel, load_reward_model
from storyalign.scoring.findings import Finding
from storyalign.scoring.reward_models import RewardModelScorer
from storyalign.scoring.reward_store import Request

if TYPE_CHECKING:
    from storyalign.records import Instance

_PREMISE = "A lighthouse keeper finds a letter addressed to her under the lamp."
_STORIES = (
    "Mara held the letter to the light. The hand was her own, and the date was tomorrow's.",
    "The letter was a bill for paraffin. She paid it, and the lamp went on turning.",
    "She never opened it. For thirty years it kept the window from rattling, and when they found it after the storm, "
    "the ink had run into a map of the coast that nobody could read but the gulls.",
    "There was a letter. The keeper read the letter. It was a good letter. Then she went to bed and slept.",
)
"""Four short stories, one of them longer, for trying the model out where there is no data."""

_MOST_STORIES = 6
_CLOSE = {"fp32": 1e-4, "bf16": 5e-2}
"""How far two rewards of one story may lie apart (absolute, or relative to the spread of the rewards)."""


def examine_reward_model(
    model: str,
    *,
    revision: str | None = None,
    trust_remote_code: bool = False,
    dtype: DType = "fp32",
    max_length: int | None = None,
    instances: Sequence[Instance] = (),
) -> Iterator[Finding]:
    """Load a reward model, look at it and try it out.

    Args:
        model: a local folder or a Hub id.
        revision: as for loading.
        trust_remote_code: as for loading.
        dtype: the precision that the run will have.
        max_length: the limit that the run will have; the model's own by default.
        instances: the data that will be scored; a few stories of its own where there is none.

    Raises:
        ModelError: the model's files cannot be had at all.
    """
    resolve_base(model, revision=revision)
    try:
        loaded = load_reward_model(model, revision=revision, dtype=dtype, trust_remote_code=trust_remote_code)
    except ModelError as error:
        yield Finding("fault", "loading", str(error))
        return
    yield Finding("ok", "loading", f"{type(loaded.model).__name__}, one label, all weights present")
    yield from _padding(loaded.folder, loaded.base_folder, trust_remote_code)
    yield from _head(loaded.model)
    try:
        conversation = render_many(loaded.tokenizer, [(_PREMISE, _STORIES[0])])[0]
    except ModelError as error:
        yield Finding("fault", "chat template", str(error))
        return
    yield from _template(loaded, conversation)
    yield from _begin_and_end(loaded, conversation)
    yield from _vocabulary(loaded)
    limit = max_length or loaded.max_length
    yield from _context(loaded, limit, instances)
    yield from _trial(loaded, limit, instances)


def _padding(folder: Path, base_folder: Path | None, trust: bool) -> Iterator[Finding]:
    """Look at the files: the loader has given model and tokenizer a padding token of its own choice by now."""
    from transformers import AutoConfig, AutoTokenizer

    has_tokenizer = (folder / "tokenizer_config.json").is_file()
    tokenizer = AutoTokenizer.from_pretrained(
        folder if has_tokenizer or base_folder is None else base_folder, trust_remote_code=trust
    )
    config = AutoConfig.from_pretrained(base_folder or folder, trust_remote_code=trust).get_text_config()
    stated = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    ends = {tokenizer.eos_token_id, *stated} - {None}
    harm = "tools that find the last token by its padding read the reward at the wrong place"
    if tokenizer.pad_token_id is None or config.pad_token_id is None:
        where = "tokenizer" if tokenizer.pad_token_id is None else "configuration"
        yield Finding("caution", "padding", f"the {where} has no padding token: {harm}")
    elif {tokenizer.pad_token_id, config.pad_token_id} & ends:
        yield Finding("caution", "padding", f"the padding token is the end token ({tokenizer.pad_token!r}): {harm}")
    elif tokenizer.pad_token_id != config.pad_token_id:
        ids = f"{tokenizer.pad_token_id} in the tokenizer, {config.pad_token_id} in the configuration"
        yield Finding("caution", "padding", f"two padding tokens, {ids}: {harm}")
    else:
        yield Finding("ok", "padding", f"{tokenizer.pad_token!r}, apart from the end token")


def _head(model: torch.nn.Module) -> Iterator[Finding]:
    head = getattr(model, "score", None)
    if not isinstance(head, torch.nn.Linear):
        yield Finding("note", "reward head", "a head of the model's own; it is used as it is, one story at a time")
    elif not bool(torch.isfinite(head.weight).all()):
        yield Finding("fault", "reward head", "holds weights that are no finite numbers")
    elif not bool(head.weight.any()):
        yield Finding("fault", "reward head", "all weights are 0: it was never trained")
    else:
        yield Finding("ok", "reward head", f"linear, {head.in_features} inputs, computed in fp32")


def _template(loaded: RewardModel, conversation: Conversation) -> Iterator[Finding]:
    tokenizer = loaded.tokenizer
    if not tokenizer.chat_template:
        text = "none: premise, blank line, story and the end token are used; make sure that the training did the same"
        yield Finding("caution", "chat template", text)
        return
    before = str(tokenizer.decode(list(conversation.before))).split(_PREMISE)[0]
    extra = max((part.strip() for part in before.splitlines()), key=len, default="")
    note = f"; it puts this before the premise: {extra[:60]!r}" if len(extra.split()) > 3 else ""
    yield Finding("note" if note else "ok", "chat template", f"holds premise and story once each{note}")


def _begin_and_end(loaded: RewardModel, conversation: Conversation) -> Iterator[Finding]:
    tokenizer = loaded.tokenizer
    bos = tokenizer.bos_token_id
    wanted = bos is not None and bos != tokenizer.eos_token_id and tokenizer("a")["input_ids"][:1] == [bos]
    count = conversation.ids.count(bos) if bos is not None else 0
    if count > 1 or (wanted and count == 0):
        yield Finding(
            "fault", "begin token", f"{tokenizer.bos_token!r} stands {count} times in a conversation, not once"
        )
    elif count:
        yield Finding("ok", "begin token", f"{tokenizer.bos_token!r} stands once, first")
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    ending = tokenizer.decode(list(conversation.after))
    if special.intersection(conversation.after):
        yield Finding("ok", "end token", f"a conversation ends with {ending!r}")
    else:
        text = f"a conversation ends with {ending or 'the story'!r} and no end token; the reward is read there"
        yield Finding("caution", "end token", text)


def _vocabulary(loaded: RewardModel) -> Iterator[Finding]:
    rows = len(loaded.model.get_input_embeddings().weight)  # type: ignore[arg-type]
    highest = max(loaded.tokenizer.get_vocab().values())
    if highest >= rows:
        text = f"the tokenizer gives ids up to {highest}, the model has {rows} embeddings: they do not belong together"
        yield Finding("fault", "vocabulary", text)
    else:
        yield Finding("ok", "vocabulary", f"{highest + 1} ids, {rows} embeddings")


def _context(loaded: RewardModel, limit: int | None, instances: Sequence[Instance]) -> Iterator[Finding]:
    if limit is None:
        yield Finding("note", "context", "the configuration names no longest input; give --max-length to set one")
        return
    if not instances:
        yield Finding("note", "context", f"{limit:,} tokens; give --data to see whether the stories fit")
        return
    lengths = [len(c) for i in instances for c in render_many(loaded.tokenizer, [(i.prompt, s) for s in i.stories])]
    long = sum(length > limit for length in lengths)
    if long:
        text = f"{long} of {len(lengths)} stories are longer than {limit:,} tokens, the longest has {max(lengths):,}"
        yield Finding("fault", "context", f"{text}: the run will refuse them without --truncate")
    else:
        yield Finding(
            "ok", "context", f"the longest of {len(lengths)} stories has {max(lengths):,} of {limit:,} tokens"
        )


def _trial(loaded: RewardModel, limit: int | None, instances: Sequence[Instance]) -> Iterator[Finding]:
    """Score a few stories in different company."""
    pairs = [(i.prompt, s) for i in instances for s in i.stories] or [(_PREMISE, s) for s in _STORIES]
    pairs = sorted(dict.fromkeys(pairs), key=lambda pair: len(pair[1]))
    step = max(1, len(pairs) // _MOST_STORIES)
    requests = [Request("", number, *pair) for number, pair in enumerate(pairs[::step][:_MOST_STORIES])]
    scorer = RewardModelScorer(loaded, max_length=limit, truncate="head", batch_tokens=1)
    alone, problems = _rewards(scorer, requests)
    if problems:
        yield Finding("fault", "trial", f"no reward for {len(problems)} of {len(requests)} stories: {problems[0]}")
        return
    spread = max(alone) - min(alone)
    if spread == 0.0:
        text = f"all {len(alone)} different stories get {alone[0]:g}: the head is dead, or reads the wrong token"
        yield Finding("fault", "trial", text)
        return
    yield Finding("ok", "trial", f"{len(alone)} stories, rewards from {min(alone):.4g} to {max(alone):.4g}")
    if not scorer.packed:
        yield Finding("note", "batches", "this architecture is scored one story at a time: exact, and slower")
    together = RewardModelScorer(loaded, max_length=limit, truncate="head", batch_tokens=1_000_000)
    for company in (requests, requests[::-1], requests[1:]):
        others, _ = _rewards(together, company)
        gap = max(abs(a - alone[r.candidate]) for a, r in zip(others, company, strict=True))
        if gap > _CLOSE[loaded.dtype] * max(1.0, spread):
            yield Finding("fault", "batches", f"a reward changes by {gap:.2g} with the stories beside it")
            return
    yield Finding("ok", "batches", "rewards do not depend on batch size, order or neighbours")


def _rewards(scorer: RewardModelScorer, requests: Sequence[Request]) -> tuple[list[float], list[str]]:
    """Score requests; give the rewards in their order, and why some have none."""
    rows = {row.candidate: row for batch in scorer.score(requests) for row in batch}
    problems = [str(row.detail) for row in rows.values() if row.reward is None]
    rewards = [row.reward for r in requests if (row := rows[r.candidate]).reward is not None]
    return rewards, problems
