"""Stories from a causal language model on this machine, for those without an endpoint; one draft at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from storyalign._version import __version__
from storyalign.errors import MissingExtraError, ModelError
from storyalign.evaluation.drafts import TRIES, Draft, Written, read_draft, seed_of
from storyalign.llm.prompts import load_prompt, writing_request
from storyalign.models.fingerprint import folder_digest
from storyalign.text import digest


class LocalWriter:
    """Samples stories from a model in safetensors; code that comes with a model is never run.

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
        self.name = Path(model).name if Path(model).is_dir() else model
        prompt = load_prompt("write_story")
        self.facts: dict[str, Any] = {
            "model": self.name,
            "weights": folder_digest(Path(model)) if Path(model).is_dir() else None,
            "temperature": temperature,
            "seed": seed,
            "max_tokens": max_tokens,
            "words": words,
            "prompt": prompt.name if words is not None else None,
            "prompt_digest": prompt.digest if words is not None else None,
            "storyalign": __version__,
        }
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
        torch = self._torch
        text = writing_request(draft.premise.text, self.words)
        if self._tokenizer.chat_template:
            ids = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": text}], add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        else:
            ids = self._tokenizer(text + "\n\n", return_tensors="pt")
        ids = {name: value.to(self._model.device) for name, value in ids.items() if name != "token_type_ids"}
        torch.manual_seed(seed)
        with torch.inference_mode():
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
        finished = len(new) and int(new[-1]) in (ends if isinstance(ends, list) else [ends])
        if not finished:
            return Written(draft, None, f"the story was cut at {self.max_tokens} tokens", seed, len(new))
        return read_draft(draft, self._tokenizer.decode(new, skip_special_tokens=True), seed, len(new))
