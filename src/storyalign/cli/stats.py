"""The verb ``stats``: how large a dataset is and how long its stories are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from storyalign.cli.data_options import Config, warning_of_notices
from storyalign.cli.outputs import keep_inputs
from storyalign.errors import DataError, RecipeError

if TYPE_CHECKING:
    from storyalign.audit.story_lengths import DatasetLengths
    from storyalign.corpus.story_groups import StoryGroup
    from storyalign.models.token_counts import TokenCounter

_HELP = """
Describe datasets as the paper's Table 9 does: instances, sources, words of a story; with a tokenizer also tokens, and
the share of conversations that do not fit a context.

A Chinese or Japanese character counts as one word. Lengths are those of single stories: all four of an instance, both
of a pair.

Examples:

  storyalign stats ./storyrmb ./story_preferences

  storyalign stats ./storyrmb --tokenizer runs/demo/model --context 1024 --context 8192

  storyalign stats stories.jsonl --json stats.json --markdown table9.md
"""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("stats", help=_HELP, no_args_is_help=True)(stats)


def stats(
    data: Annotated[list[str], typer.Argument(help="Dataset folders, JSONL files, Hub datasets.")],
    tokenizer: Annotated[str | None, typer.Option(help="Count tokens with this tokenizer: a folder or Hub id.")] = None,
    context: Annotated[list[int] | None, typer.Option(min=1, help="A context in tokens; may be repeated.")] = None,
    config: Config = None,
    split: Annotated[str | None, typer.Option(help="Only this split; all of them by default.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
) -> None:
    """Describe datasets; the help text stands in ``register``."""
    if context and tokenizer is None:
        raise RecipeError("--context counts tokens; name a tokenizer with --tokenizer")

    keep_inputs([*data, tokenizer], json_file, markdown)

    from storyalign.audit.story_lengths import tables_of
    from storyalign.cli.terminal import open_console, show, show_written
    from storyalign.evaluation.paper_tables import table_9
    from storyalign.files import write_json, write_text
    from storyalign.models.token_counts import token_counter
    from storyalign.tables import markdown as as_markdown

    count = token_counter(tokenizer) if tokenizer else None
    found = [_measure(one, config, split, tokenizer, context or [], count) for one in data]
    out = open_console()
    show(out, *tables_of(found))
    if json_file:
        write_json(json_file, {"datasets": [one.to_json() for one in found]})
    if markdown:
        write_text(markdown, as_markdown(table_9({one.name: one for one in found})))
    show_written(out, json_file, markdown)


def _measure(
    data: str,
    config: str | None,
    split: str | None,
    tokenizer: str | None,
    limits: list[int],
    count: TokenCounter | None,
) -> DatasetLengths:
    from tqdm import tqdm

    from storyalign.audit.story_lengths import LengthCounter, in_batches
    from storyalign.corpus.story_groups import open_story_groups

    name, groups = open_story_groups(data, config, split)
    counter = LengthCounter(tokenizer, limits)
    with tqdm(desc=name, unit=" groups", leave=False, disable=None) as bar:
        for batch in in_batches(warning_of_notices(name, groups)):
            tokens = iter(count(_pairs(batch)) if count else ())
            for group in batch:
                counter.add(group, [next(tokens) for _ in group.stories] if count else ())
            bar.update(len(batch))
    result = counter.result(name)
    if result is None:
        raise DataError(f"{data}: holds no story with a text")
    return result


def _pairs(batch: list[StoryGroup]) -> list[tuple[str, str]]:
    return [(group.premise, story) for group in batch for story in group.stories]
