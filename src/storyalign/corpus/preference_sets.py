"""Public preference sets, as rows that ``clean_pairs`` and ``clean_instances`` take: one reader for each format."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from storyalign.corpus.numbers import read_optional_number
from storyalign.corpus.table_files import read_table
from storyalign.corpus.tally import DROPPED
from storyalign.corpus.writing_prompts import part_tag
from storyalign.files import Line
from storyalign.records import DIMENSIONS, BadRow

Row = dict[str, Any]

GONE = "a comment that is gone"


def read_litbench_train(path: str | Path) -> Iterator[Line]:
    """Read LitBench-Train: two stories for one prompt of r/WritingPrompts, the first with more upvotes.

    One row (Parquet)::

        {"prompt": "[WP] The last lighthouse keeper gets a letter addressed to the first one.",
         "chosen_story": "The envelope wasn't damp. ...", "rejected_story": "It was raining when ...",
         "chosen_timestamp": "2016-08-22 17:10:13", "rejected_timestamp": "2016-08-22 18:06:42",
         "chosen_upvotes": 211, "rejected_upvotes": 9}

    Origin: https://huggingface.co/datasets/SAA-Lab/LitBench-Train
    """
    return _rows(path, _litbench_train)


class Comment(NamedTuple):
    """A comment that was found again by its id."""

    prompt: str
    story: str
    upvotes: float | None = None


FindComment = Callable[[str], Comment | None]
"""Gives the comment of an id, None where it is gone."""


def read_litbench_test(path: str | Path, find: FindComment) -> Iterator[Line]:
    """Read LitBench-Test, which holds ids alone; the texts come from whoever has them.

    One row (Parquet)::

        {"chosen_comment_id": "d6qz1ab", "rejected_comment_id": "d6r0f3c"}

    Origin: https://huggingface.co/datasets/SAA-Lab/LitBench-Test

    Args:
        path: the file.
        find: gives a comment; ``comments_in`` makes one for a file of comments.

    Yields:
        Rows; a pair with a comment that is gone is dropped for that reason.
    """

    def row(raw: Mapping[str, Any]) -> Row:
        chosen, rejected = (find(_text(raw, f"{name}_comment_id")) for name in ("chosen", "rejected"))
        if chosen is None or rejected is None:
            return {DROPPED: GONE}
        return {
            "id": f"{raw['chosen_comment_id']}-{raw['rejected_comment_id']}",
            "prompt": chosen.prompt,
            "chosen": chosen.story,
            "rejected": rejected.story,
            "chosen_writer": "human",
            "rejected_writer": "human",
            "chosen_engagement": chosen.upvotes,
            "rejected_engagement": rejected.upvotes,
        }

    return _rows(path, row)


def litbench_test_ids(paths: Iterable[str | Path]) -> set[str]:
    """Collect the ids of all comments that LitBench-Test asks for.

    Raises:
        RowError: a row has no such id.
    """
    ids: set[str] = set()
    for line in itertools.chain.from_iterable(map(read_table, paths)):
        try:
            ids.update(_text(line.row, f"{name}_comment_id") for name in ("chosen", "rejected"))
        except BadRow as error:
            raise line.error(str(error)) from error
    return ids


def comments_in(path: str | Path, wanted: Iterable[str] | None = None) -> FindComment:
    """Read a file of comments and give what finds them by id.

    One row (JSONL, CSV or Parquet), as in dumps of Reddit, with the title of the post beside it::

        {"id": "d6qz1ab", "body": "The envelope wasn't damp. ...", "score": 211, "link_title": "[WP] The last ..."}

    Args:
        path: the file.
        wanted: keep these ids alone in memory; all of them by default.

    Raises:
        RowError: a row lacks ``id``, ``body`` or ``link_title``.
    """
    ids, comments = None if wanted is None else frozenset(wanted), dict[str, Comment]()
    for line in read_table(path):
        try:
            name = _text(line.row, "id").removeprefix("t1_")
            if ids is None or name in ids:
                score = read_optional_number(line.row.get("score"), "column score")
                prompt = part_tag(_text(line.row, "link_title"))["prompt"]
                comments[name] = Comment(prompt, str(line.row.get("body") or ""), score)
        except BadRow as error:
            raise line.error(str(error)) from error
    return lambda name: comments.get(name.removeprefix("t1_"))


def read_rewardbench2(path: str | Path) -> Iterator[Line]:
    """Read RewardBench 2: one or more good answers and several bad ones; as groups, for ``clean_instances``.

    One row (Parquet)::

        {"id": "271", "prompt": "Write a story about a lighthouse.", "chosen": ["The envelope ..."],
         "rejected": ["It ...", "A ...", "Once ..."], "num_correct": 1, "num_incorrect": 3, "total_completions": 4,
         "models": ["author-a", "author-b", "author-c", "author-d"], "subset": "Focus",
         "additional_metadata": {"category": null, "correct": null, "index": null, "instruction_id_list": null,
                                 "label": null, "method": null, "models": null, "prompt_norm": null,
                                 "subcategory": null, "valid": null}}

    Origin: https://huggingface.co/datasets/allenai/reward-bench-2

    Yields:
        One group for each good answer; where there are several (subset Ties), its id ends with a number.
    """
    for line in read_table(path):
        try:
            yield from (line._replace(row=row) for row in _rewardbench2(line.row))
        except BadRow as error:
            raise line.error(str(error)) from error


def read_ultrafeedback(path: str | Path) -> Iterator[Line]:
    """Read ultrafeedback_binarized: chat messages, the chosen answer with the higher score.

    One row (Parquet)::

        {"prompt": "Write a story about a lighthouse.", "prompt_id": "8c27...",
         "chosen": [{"content": "Write a story ...", "role": "user"},
                    {"content": "The envelope ...", "role": "assistant"}],
         "rejected": [{"content": "Write a story ...", "role": "user"}, {"content": "It ...", "role": "assistant"}],
         "messages": [...], "score_chosen": 8.5, "score_rejected": 6.0}

    Origin: https://huggingface.co/datasets/HuggingFaceH4/ultrafeedback_binarized

    Yields:
        Rows with both scores; pairs with equal ones are dropped for that reason.
    """
    return _rows(path, _ultrafeedback)


def read_writing_preference_bench(path: str | Path) -> Iterator[Line]:
    """Read the pairs of WritingPreferenceBench: an annotated better and worse text for one request, English or Chinese.

    One row (JSON or Parquet); ``chosen`` and ``rejected`` may be plain texts as well::

        {"prompt": "写一篇关于灯塔的小说。", "chosen": {"text": "信封没有受潮。……", "score": 3, "length": 445},
         "rejected": {"text": "很久以前……", "score": 1, "length": 289}, "genre": "fiction", "language": "zh"}

    Origin: https://github.com/WritingPreferenceBench/Writing-Preference-Bench and
    https://huggingface.co/datasets/m-a-p/Writing-Preference-Bench
    """
    return _rows(path, _writing_preference_bench)


def read_trl(path: str | Path) -> Iterator[Line]:
    """Read TRL's preference format: plain texts or chat messages, with the prompt apart or within both conversations.

    One row (JSONL or Parquet), in each of the three forms::

        {"prompt": "A lighthouse.", "chosen": "The envelope ...", "rejected": "It ..."}
        {"prompt": [{"role": "user", "content": "A lighthouse."}],
         "chosen": [{"role": "assistant", "content": "The envelope ..."}],
         "rejected": [{"role": "assistant", "content": "It ..."}]}
        {"chosen": [{"role": "user", "content": "A lighthouse."}, {"role": "assistant", "content": "The envelope ..."}],
         "rejected": [{"role": "user", "content": "A lighthouse."}, {"role": "assistant", "content": "It ..."}]}

    Origin: https://huggingface.co/docs/trl/dataset_formats#preference
    """
    return _rows(path, _trl)


def _rows(path: str | Path, read: Callable[[Mapping[str, Any]], Row]) -> Iterator[Line]:
    for line in read_table(path):
        try:
            yield line._replace(row=read(line.row))
        except BadRow as error:
            raise line.error(str(error)) from error


def _litbench_train(raw: Mapping[str, Any]) -> Row:
    return {
        "prompt": part_tag(_text(raw, "prompt"))["prompt"],
        "chosen": _text(raw, "chosen_story"),
        "rejected": _text(raw, "rejected_story"),
        "chosen_writer": "human",
        "rejected_writer": "human",
        "chosen_engagement": read_optional_number(raw.get("chosen_upvotes"), "column chosen_upvotes"),
        "rejected_engagement": read_optional_number(raw.get("rejected_upvotes"), "column rejected_upvotes"),
    }


def _rewardbench2(raw: Mapping[str, Any]) -> Iterator[Row]:
    good, bad, models = raw.get("chosen"), raw.get("rejected"), raw.get("models") or []
    if not isinstance(good, list) or not isinstance(bad, list) or not good or not bad:
        raise BadRow("chosen and rejected must be lists of texts that are not empty")
    # One model for each answer, the good ones first; older rows name one for all.
    writers = models if len(models) == len(good) + len(bad) else [None] * (len(good) + len(bad))
    for number, text in enumerate(good):
        yield {
            "id": raw.get("id") if len(good) == 1 else f"{raw.get('id')}-{number + 1}",
            "prompt": _text(raw, "prompt"),
            "chosen": text,
            "rejected": bad,
            "chosen_writer": writers[number],
            "rejected_writers": writers[len(good) :] if all(writers[len(good) :]) else None,
            # In what the kit exports the subset is the dimension; no subset of RewardBench 2 is called like one.
            "dimension": raw.get("subset") if raw.get("subset") in DIMENSIONS else None,
        }


def _ultrafeedback(raw: Mapping[str, Any]) -> Row:
    return {**_trl({**raw, "prompt": None}), "id": raw.get("prompt_id")}


def _writing_preference_bench(raw: Mapping[str, Any]) -> Row:
    row: Row = {"prompt": _text(raw, "prompt"), "language": raw.get("language") or raw.get("lang")}
    for name in ("chosen", "rejected"):
        value = raw.get(name)
        row[name] = _text(value, "text") if isinstance(value, dict) else _text(raw, name)
        row[f"{name}_score"] = value.get("score") if isinstance(value, dict) else None
    return row


def _trl(raw: Mapping[str, Any]) -> Row:
    prompt, chosen, rejected = raw.get("prompt"), raw.get("chosen"), raw.get("rejected")
    if prompt is None:
        if not isinstance(chosen, list) or not isinstance(rejected, list):
            raise BadRow("no prompt, and chosen and rejected are no conversations that hold it")
        if chosen[:-1] != rejected[:-1]:
            raise BadRow("chosen and rejected answer different prompts")
        prompt = chosen[:-1]
    return {
        "prompt": _conversation(prompt, "prompt"),
        "chosen": _answer(chosen),
        "rejected": _answer(rejected),
        "chosen_score": raw.get("score_chosen"),
        "rejected_score": raw.get("score_rejected"),
    }


def _conversation(value: Any, field: str) -> str:
    """Return a prompt as one text. A system message stands before the user's; a longer conversation is no premise."""
    if isinstance(value, str):
        return value
    messages = _messages(value, field)
    roles = [role for role, _ in messages]
    if roles not in (["user"], ["system", "user"]):
        raise BadRow(f"{field} is a conversation of {' and '.join(roles) or 'nothing'}; expected one message of a user")
    return "\n\n".join(text for _, text in messages if text.strip())


def _answer(value: Any) -> str:
    if isinstance(value, str):
        return value
    messages = _messages(value, "an answer")
    if not messages or messages[-1][0] != "assistant":
        raise BadRow("an answer must end with a message of the assistant")
    return messages[-1][1]


def _messages(value: Any, field: str) -> list[tuple[str, str]]:
    if not isinstance(value, list):
        raise BadRow(f"{field} is neither a text nor a list of messages")
    messages = []
    for message in value:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            raise BadRow(f"{field} holds a message without content")
        messages.append((str(message.get("role")), message["content"]))
    return messages


def _text(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str):
        raise BadRow(f"{name} is missing or no text; found {', '.join(map(str, list(raw)[:12]))}")
    return value
