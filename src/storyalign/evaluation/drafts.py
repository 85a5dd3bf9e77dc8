"""Stories written to choose from: one row a draft, kept as they come, so that none is written twice.

``drafts.jsonl`` is only ever appended to. A draft's id is the digest of what was asked: the writer's settings, the
premise and the draft's number. A run that was killed goes on with the drafts that have no story yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
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


class Written(NamedTuple):
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
            RowError: another line does not hold a draft.
        """
        if not self.path.is_file():
            return
        cut_half_line(self.path)
        for line in read_jsonl(self.path):
            id_, story = line.row.get("id"), line.row.get("story", 0)
            if not isinstance(id_, str) or not (story is None or isinstance(story, str)):
                raise line.error("no row of a drafts file; give another --out")
            try:
                if story is not None:
                    self.stories[id_] = {**line.row, "story": read_story(story)}
            except UnparsedReply as error:
                self.unread[id_] = str(error)
        self.unread = {id_: reason for id_, reason in self.unread.items() if id_ not in self.stories}

    def write(self, writer: StoryWriter, drafts: Sequence[Draft]) -> Iterator[Written]:
        """Have the missing drafts written and keep each as it comes."""
        missing = [draft for draft in drafts if draft.id not in self.stories]
        if not missing:
            return
        with appending(self.path) as keep:
            for written in writer.write(missing):
                draft = written.draft
                row = {
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
                keep([row])
                if written.story is not None:
                    self.stories[draft.id] = row
                yield written


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


class Gathered(NamedTuple):
    """What the drafts of a run come to."""

    groups: int
    stories: int
    missing: int
    """Drafts without a story."""
    repeated: int
    """Drafts that say the same as an earlier one of their premise; kept once."""
    too_few: list[str]
    """Premises with fewer than two different stories; they are left out."""


def write_candidates(path: Path, drafts: Sequence[Draft], store: DraftStore, corpus: str) -> Gathered:
    """Write the stories as groups to choose from: what ``storyalign score``, ``annotate`` and ``head-to-head`` read.

    Args:
        path: the file to write.
        drafts: all drafts of the run.
        store: those that have a story.
        corpus: where the premises are from.
    """
    written: defaultdict[Premise, list[dict[str, Any]]] = defaultdict(list)
    for draft in drafts:
        written[draft.premise] += [store.stories[draft.id]] if draft.id in store.stories else []
    distinct = {premise: _first_of_each(rows) for premise, rows in written.items()}
    groups = [_group(premise, rows, corpus) for premise, rows in distinct.items() if len(rows) > 1]
    write_jsonl(path, groups)
    n_written = sum(map(len, written.values()))
    return Gathered(
        groups=len(groups),
        stories=sum(len(group["candidates"]) for group in groups),
        missing=len(drafts) - n_written,
        repeated=n_written - sum(map(len, distinct.values())),
        too_few=[premise.id for premise, rows in distinct.items() if len(rows) < 2],
    )


def _first_of_each(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for row in rows:
        kept.setdefault(row["story"], row)
    return list(kept.values())


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
