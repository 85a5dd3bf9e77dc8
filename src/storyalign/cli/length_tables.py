"""Sizes and lengths of datasets, on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from storyalign.cli.terminal import new_table, say
from storyalign.tables import markdown_row

if TYPE_CHECKING:
    from rich.console import Console

    from storyalign.audit.story_lengths import DatasetLengths, Spread

_NOTE = "Words of single stories; a Chinese or Japanese character is one word. The figures describe the whole dataset."


def print_lengths(out: Console, found: Sequence[DatasetLengths]) -> None:
    """Print one row a dataset, then tokens where they were counted."""
    table = new_table("Dataset", "Instances", "Stories", "Mean words", "Median", "95% up to", "Longest")
    for one in found:
        w = one.words
        table.add_row(Text(one.name), f"{one.n_groups:,}", f"{one.n_stories:,}", *_figures(w))
    out.print(table)
    counted = [(one, one.tokens) for one in found if one.tokens is not None]
    if counted:
        out.print()
        limits = [context.limit for context in counted[0][0].contexts]
        heads = [f"Over {limit:,}" for limit in limits]
        table = new_table("Tokens of a conversation", "Mean", "Median", "95% up to", "Longest", *heads)
        for one, tokens in counted:
            over = [f"{100 * c.share:.1f}% ({c.n_over:,})" for c in one.contexts]
            table.add_row(Text(one.name), *_figures(tokens), *over)
        out.print(table)
    out.print()
    for one in found:
        languages = ", ".join(f"{name} {n:,}" for name, n in one.languages.items())
        say(out, f"{one.name}: {one.sources}; languages: {languages}")
        if one.n_withheld:
            say(out, f"{one.name}: {one.n_withheld:,} stories without a text are not measured")
        for context in one.contexts:
            if context.n_groups:
                say(out, f"{one.name}: {context.n_groups:,} groups hold a conversation over {context.limit:,} tokens")
    if counted:
        say(out, f"Tokenizer {counted[0][0].tokenizer}; a conversation is template, premise and story.")
    say(out, _NOTE)


def lengths_markdown(found: Sequence[DatasetLengths]) -> str:
    """Write the columns of Table 9."""
    lines = [
        "| Dataset | Instances | Source | Mean length (words) | Median length (words) |",
        "|---|---:|---|---:|---:|",
    ]
    for one in found:
        cells = [one.name, f"{one.n_groups:,}", one.sources, f"{one.words.mean:,.0f}", f"{one.words.median:,.0f}"]
        lines.append(markdown_row(cells))
    return "\n".join([*lines, "", _NOTE, ""])


def _figures(s: Spread) -> list[str]:
    return [f"{s.mean:,.0f}", f"{s.median:,.0f}", f"{s.p95:,}", f"{s.longest:,}"]
