"""Tiny random reward models with a tokenizer of their own, made on the spot: real classes, real files, no download."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertTokenizer,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DebertaV2Tokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    MistralConfig,
    MistralForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    RobertaTokenizer,
)

torch.set_num_threads(1)  # threads would spend more time waiting for each other than on models of this size

# fmt: off
WORDS = [
    "the", "sea", "was", "calm", "and", "a", "keeper", "climbed", "his", "stair", "again", "before", "dawn", "while",
    "gulls", "argued", "over", "bread", "on", "wet", "stones", "she", "kept", "every", "letter", "in", "tin", "box",
    "nobody", "asked", "why", "winter", "came", "early", "that", "year", "rain", "fell", "old", "river", "town",
    "bridge", "lantern", "window", "mother", "captain", "silence", "promise", "garden", "Ada,", "Tom.", "“No,”",
]
# fmt: on

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<pad>"]


def trl_template(name: str) -> str:
    """Read one of the chat templates that trl ships, such as ``llama3`` or ``qwen3``."""
    import trl

    return (Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")


def words(count: int, seed: int) -> str:
    """Make a text of ``count`` words; another seed gives another text."""
    pick = random.Random(seed)
    return " ".join(pick.choice(WORDS) for _ in range(count))


@cache
def _trained(special: tuple[str, ...]) -> str:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        [" ".join(WORDS), " user assistant system"] * 2,
        trainers.BpeTrainer(
            vocab_size=512,
            special_tokens=list(special),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return str(backend.to_str())


def tiny_tokenizer(
    *,
    template: str | None = CHATML,
    pad: str | None = "<pad>",
    eos: str = "<|im_end|>",
    bos: str | None = None,
    padding_side: str = "right",
    special: tuple[str, ...] = tuple(SPECIAL),
    added: tuple[str, ...] = (),
) -> PreTrainedTokenizerFast:
    """Make a byte-level tokenizer; ``added`` are tokens that are added but not special, as Qwen3's ``</think>`` is."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained(special)),
        eos_token=eos,
        bos_token=bos,
        pad_token=pad,
        padding_side=padding_side,
        additional_special_tokens=[s for s in special if s not in (eos, bos, pad)],
    )
    tokenizer.add_tokens(list(added))
    tokenizer.chat_template = template
    return tokenizer


def tiny_model(kind: str, vocabulary: int, **config: Any) -> Any:
    """Make a random model: ``llama``, ``qwen3``, ``sliding`` (Mistral, window 16), or ``llama-lm`` (no reward head)."""
    torch.manual_seed(20)
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 12,
        "max_position_embeddings": 16384,
        "initializer_range": 0.2,  # large enough for rewards that differ
        "num_labels": 1,
        **config,
    }
    if kind == "llama":
        return LlamaForSequenceClassification(LlamaConfig(**shape)).eval()
    if kind == "qwen3":
        return Qwen3ForSequenceClassification(Qwen3Config(**shape)).eval()
    if kind == "sliding":
        return MistralForSequenceClassification(MistralConfig(**{"sliding_window": 16, **shape})).eval()
    if kind == "llama-lm":
        return LlamaForCausalLM(LlamaConfig(**shape)).eval()
    raise ValueError(kind)


def tiny_model_folder(
    folder: Path, kind: str = "llama", *, config: dict[str, Any] | None = None, **tokenizer_options: Any
) -> Path:
    """Save a tiny model of ``kind`` with its tokenizer; options are those of ``tiny_model`` and ``tiny_tokenizer``."""
    tokenizer = tiny_tokenizer(**tokenizer_options)
    settings = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id, **(config or {})}
    tiny_model(kind, len(tokenizer), **settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


ENCODERS = ("bert", "deberta", "roberta")


def tiny_encoder_folder(folder: Path, kind: str, **config: Any) -> Path:
    """Save a tiny encoder of ``kind`` (one of ``ENCODERS``) with a reward head and its own kind of tokenizer."""
    torch.manual_seed(21)
    letters = [chr(code) for code in range(33, 127)]
    shape: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "initializer_range": 0.3,
        "num_labels": 1,
        "max_position_embeddings": 514 if kind == "roberta" else 512,
        **config,
    }
    tokenizer: Any
    if kind == "bert":
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters), *WORDS]
        tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate(dict.fromkeys(pieces))})
        shape |= {"vocab_size": len(tokenizer), "pad_token_id": 0}
        model = BertForSequenceClassification(BertConfig(**shape))
    elif kind == "deberta":
        scored = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "▁", *letters, *(f"▁{word}" for word in WORDS)]
        tokenizer = DebertaV2Tokenizer(vocab=[(piece, -float(i > 3)) for i, piece in enumerate(dict.fromkeys(scored))])
        shape |= {"vocab_size": len(tokenizer), "pad_token_id": 0, "relative_attention": True}
        shape |= {"position_biased_input": False, "type_vocab_size": 0, "pos_att_type": ["p2c", "c2p"]}
        model = DebertaV2ForSequenceClassification(DebertaV2Config(**shape))
    else:
        byte_level = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "<mask>"]
        tokenizer = RobertaTokenizer(vocab={piece: i for i, piece in enumerate(byte_level)}, merges=[])
        shape |= {"vocab_size": len(tokenizer), "pad_token_id": 1, "type_vocab_size": 1}
        model = RobertaForSequenceClassification(RobertaConfig(**shape))
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
