"""Looks at a reward model before a long run: all that makes rewards wrong, or stops the run half-way, in a minute."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from storyalign.errors import ModelError
from storyalign.models.base_model import resolve_base
from storyalign.models.chat import Conversation, TooLongError, render_many
from storyalign.models.loading import DType, RewardModel, load_reward_model
from storyalign.models.packed import one_by_one
from storyalign.models.text_pairs import pair_frame
from storyalign.scoring.findings import Finding
from storyalign.scoring.options import ScoringOptions
from storyalign.scoring.reward_heads import reward_of, reward_token
from storyalign.scoring.reward_models import RewardModelScorer
from storyalign.scoring.reward_store import Request
from storyalign.scoring.run import Scorer

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
    yield from _read_at(loaded, conversation)
    yield from _vocabulary(loaded)
    limit = max_length or loaded.max_length
    yield from _context(loaded, limit, instances)
    yield from _trial(loaded, limit, instances)


def examine_writing_quality(
    model: str, *, revision: str | None = None, dtype: DType = "fp32", instances: Sequence[Instance] = ()
) -> Iterator[Finding]:
    """Load a model of WQRM's make, see whether the stories fit, and try it out; arguments as above.

    Raises:
        ModelError: the model's files cannot be had at all.
    """
    from storyalign.scoring.writing_quality import load_writing_quality

    resolve_base(model, revision=revision)
    try:
        scorer = load_writing_quality(model, revision=revision, dtype=dtype)
    except ModelError as error:
        yield Finding("fault", "loading", str(error))
        return
    yield Finding("ok", "loading", f"{type(scorer.encoder).__name__} with a regression head; premises are not read")
    try:
        scorer.refuse_too_long([Request(i.id, n, i.prompt, s) for i in instances for n, s in enumerate(i.stories)])
        yield Finding("ok" if instances else "note", "context", f"{scorer.max_length:,} tokens a paragraph")
    except TooLongError as error:
        yield Finding("fault", "context", str(error))
    yield from _spread(*_rewards(scorer, _few(instances)))


def _padding(folder: Path, base_folder: Path | None, trust: bool) -> Iterator[Finding]:
    """Look at the files: the loader has given model and tokenizer a padding token of its own choice by now."""
    from transformers import AutoTokenizer

    has_tokenizer = (folder / "tokenizer_config.json").is_file()
    tokenizer = AutoTokenizer.from_pretrained(
        folder if has_tokenizer or base_folder is None else base_folder, trust_remote_code=trust
    )
    config = json.loads(((base_folder or folder) / "config.json").read_text("utf-8"))
    config = {**config, **config.get("text_config", {})}
    pad, end = config.get("pad_token_id"), config.get("eos_token_id")
    ends = {tokenizer.eos_token_id, *(end if isinstance(end, list) else [end])} - {None}
    harm = "tools that find the last token by its padding read the reward at the wrong place"
    if tokenizer.pad_token_id is None or pad is None:
        where = "tokenizer" if tokenizer.pad_token_id is None else "configuration"
        yield Finding("caution", "padding", f"the {where} has no padding token: {harm}")
    elif {tokenizer.pad_token_id, pad} & ends:
        yield Finding("caution", "padding", f"the padding token is the end token ({tokenizer.pad_token!r}): {harm}")
    elif tokenizer.pad_token_id != pad:
        ids = f"{tokenizer.pad_token_id} in the tokenizer, {pad} in the configuration"
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
    if (pair := pair_frame(tokenizer)) is not None:
        texts = zip(pair, ("premise", "story", ""), strict=True)
        parts = [part for ids, text in texts for part in (str(tokenizer.decode(list(ids))), text) if part]
        yield Finding("note", "chat template", f"none: the tokenizer's own pair of texts is used, {' '.join(parts)}")
        return
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
    # Two in a row come from a template and a tokenizer that both add it; apart, they open the turns, as SmolLM2's do.
    doubled = any(pair == (bos, bos) for pair in pairwise(conversation.ids))
    if doubled or (wanted and count == 0):
        yield Finding(
            "fault", "begin token", f"{tokenizer.bos_token!r} stands {count} times in a conversation, not once"
        )
    elif count:
        text = "stands once, first" if count == 1 else f"opens each of {count} turns"
        yield Finding("ok", "begin token", f"{tokenizer.bos_token!r} {text}")
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    ending = tokenizer.decode(list(conversation.after))
    if special.intersection(conversation.after):
        yield Finding("ok", "end token", f"a conversation ends with {ending!r}")
    else:
        text = f"a conversation ends with {ending or 'the story'!r} and no end token"
        yield Finding("caution", "end token", text)


def _read_at(loaded: RewardModel, conversation: Conversation) -> Iterator[Finding]:
    """Find the tokens whose last states move the reward, by its gradient."""
    body = getattr(loaded.model, loaded.model.base_model_prefix, None)
    states: list[torch.Tensor] = []
    if not isinstance(body, torch.nn.Module):
        return
    ids, own = conversation.ids, list(reward_token(loaded.model.config))
    ids += own if ids[-len(own) :] != own else []
    hook = body.register_forward_hook(lambda _module, _inputs, output: states.append(output[0]))
    try:
        reward = reward_of(one_by_one(loaded.model, [torch.tensor(ids)])[0], loaded.name).sum()
    finally:
        hook.remove()
    if not reward.requires_grad or not states or not states[0].requires_grad:
        return
    slopes = torch.autograd.grad(reward, states[0], allow_unused=True)[0]
    if slopes is None or slopes.shape[:-1] != (1, len(ids)):
        return
    places = slopes[0].ne(0).any(-1).nonzero().flatten().tolist()
    if len(places) > 1:
        yield Finding("ok", "reward token", f"the reward is read at {len(places)} of {len(ids)} tokens")
    elif places:
        names = {0: "the first token", len(ids) - 1: "the last token"}
        where = names.get(places[0], f"token {places[0] + 1} of {len(ids)}")
        token = loaded.tokenizer.convert_ids_to_tokens(ids[places[0]])
        yield Finding("ok", "reward token", f"the reward is read at {where}, {token!r}")


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
    requests = _few(instances)
    scorer = RewardModelScorer(loaded, ScoringOptions(max_length=limit, truncate="head", batch_tokens=1))
    alone, problems = _rewards(scorer, requests)
    verdict = next(_spread(alone, problems))
    yield verdict
    if verdict.level == "fault":
        return
    spread = max(alone) - min(alone)
    if not scorer.packed:
        yield Finding("note", "batches", "this architecture is scored one story at a time: exact, and slower")
    together = RewardModelScorer(loaded, ScoringOptions(max_length=limit, truncate="head", batch_tokens=1_000_000))
    for company in (requests, requests[::-1], requests[1:]):
        others, _ = _rewards(together, company)
        gap = max(abs(a - alone[r.candidate]) for a, r in zip(others, company, strict=True))
        if gap > _CLOSE[loaded.dtype] * max(1.0, spread):
            yield Finding("fault", "batches", f"a reward changes by {gap:.2g} with the stories beside it")
            return
    yield Finding("ok", "batches", "rewards do not depend on batch size, order or neighbours")


def _few(instances: Sequence[Instance]) -> list[Request]:
    """Take a few stories of different length out of the data, or the built-in ones."""
    pairs = [(i.prompt, s) for i in instances for s in i.stories] or [(_PREMISE, s) for s in _STORIES]
    pairs = sorted(dict.fromkeys(pairs), key=lambda pair: len(pair[1]))
    step = max(1, len(pairs) // _MOST_STORIES)
    return [Request("", number, *pair) for number, pair in enumerate(pairs[::step][:_MOST_STORIES])]


def _spread(rewards: Sequence[float], problems: Sequence[str]) -> Iterator[Finding]:
    if problems:
        total = len(rewards) + len(problems)
        yield Finding("fault", "trial", f"no reward for {len(problems)} of {total} stories: {problems[0]}")
    elif max(rewards) == min(rewards):
        text = f"all {len(rewards)} different stories get {rewards[0]:g}: the head is dead, or reads the wrong token"
        yield Finding("fault", "trial", text)
    else:
        text = f"{len(rewards)} stories, rewards from {min(rewards):.4g} to {max(rewards):.4g}"
        yield Finding("ok", "trial", text)


def _rewards(scorer: Scorer, requests: Sequence[Request]) -> tuple[list[float], list[str]]:
    """Score requests; give the rewards in their order, and why some have none."""
    rows = {row.candidate: row for batch in scorer.score(requests) for row in batch}
    problems = [str(row.detail) for row in rows.values() if row.reward is None]
    rewards = [row.reward for r in requests if (row := rows[r.candidate]).reward is not None]
    return rewards, problems
