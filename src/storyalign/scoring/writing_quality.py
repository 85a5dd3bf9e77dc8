"""WQRM: an encoder that gives a paragraph a quality between 0 and 10; a story gets the mean of its paragraphs.

The model reads neither a premise nor a conversation. Its authors advise to score longer texts paragraph by paragraph
and to average. A paragraph is followed by a separator and the word "None", where pairs have their second text; the mean
of the paragraph's own token states goes through a small network (linear, GELU, linear, sigmoid), times ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import torch
from torch import nn

from storyalign._version import __version__
from storyalign.errors import ModelError
from storyalign.models.base_model import resolve_model
from storyalign.models.chat import TooLongError
from storyalign.models.fingerprint import folder_digest
from storyalign.models.loading import DTYPES, DType
from storyalign.records import Reward
from storyalign.scoring.reward_store import Request, row_signature
from storyalign.scoring.run import Scorer
from storyalign.text import digest, same_text

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

HEADS_FILE = "heads.pth"
"""Where WQRM keeps its regression head: tensors in PyTorch's format, read with ``weights_only``, which runs no code."""

_SECOND = "None"
_SCALE = 10.0


class WritingQualityScorer(Scorer):
    """Score stories with WQRM; see ``load_writing_quality``."""

    sees_rivals = False

    def __init__(
        self,
        name: str,
        encoder: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        head: nn.Module,
        signature: dict[str, Any],
    ):
        self.name, self.encoder, self.tokenizer, self.head = name, encoder, tokenizer, head
        self.signature = signature
        shaping = {key: value for key, value in signature.items() if key not in ("model", "storyalign")}
        self.digest = digest(orjson.dumps(shaping, option=orjson.OPT_SORT_KEYS).decode(), __version__)
        self.max_length = int(signature["max_length"])
        self._tail = [int(tokenizer.sep_token_id), *self._ids(_SECOND)]

    def refuse_too_long(self, requests: Sequence[Request]) -> None:
        """Name the stories with a paragraph beyond the limit.

        Raises:
            TooLongError: there are some.
        """
        long = [r for r in requests if any(len(p) > self.max_length for p in self._paragraphs(r.story))]
        if long:
            some = ", ".join(f"{r.id}[{r.candidate}]" for r in long[:5])
            raise TooLongError(f"{len(long)} stories have a paragraph of more than {self.max_length} tokens: {some}")

    def score(self, requests: Iterable[Request]) -> Iterator[list[Reward]]:
        """Score stories one at a time, paragraph by paragraph."""
        for request in requests:
            paragraphs = self._paragraphs(request.story)
            qualities = [self._quality(paragraph) for paragraph in paragraphs]
            reward: float | None = math.fsum(qualities) / len(qualities)
            status, detail = "scored", None
            if not math.isfinite(reward or 0.0):
                status, detail, reward = "not_finite", f"the model returned {reward}", None
            signature = row_signature(self.digest, request.prompt, request.story)
            tokens = sum(map(len, paragraphs))
            yield [Reward(request.id, request.candidate, reward, tokens, False, status, signature, detail)]  # type: ignore[arg-type]

    def _paragraphs(self, story: str) -> list[list[int]]:
        story = same_text(story)
        parts = [self._ids(line) for line in story.splitlines() if line.strip()]
        return [part for part in parts if part] or [self._ids(story) or [int(self.tokenizer.unk_token_id or 0)]]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)[
            "input_ids"
        ]
        return ids

    @torch.inference_mode()
    def _quality(self, paragraph: list[int]) -> float:
        device = next(self.encoder.parameters()).device
        ids = torch.tensor([[*paragraph, *self._tail]], device=device)
        states = self.encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
        return float(self.head(states[0, : len(paragraph)].float().mean(0)).item()) * _SCALE


def load_writing_quality(
    model: str, *, revision: str | None = None, dtype: DType = "fp32", device: str | None = None
) -> WritingQualityScorer:
    """Load WQRM: a local folder or a Hub id with an encoder in safetensors and ``heads.pth``.

    Raises:
        ModelError: a file is missing, or not what is expected.
    """
    from transformers import AutoModel, AutoTokenizer

    folder = _folder(model, revision)
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        encoder = AutoModel.from_pretrained(folder, dtype=DTYPES[dtype], use_safetensors=True).to(chosen).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ModelError(f"{folder}: cannot be loaded ({str(error).splitlines()[0]})") from error
    if tokenizer.sep_token_id is None:
        raise ModelError(f"{folder}: its tokenizer has no separator token")
    head = _head(folder / HEADS_FILE, encoder.config.hidden_size).to(chosen).eval()
    tail = len(tokenizer(_SECOND, add_special_tokens=False)["input_ids"]) + 1
    signature = {
        "kind": "reward_model",
        "model": model,
        "revision": revision,
        "head": "writing_quality",
        "unit": "paragraph",
        "weights": folder_digest(folder),
        "heads": digest((folder / HEADS_FILE).read_bytes().hex()),
        "dtype": dtype,
        "max_length": encoder.config.max_position_embeddings - tail,
        "storyalign": __version__,
    }
    return WritingQualityScorer(model, encoder, tokenizer, head, signature)


def _folder(model: str, revision: str | None) -> Path:
    folder = resolve_model(model, revision=revision)
    if not (folder / HEADS_FILE).is_file() and not Path(model).expanduser().is_dir():
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

        try:
            hf_hub_download(model, HEADS_FILE, revision=revision)
        except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
            raise ModelError(f"{model}: {HEADS_FILE} cannot be had ({type(error).__name__})") from error
    if not (folder / HEADS_FILE).is_file():
        raise ModelError(f"{folder}: no {HEADS_FILE} with the regression head")
    return folder


def _head(path: Path, size: int) -> nn.Module:
    head = nn.Sequential(nn.Dropout(0.1), nn.Linear(size, size // 2), nn.GELU(), nn.Linear(size // 2, 1), nn.Sigmoid())
    try:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        head.load_state_dict(stored["regression_head"])
    except Exception as error:  # an unpickler raises anything on a file that is none
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(f"{path}: holds no regression head ({reason})") from error
    return head.float()
