"""Stories written to choose from: one row a draft, kept as they come, so that none is written twice.

``drafts.jsonl`` is only ever appended to. A draft's id is the digest of what was asked: the writer's settings, the
premise and the draft's number. A run that was killed goes on with the drafts that have no story yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from storyalign.corpus.premise_lists import Premise
from storyalign.files import appending, cut_half_line, held, read_jsonl, write_jsonl
from storyalign.llm.replies import UnparsedReply
from storyalign.llm.story_replies import read_story
from storyalign.text import content_id


class Draft(NamedTuple):
    """One story to be written."""

    id: str
    premise: Premise
    number: int
    """Counted from 1; story ``k`` of a premise."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a draft."""

    draft: Draft
    story: str | None
    failure: str | None
    seed: int | None
    reply_tokens: int | None = None


class StoryWriter(Protocol):
    """Whatever writes stories: an endpoint, a local model."""

    name: str
    """The model's name, the ``writer`` of its stories."""
    digest: str
    """Hash of all that shapes a story, the premise left out."""
    facts: dict[str, Any]
    """The same in readable form; part of every row."""

    def write(self, drafts: Iterable[Draft]) -> Iterator[Written]:
        """Write drafts and yield each once as it comes, in any order; what holds no story is asked for again."""


TRIES = 3
"""Replies to ask for, at most, while they are cut, refused or hold no story; each with another seed."""

SEEDS = 2**31
"""Seeds stay below this: some servers take no larger ones."""

_SEED_STEP = 1_000_003
"""Between the tries of a draft, so that no try repeats the seed of another draft of its premise."""


def seed_of(base: int, draft: Draft, attempt: int) -> int:
    """Return the seed of a draft's try, counted from 0: each draft of a premise and each try has its own."""
    return (base + draft.number + attempt * _SEED_STEP) % SEEDS


def read_draft(draft: Draft, reply: str, seed: int | None, reply_tokens: int | None) -> Written:
    """Read the story out of a writer's reply; a reply that holds none is a failure with its reason."""
    try:
        return Written(draft, read_story(reply), None, seed, reply_tokens)
    except UnparsedReply as error:
        return Written(draft, None, str(error), seed, reply_tokens)


def plan(premises: Sequence[Premise], n: int, settings: str) -> list[Draft]:
    """List ``n`` drafts for each premise.

    Args:
        premises: what to write for.
        n: stories a premise.
        settings: the writer's digest.
    """
    return [
        Draft(content_id("draft", settings, premise.text, str(number)), premise, number)
        for premise in premises
        for number in range(1, n + 1)
    ]


class DraftStore:
    """The drafts file of one run, held by ``open_drafts``."""

    def __init__(self, path: Path):
        self.path = path
        self.stories: dict[str, dict[str, Any]] = {}
        """Draft id -> its row, for every draft that has a story."""
        self.unread: dict[str, str] = {}
        """Draft id -> why what was kept as its story holds none."""

    def load(self) -> None:
        """Read finished drafts; a half line at the end, left by a killed run, is cut off.

        Stories pass the reader of replies again: earlier versions kept refusals as stories. Such a draft is unwritten.

        Raises:
            RowError: another line is no draft.
        """
        if not self.path.is_file():
            return
        cut_half_line(self.path)
        for line in read_jsonl(self.path):
            story = line.row.get("story", 0)
            if not isinstance(line.row.get("id"), str) or not (story is None or isinstance(story, str)):
                raise line.error("no row of a drafts file; give another --out")
            if story is not None:
                self._take(line.row)

    def _take(self, row: dict[str, Any]) -> None:
        try:
            self.stories[row["id"]] = {**row, "story": read_story(row["story"])}
            self.unread.pop(row["id"], None)
        except UnparsedReply as error:
            if row["id"] not in self.stories:
                self.unread[row["id"]] = str(error)

    def write(self, writer: StoryWriter, drafts: Sequence[Draft]) -> Iterator[Written]:
        """Have the missing drafts written and keep each as it comes."""
        missing = [draft for draft in drafts if draft.id not in self.stories]
        if not missing:
            return
        with appending(self.path) as keep:
            for written in writer.write(missing):
                row = draft_row(written, writer)
                keep([row])
                if written.story is not None:
                    self.stories[written.draft.id] = row
                yield written


def draft_row(written: Written, writer: StoryWriter) -> dict[str, Any]:
    """Return the row of a draft: its text, and everything that made it."""
    draft = written.draft
    return {
        "id": draft.id,
        "premise_id": draft.premise.id,
        "premise": draft.premise.text,
        "number": draft.number,
        "story": written.story,
        "failure": written.failure,
        "writer": writer.name,
        "seed": written.seed,
        "reply_tokens": written.reply_tokens,
        "settings": writer.facts,
    }


@contextmanager
def open_drafts(path: Path) -> Iterator[DraftStore]:
    """Hold a drafts file for this process.

    Raises:
        DataError: another run holds it, or it cannot be written.
    """
    with held(path):
        store = DraftStore(path)
        store.load()
        yield store


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the drafts of a run come to."""

    groups: int
    stories: int
    missing: int
    """Drafts without a story."""
    repeated: int
    """Drafts that say the same as an earlier one of their premise; kept once."""
    too_few: list[str]
    """Premises with fewer than two different stories; they are left out."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def write_candidates(path: Path, drafts: Sequence[Draft], store: DraftStore, corpus: str) -> Gathered:
    """Write the stories as groups to choose from: what ``storyalign score``, ``annotate`` and ``head-to-head`` read.

    Args:
        path: the file to write.
        drafts: all drafts of the run, those of one premise together.
        store: those that have a story.
        corpus: where the premises are from.
    """
    groups: dict[str, list[Draft]] = {}
    for draft in drafts:
        groups.setdefault(draft.premise.id, []).append(draft)
    counts = Counter[str]()
    too_few: list[str] = []
    rows = []
    for own in groups.values():
        rows_of = [store.stories[draft.id] for draft in own if draft.id in store.stories]
        distinct = list({row["story"]: row for row in reversed(rows_of)}.values())[::-1]
        counts["missing"] += len(own) - len(rows_of)
        counts["repeated"] += len(rows_of) - len(distinct)
        if len(distinct) < 2:
            too_few.append(own[0].premise.id)
            continue
        counts["stories"] += len(distinct)
        rows.append(_group(own[0].premise, distinct, corpus))
    write_jsonl(path, rows)
    return Gathered(len(rows), counts["stories"], counts["missing"], counts["repeated"], too_few)


def _group(premise: Premise, rows: Sequence[dict[str, Any]], corpus: str) -> dict[str, Any]:
    candidates = [
        {"story": row["story"], "writer": row["writer"], "scores": {}, "n_raters": 0, "draft": row["id"]}
        for row in rows
    ]
    group = {
        "id": premise.id,
        "premise": premise.text,
        "prompt": premise.text,  # what `storyalign annotate` calls it
        "mode": "best-of-n",
        "candidates": candidates,
        "origin": corpus,
        "license": "unknown",
    }
    return {**group, "category": premise.group} if premise.group else group
