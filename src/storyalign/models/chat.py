"""The one chat renderer: training and scoring turn a premise and a story into the same token ids.

A conversation is user = premise, assistant = story, in the model's own chat template and with whatever default system
prompt that template adds. The template is rendered once per tokenizer, around two sentinels; its three pieces are
tokenised as a template, the two texts as plain text. So a story that holds ``<|im_end|>``, ``</think>`` or ``[INST]``
cannot end its own turn, and templates that edit the assistant's text (Qwen3 removes reasoning from it) cannot touch it.

Both texts are first put into the form of ``text.same_text``. For texts that have it and hold no such markers, the ids
are those of ``tokenizer.apply_chat_template``. A tokenizer without a template gets premise, blank line, story,
end-of-text token; an encoder's gets its own pair of texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from storyalign.errors import ModelError
from storyalign.models.text_pairs import pair_frame
from storyalign.text import TEXT_RULE, digest, same_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Keep = Literal["head", "tail", "middle"]
"""Which part of a story stays when it is too long."""

_CALL = re.compile(r"\bstrftime_now\s*\(")
_ASKS_FOR_TODAY = re.compile(_CALL.pattern + r"""\s*("[^"\\]*"|'[^'\\]*')\s*\)""")
_PREMISE, _STORY = "STORYALIGNpremise", "STORYALIGNstory"
_TODAY = date(2024, 7, 26)  # the default date of the Llama 3 templates: ids must not change with the calendar
FIXED_DATE = _TODAY.strftime("%d %b %Y")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One rendered conversation in three parts, so that an over-long story can be cut without touching the rest."""

    before: tuple[int, ...]
    """Token ids up to the story: template and premise."""
    story: tuple[int, ...]
    after: tuple[int, ...]
    """Token ids after the story: the end of the turn."""

    def __len__(self) -> int:
        return len(self.before) + len(self.story) + len(self.after)

    @property
    def ids(self) -> list[int]:
        """All token ids, in order."""
        return [*self.before, *self.story, *self.after]


class TooLongError(ModelError):
    """A conversation does not fit, and cutting its story could not make it fit."""


def render(tokenizer: PreTrainedTokenizerBase, prompt: str, story: str) -> list[int]:
    """Render one conversation to token ids; see ``render_many``."""
    return render_many(tokenizer, [(prompt, story)])[0].ids


def render_many(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[tuple[str, str]]) -> list[Conversation]:
    """Render (premise, story) pairs; each different text is tokenised once, all in one call.

    Raises:
        ModelError: the tokenizer's chat template cannot hold a user and an assistant turn.
    """
    frame = _frame(tokenizer)
    pairs = [(same_text(prompt), same_text(story)) for prompt, story in pairs]
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    tokens = dict(zip(texts, frame.plain_ids(tokenizer, texts), strict=True))
    return [
        Conversation((*frame.opening, *tokens[prompt], *frame.middle), tokens[story], frame.closing)
        for prompt, story in pairs
    ]


def cut(conversation: Conversation, max_length: int, keep: Keep = "head") -> Conversation:
    """Shorten a conversation to ``max_length`` tokens by cutting its story alone; template and premise stay whole.

    Args:
        conversation: what ``render_many`` gave.
        max_length: the most tokens that may remain.
        keep: the part of the story that stays.

    Raises:
        TooLongError: template and premise alone leave no room for a single token of the story.
    """
    excess = len(conversation) - max_length
    if excess <= 0:
        return conversation
    room = len(conversation.story) - excess
    if room < 1:
        fixed = len(conversation) - len(conversation.story)
        raise TooLongError(
            f"the premise with its template takes {fixed} tokens, which leaves no room for a story "
            f"within {max_length}; raise --max-length or shorten the premise"
        )
    start = {"head": 0, "tail": excess, "middle": excess // 2}[keep]
    return Conversation(conversation.before, conversation.story[start : start + room], conversation.after)


def template_digest(tokenizer: PreTrainedTokenizerBase) -> str:
    """Hash what shapes the ids beside the texts: the template's three pieces, as text and ids, and the text rule."""
    frame = _frame(tokenizer)
    ids = (" ".join(map(str, part)) for part in (frame.opening, frame.middle, frame.closing))
    return digest(TEXT_RULE, *frame.pieces, *ids)


def with_fixed_date(template: str, name: str) -> str:
    """Put the fixed date where a chat template asks for today's, so that each day renders the same ids.

    Args:
        template: of a tokenizer.
        name: of the model, for the error.

    Raises:
        ModelError: the template makes up the date's format as it runs.
    """
    fixed = _ASKS_FOR_TODAY.sub(lambda call: repr(_TODAY.strftime(call[1][1:-1])), template)
    if _CALL.search(fixed):
        raise ModelError(
            f"{name}: its chat template asks for today's date in a format that is no plain text, so rewards would "
            "change with the calendar; write the date into chat_template.jinja"
        )
    return fixed


def input_format(tokenizer: PreTrainedTokenizerBase) -> Literal["chat", "pair", "text"]:
    """Return how premise and story are put together: chat template, an encoder's pair of texts, or plain text."""
    if tokenizer.chat_template:
        return "chat"
    return "text" if pair_frame(tokenizer) is None else "pair"


@dataclass(frozen=True, slots=True)
class _Frame:
    """What a tokenizer puts around the two texts, and how it reads plain text."""

    source: Any
    """The template that it was made from: a changed one makes a new frame."""
    pieces: tuple[str, str, str]
    opening: tuple[int, ...]
    middle: tuple[int, ...]
    closing: tuple[int, ...]
    markers: re.Pattern[str] | None
    anchor: str
    """Put before a text where the tokenizer would otherwise invent a blank at its start; its ids are removed again."""

    def plain_ids(self, tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[tuple[int, ...]]:
        parts = [self._split(text) for text in texts]
        flat = [self.anchor + part for group in parts for part in group]
        if not flat:
            return []
        encoded = iter(_encode(tokenizer, flat, split_special_tokens=True))
        skip = len(_encode(tokenizer, [self.anchor], split_special_tokens=True)[0]) if self.anchor else 0
        return [tuple(i for _ in group for i in next(encoded)[skip:]) for group in parts]

    def _split(self, text: str) -> list[str]:
        """Cut a text inside each marker that the tokenizer would read as one token, after its first character."""
        if self.markers is None:
            return [text]
        cuts = [0]
        while found := self.markers.search(text, cuts[-1]):
            cuts.append(found.start() + 1)
        return [text[a:b] for a, b in zip(cuts, [*cuts[1:], None], strict=True)]


_frames: WeakKeyDictionary[Any, _Frame] = WeakKeyDictionary()


def _frame(tokenizer: PreTrainedTokenizerBase) -> _Frame:
    source = (tokenizer.chat_template, tokenizer.bos_token, tokenizer.eos_token, len(tokenizer))
    known = _frames.get(tokenizer)
    if known is not None and known.source == source:
        return known
    pair = pair_frame(tokenizer)
    if pair is not None:
        opening, middle, closing = (" ".join(tokenizer.convert_ids_to_tokens(list(part))) for part in pair)
        frame = _Frame(source, (opening, middle, closing), *pair, _markers(tokenizer), anchor="")
    else:
        pieces = _pieces(tokenizer)
        before, between, after = (tuple(ids) for ids in _encode(tokenizer, list(pieces)))
        before = _one_bos(tokenizer, before)
        frame = _Frame(source, pieces, before, between, after, _markers(tokenizer), _anchor(tokenizer))
    _frames[tokenizer] = frame
    return frame


def _pieces(tokenizer: PreTrainedTokenizerBase) -> tuple[str, str, str]:
    if not tokenizer.chat_template:
        return "", "\n\n", str(tokenizer.eos_token or "")
    messages = [{"role": "user", "content": _PREMISE}, {"role": "assistant", "content": _STORY}]
    name = tokenizer.name_or_path
    try:
        template = with_fixed_date(tokenizer.get_chat_template(), name)
        text = str(
            tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False, date_string=FIXED_DATE)
        )
    except ModelError:
        raise
    except Exception as error:  # a template is a program of its own; whatever it raises, it cannot be used
        raise ModelError(f"{name}: its chat template fails on a user and an assistant turn ({error})") from error
    if text.count(_PREMISE) != 1 or text.count(_STORY) != 1 or text.index(_PREMISE) > text.index(_STORY):
        raise ModelError(f"{name}: its chat template does not hold premise and story once each, in this order")
    opening, rest = text.split(_PREMISE)
    middle, closing = rest.split(_STORY)
    return opening, middle, closing


def _one_bos(tokenizer: PreTrainedTokenizerBase, opening: tuple[int, ...]) -> tuple[int, ...]:
    """Add the begin-of-text token where the tokenizer wants one and the template has none."""
    bos = tokenizer.bos_token_id
    wanted = bos is not None and tokenizer("a")["input_ids"][:1] == [bos]
    return (bos, *opening) if wanted and opening[:1] != (bos,) else opening


def _markers(tokenizer: PreTrainedTokenizerBase) -> re.Pattern[str] | None:
    """Match every added token, special or not; runs of blanks are ordinary text, single characters cannot be split."""
    added = {str(token) for token in tokenizer.added_tokens_decoder.values()}
    texts = sorted((t for t in added if len(t) > 1 and t.strip()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, texts))) if texts else None


def _anchor(tokenizer: PreTrainedTokenizerBase) -> str:
    alone, after_newline, newline = _encode(tokenizer, ["a", "\na", "\n"])
    return "" if alone == after_newline[len(newline) :] else "\n"


def _encode(
    tokenizer: PreTrainedTokenizerBase, texts: list[str], *, split_special_tokens: bool = False
) -> list[list[int]]:
    ids: list[list[int]] = tokenizer(
        texts,
        add_special_tokens=False,
        split_special_tokens=split_special_tokens,
        return_attention_mask=False,
        verbose=False,  # no warning about the model's length: over-long stories are handled by name
    )["input_ids"]
    return ids
