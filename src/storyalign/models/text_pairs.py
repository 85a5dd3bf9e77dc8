"""Premise and story as the text pair of an encoder's own tokenizer: ``[CLS] premise [SEP] story [SEP]`` and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from storyalign.errors import ModelError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class PairFrame(NamedTuple):
    """The special tokens that a tokenizer puts around two texts."""

    opening: tuple[int, ...]
    middle: tuple[int, ...]
    closing: tuple[int, ...]


def pair_frame(tokenizer: PreTrainedTokenizerBase) -> PairFrame | None:
    """Return what an encoder's tokenizer puts around a pair; None where a chat template or plain text is the format.

    Encoders are told by their tokenizer: it has a token for classification and one for separation, and no template.
    """
    if tokenizer.chat_template or tokenizer.cls_token_id is None or tokenizer.sep_token_id is None:
        return None
    whole: list[int] = tokenizer("a", "b")["input_ids"]
    first, second = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in "ab")
    start = _find(whole, first, 0)
    end = start + len(first)
    again = _find(whole, second, end)
    return PairFrame(tuple(whole[:start]), tuple(whole[end:again]), tuple(whole[again + len(second) :]))


def pass_token_types(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Pass the tokenizer's token types with every pair of texts to an encoder that tells texts apart by them.

    Raises:
        ModelError: it is not known how this model reads the types that its tokenizer gives.
    """
    if pair_frame(tokenizer) is None:
        return
    pair, separator = tokenizer("a", "b"), tokenizer.sep_token_id
    ids, types = pair["input_ids"], pair.get("token_type_ids", [])
    kinds = getattr(model.config, "type_vocab_size", None)
    if not any(types) or (kinds is not None and kinds < 2):
        return
    body = getattr(model, model.base_model_prefix, None)
    if kinds is None or body is None or types != [ids[:place].count(separator) for place in range(len(ids))]:
        raise ModelError(
            f"{tokenizer.name_or_path}: its tokenizer gives token types that {type(model).__name__} is not known to "
            "read; give the tokenizer a chat template, or choose another model"
        )

    def add(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given: torch.Tensor = args[0] if args else kwargs["input_ids"]
        if kwargs.get("token_type_ids") is None:
            # How many separators stand before each token; the texts hold none, as their markers are plain text.
            separators = (given == separator).long()
            kwargs["token_type_ids"] = separators.cumsum(-1) - separators
        return args, kwargs

    body.register_forward_pre_hook(add, with_kwargs=True)


def _find(whole: list[int], part: list[int], start: int) -> int:
    return next(i for i in range(start, len(whole)) if whole[i : i + len(part)] == part)
