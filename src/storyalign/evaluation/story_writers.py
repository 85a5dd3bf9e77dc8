"""Who writes stories to choose from: a chat endpoint, or a causal language model on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from storyalign._version import __version__
from storyalign.errors import MissingExtraError, ModelError
from storyalign.evaluation.drafts import Draft, Written
from storyalign.llm.budget import Budget, estimate_tokens
from storyalign.llm.client import Call, Client
from storyalign.llm.endpoint import Endpoint
from storyalign.llm.prompts import load_prompt, writing_request
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.story_replies import read_story
from storyalign.models.fingerprint import folder_digest
from storyalign.settings import Count, checked, from_entry, read_recipe
from storyalign.text import digest

TRIES = 3
"""Replies to ask for, at most, while they are cut, refused or hold no story; each with another seed."""

SEEDS = 2**31
"""Seeds stay below this: some servers take no larger ones."""

_SEED_STEP = 1_000_003
"""Between the tries of a draft, so that no try repeats the seed of another draft of its premise."""


def seed_of(base: int, draft: Draft, attempt: int) -> int:
    """Return the seed of a draft's try, counted from 0: each draft of a premise and each try has its own."""
    return (base + draft.number + attempt * _SEED_STEP) % SEEDS


def _read(draft: Draft, reply: str, seed: int | None, reply_tokens: int | None) -> Written:
    """Read the story out of a writer's reply; a reply that holds none is a failure with its reason."""
    try:
        return Written(draft, read_story(reply), None, seed, reply_tokens)
    except UnparsedReply as error:
        return Written(draft, None, str(error), seed, reply_tokens)


def _asked(words: int | None) -> dict[str, Any]:
    """Return what both writers' facts say of the request."""
    prompt = load_prompt("write_story") if words is not None else None
    facts = {"words": words, "prompt": prompt and prompt.name, "prompt_digest": prompt and prompt.digest}
    return {**facts, "storyalign": __version__}


@checked
@dataclass(frozen=True, slots=True)
class WriterRecipe:
    """What to have written (``recipes/writers/*.yaml``)."""

    writer: Endpoint
    n: Count = 16
    """Stories a premise."""
    words: Count | None = None
    """The length to ask for; None sends the premise as it is."""

    def changed(self, *, n: int | None, words: int | None, url: str | None, model: str | None) -> WriterRecipe:
        """Return the recipe with the options of the command line."""
        writer = replace(self.writer, url=url or self.writer.url, model=model or self.writer.model)
        return WriterRecipe(writer, n or self.n, words if words is not None else self.words)


def read_writer_recipe(path: str | Path) -> WriterRecipe:
    """Read a recipe.

    Raises:
        RecipeError: the file cannot be read, or a setting is unknown, missing or wrong.
    """
    return read_recipe(path, lambda content: from_entry(WriterRecipe, content))


class EndpointWriter:
    """Asks an endpoint for stories.

    Args:
        endpoint: where and how; a temperature above 0 makes the drafts of one premise differ.
        words: the length to ask for; None sends the premise alone.
        max_cost: US dollars that this run may spend; None means no limit.

    Raises:
        EndpointError: the key's variable is not set.
        RecipeError: a cost limit without a known price.
    """

    def __init__(self, endpoint: Endpoint, words: int | None, *, max_cost: float | None = None):
        self.endpoint, self.words = endpoint, words
        self.client = Client(endpoint, Budget(max_cost, endpoint.known_price))
        self.name = endpoint.model
        own = {name: getattr(endpoint, name) for name in ("model", "temperature", "seed", "max_tokens")}
        self.facts: dict[str, Any] = {**own, **_asked(words)}
        self.digest = digest(endpoint.settings_digest(), str(words), self.facts["prompt_digest"] or "")

    def estimate(self, drafts: Iterable[Draft]) -> tuple[int, int, float | None]:
        """Return what drafts take at most, all tries counted: calls, reply tokens, US dollars or None."""
        prompts = [TRIES * estimate_tokens(writing_request(draft.premise.text, self.words)) for draft in drafts]
        calls = TRIES * len(prompts)
        replies, price = calls * self.endpoint.max_tokens, self.endpoint.known_price
        return calls, replies, None if price is None else price.cost(sum(prompts), replies)

    def write(self, drafts: Iterable[Draft]) -> Iterator[Written]:
        """Write drafts and yield each once: its story as it comes, its failure after the last try.

        A reply that is cut, refused or holds no story is asked for again with another seed, at most ``TRIES`` times.

        Raises:
            EndpointError: no call can succeed, or too many failed in a row.
        """
        left, failed = list(drafts), dict[str, Written]()
        for attempt in range(TRIES):
            for written, again in self._try(left, attempt):
                failed.pop(written.draft.id, None)
                if again:
                    failed[written.draft.id] = written
                else:
                    yield written
            left = [draft for draft in left if draft.id in failed]
        yield from failed.values()

    def _try(self, drafts: list[Draft], attempt: int) -> Iterator[tuple[Written, bool]]:
        """Ask once for each draft; yield what came and whether another try may do better."""
        base = self.endpoint.seed  # None leaves seeds to the server
        asked = {d.id: (d, None if base is None else seed_of(base, d, attempt)) for d in drafts}
        calls = (
            Call(
                draft.id,
                [{"role": "user", "content": writing_request(draft.premise.text, self.words)}],
                sampling=replace(self.endpoint.sampling, seed=seed),
            )
            for draft, seed in asked.values()
        )
        with closing(self.client.ask(calls)) as answers:
            for call, answer in answers:
                draft, seed = asked[call.id]
                if answer.reply is None:
                    yield Written(draft, None, answer.failure, seed), answer.unusable
                else:
                    written = _read(draft, answer.reply.text, seed, answer.reply.reply_tokens)
                    yield written, written.story is None


class LocalWriter:
    """Samples stories from a model in safetensors, one draft at a time; code that comes with a model is never run.

    Args:
        model: a folder or a Hub id.
        words: the length to ask for; None sends the premise alone.
        temperature: of the sampling, above 0.
        max_tokens: most tokens of a story; one that is not finished by then counts as failed.
        seed: draft ``k`` of a premise gets ``seed + k``.

    Raises:
        ModelError: the model cannot be loaded.
    """

    def __init__(self, model: str, words: int | None, *, temperature: float = 1.0, max_tokens: int, seed: int = 20):
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise MissingExtraError("train", "transformers") from error
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
            self._model: Any = AutoModelForCausalLM.from_pretrained(model, use_safetensors=True).eval()
        except (OSError, ValueError) as error:
            raise ModelError(f"{model}: cannot be loaded to write ({' '.join(str(error).split())[:200]})") from error
        self._torch: Any = torch
        self._model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.words, self.temperature, self.max_tokens, self.seed = words, temperature, max_tokens, seed
        folder = Path(model) if Path(model).is_dir() else None
        self.name = folder.name if folder else model
        own = {"model": self.name, "weights": folder and folder_digest(folder), "temperature": temperature}
        self.facts: dict[str, Any] = {**own, "seed": seed, "max_tokens": max_tokens, **_asked(words)}
        self.digest = digest(repr(sorted(self.facts.items())))

    def write(self, drafts: Iterable[Draft]) -> Iterator[Written]:
        """Write drafts one after another; what is cut or holds no story is sampled again, at most ``TRIES`` times."""
        for draft in drafts:
            for attempt in range(TRIES):
                written = self._one(draft, seed_of(self.seed, draft, attempt))
                if written.story is not None:
                    break
            yield written

    def _one(self, draft: Draft, seed: int) -> Written:
        text = writing_request(draft.premise.text, self.words)
        if self._tokenizer.chat_template:
            ids = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": text}], add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        else:
            ids = self._tokenizer(text + "\n\n", return_tensors="pt")
        ids = {name: value.to(self._model.device) for name, value in ids.items() if name != "token_type_ids"}
        self._torch.manual_seed(seed)
        with self._torch.inference_mode():
            output = self._model.generate(
                **ids,
                do_sample=True,
                temperature=self.temperature,
                top_k=0,
                max_new_tokens=self.max_tokens,
                pad_token_id=self._tokenizer.pad_token_id or self._tokenizer.eos_token_id,
            )
        new = output[0][ids["input_ids"].shape[1] :]
        ends = self._model.generation_config.eos_token_id
        if not len(new) or int(new[-1]) not in (ends if isinstance(ends, list) else [ends]):
            return Written(draft, None, f"the story was cut at {self.max_tokens} tokens", seed, len(new))
        return _read(draft, self._tokenizer.decode(new, skip_special_tokens=True), seed, len(new))
