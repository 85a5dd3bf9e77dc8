"""WritingPrompts: stories that people wrote for prompts on Reddit, in the two forms in which they are passed on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from storyalign.corpus.table_files import read_lines, read_table
from storyalign.corpus.tally import DROPPED
from storyalign.errors import DataError
from storyalign.files import Line
from storyalign.records import BadRow

BOT = "a comment of a bot"

_TAG = re.compile(r"^\s*\[\s*([A-Za-z]{2,3})\s*\]\s*[:\-]?\s*")
_BOT = re.compile(r"\s*(?:\*\*?Off-?Topic Discussion|\*\*?Welcome to the Prompt|I am a bot\b)", re.IGNORECASE)


def read_source_target(source: str | Path, target: str | Path) -> Iterator[Line]:
    """Read the original files: line n of the source is the prompt of the story in line n of the target.

    Words are parted as in the Penn Treebank, and ``<newline>`` stands for a line break. A row of ``train.wp_source``
    and of ``train.wp_target``::

        [ WP ] The last lighthouse keeper gets a letter addressed to the first one .
        The envelope was n't damp . <newline> <newline> `` That , '' said Edda , `` is the odd thing . ''

    Origin: the data set of Fan, Lewis and Dauphin (2018), https://github.com/facebookresearch/fairseq, folder
    ``examples/stories``.

    Args:
        source: ``*.wp_source``.
        target: ``*.wp_target``.

    Yields:
        Rows with ``prompt``, ``story`` and ``category`` (the tag, such as ``wp``); the place is that of the target.

    Raises:
        DataError: a file cannot be read, or one has more lines than the other.
    """
    pairs = itertools.zip_longest(read_lines(source), read_lines(target))
    for number, (prompt, story) in enumerate(pairs, start=1):
        if prompt is None or story is None:
            longer, shorter = (target, source) if prompt is None else (source, target)
            raise DataError(
                f"{shorter}: ends before line {number}, which {longer} still has; both must have the same lines"
            )
        row = {**part_tag(prompt), "story": story}
        yield Line(Path(target), number, row)


def read_posts(path: str | Path) -> Iterator[Line]:
    """Read posts with their comments and scores: each comment at the top level is one story.

    One row (Parquet or JSONL)::

        {"post_text": "", "post_title": "[WP] The last lighthouse keeper gets a letter addressed to the first one.",
         "post_scores": 412, "comment_texts": ["The envelope wasn't damp. That was the odd thing. ...", "..."],
         "comment_scores": [211, 9], "comment_times": ["1471886613", "1471890002"]}

    Origin: https://huggingface.co/datasets/euclaise/WritingPrompts_preferences

    Yields:
        Rows with ``prompt``, ``story``, ``category`` and ``engagement`` (the comment's score); the place is that of
        the post. Comments of bots are dropped for that reason.

    Raises:
        RowError: a row has other columns, or not one score for each comment.
    """
    for line in read_table(path):
        try:
            yield from (line._replace(row=row) for row in _comments(line))
        except BadRow as error:
            raise line.error(str(error)) from error


def _comments(line: Line) -> Iterator[dict[str, object]]:
    title, texts, scores = (line.row.get(name) for name in ("post_title", "comment_texts", "comment_scores"))
    if not isinstance(title, str):
        raise BadRow("post_title is missing or no text; expected post_title, comment_texts and comment_scores")
    if not isinstance(texts, list) or not isinstance(scores, list) or len(texts) != len(scores):
        raise BadRow("comment_texts and comment_scores must be lists of the same length")
    for text, score in zip(texts, scores, strict=True):
        if isinstance(text, str) and _BOT.match(text):
            yield {DROPPED: BOT}
        else:
            yield {**part_tag(title), "story": text, "engagement": score, "engagement_kind": "upvotes"}


def part_tag(text: str) -> dict[str, str]:
    """Part the tag from a prompt: ``[ WP ]`` is a writing prompt, ``[ EU ]`` an established universe, and so on."""
    tag = _TAG.match(text)
    if tag is None:
        return {"prompt": text}
    return {"prompt": text[tag.end() :], "category": tag[1].lower()}
