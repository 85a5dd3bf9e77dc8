"""Sections that a release adds to the card of a dataset, and the files that stand behind their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson

from storyalign.audit.leakage import LeakageIndex, LeakageReport
from storyalign.audit.story_lengths import spread
from storyalign.corpus.duplicates import THRESHOLD
from storyalign.corpus.evaluation_sets import load_evaluation_set
from storyalign.corpus.passages import LEAST
from storyalign.hub.cards.dataset_card import add_section
from storyalign.hub.payload import Payload
from storyalign.hub.release.release_options import Named
from storyalign.hub.released_rows import read_rows
from storyalign.records import PreferencePair

TOKENS_FILE = "tokens.json"
LEAKAGE_FILE = "leakage.json"

_AT_ONCE = 64
"""Stories that are turned into tokens together."""


def with_take_down(payload: Payload, contact: str | None) -> Payload:
    """Return whom to ask for the removal of a row.

    Args:
        payload: the files of a dataset.
        contact: a mail or web address beside the repository's own page.
    """
    other = f", or write to {contact}" if contact else ""
    section = (
        "## Take-down\n\n"
        "Is a story here yours, does a row name a person, or is its licence wrong? Open a discussion in the Community "
        f"tab of this repository{other}, and give the row's `id`. It leaves with the next release, and older versions "
        "with it."
    )
    return payload.with_files({"README.md": add_section(payload.text("README.md"), section).encode()})


def with_tokens(payload: Payload, tokenizer: Named) -> Payload:
    """Return how many tokens the stories have, each with its premise in the tokenizer's chat template.

    Raises:
        ModelError: the tokenizer cannot be loaded.
        MissingExtraError: transformers is not installed.
    """
    from storyalign.models.token_counts import token_counter

    count, counts = token_counter(tokenizer.place), list[int]()
    pairs = ((placed.row.prompt, story) for placed in read_rows(payload) for story in placed.row.stories)
    while some := list(islice(pairs, _AT_ONCE)):
        counts.extend(count(some))
    figures = spread(counts)
    facts = {"tokenizer": tokenizer.name, "stories": len(counts), **figures._asdict()}
    section = (
        "## Tokens\n\n"
        f"A story with its premise, in the chat template of `{tokenizer.name}`:\n\n"
        "| stories | mean tokens | median tokens | 95% have at most | longest |\n|---:|---:|---:|---:|---:|\n"
        f"| {len(counts):,} | {figures.mean:,.1f} | {figures.median:,.1f} | {figures.p95:,} | {figures.longest:,} |"
    )
    return _with(payload, section, TOKENS_FILE, facts)


def with_leakage(payload: Payload, against: Sequence[Named]) -> tuple[Payload, int]:
    """Return which pairs share texts with evaluation sets.

    Returns:
        The files, and the number of pairs that leak.

    Raises:
        DataError: an evaluation set cannot be loaded.
        MissingExtraError: rensa is not installed.
    """
    index, report, sets = LeakageIndex(), LeakageReport(), list[dict[str, Any]]()
    for one in against:
        loaded = load_evaluation_set(one.place, needs_gold=False)
        index.add(one.name, loaded.instances)
        sets.append({"name": one.name, "instances": len(loaded.instances), "digest": loaded.digest})
    for pair in _pairs(payload):
        report.add(pair, index.leaks(pair))
    # Without the examples: they quote texts.
    facts = {"against": sets, "threshold": THRESHOLD, **report.to_json()}
    del facts["examples"]
    return _with(payload, _leakage_section(sets, report), LEAKAGE_FILE, facts), report.leaking


def _leakage_section(sets: list[dict[str, Any]], report: LeakageReport) -> str:
    names = ", ".join(f"`{one['name']}` ({one['instances']:,} instances)" for one in sets)
    lines = [
        "## Leakage",
        "",
        f"All premises and stories were compared with those of {names}: word for word, and for near duplicates (an "
        f"estimated similarity of {THRESHOLD} or more), and for passages of {LEAST} words. {report.leaking:,} of "
        f"{report.pairs:,} pairs have a text in common with them.",
    ]
    if report.kinds:
        lines += ["", "| in common | texts |", "|---|---:|"]
        lines += [f"| {kind} | {n:,} |" for kind, n in sorted(report.kinds.items())]
    return "\n".join(lines)


def _pairs(payload: Payload) -> Iterator[PreferencePair]:
    return (placed.row for placed in read_rows(payload) if isinstance(placed.row, PreferencePair))


def _with(payload: Payload, section: str, file: str, facts: dict[str, Any]) -> Payload:
    card = add_section(payload.text("README.md"), section)
    return payload.with_files({"README.md": card.encode(), file: orjson.dumps(facts, option=orjson.OPT_INDENT_2)})
