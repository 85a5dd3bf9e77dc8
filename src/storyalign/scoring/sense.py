"""Plain sense: does a scorer prefer a coherent draft to what nobody would call a story of the same idea?

Forty drafts were written for this: twenty on premises like those of the embedded sample (``own``), twenty on others
(``unlike``). None of them is in the sample. The weak versions are made from the drafts, so all is the same on each run.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, Protocol

import numpy as np

from storyalign.audit.null_scorers import NullScorer
from storyalign.bootstrap import share_interval
from storyalign.preferences.coarse_edits import SENTENCE_END, repeated, shuffled
from storyalign.records import Reward
from storyalign.scoring.reward_store import Request
from storyalign.scoring.run import Scorer
from storyalign.tables import Table, estimate
from storyalign.text import count_words, digest

EXPECTED = 0.9
"""Below this share a kind gets a warning: sense is no matter of taste."""

KEYWORDS = 25


class Draft(NamedTuple):
    """A premise, a coherent draft of 140 to 190 words, and what happens in it, told in five flat sentences."""

    id: str
    kind: str
    """``own`` or ``unlike``."""
    premise: str
    story: str
    summary: str


class Check(NamedTuple):
    """A draft beside one weak version."""

    draft: Draft
    weakness: str
    weak: str

    @property
    def length(self) -> str:
        """Whether the weak version is shorter, longer, or within a tenth as long as the draft."""
        ratio = count_words(self.weak) / count_words(self.draft.story)
        return "shorter" if ratio < 0.9 else "longer" if ratio > 1.1 else "as long"


class Progress(Protocol):
    """What shows how far scoring is."""

    def begin(self, stories: int, characters: int) -> None:
        """Set the total."""

    def advance(self, rewards: list[Reward], characters: int) -> None:
        """Count one batch."""


class Outcome(NamedTuple):
    """What a scorer made of one check."""

    check: Check
    right: float | None
    """1, 0, or 0.5 for equal rewards; None where a reward is missing."""


@cache
def drafts() -> tuple[Draft, ...]:
    """Return the drafts."""
    text = resources.files("storyalign.scoring").joinpath("sense_drafts.jsonl").read_text(encoding="utf-8")
    return tuple(Draft(**json.loads(line)) for line in text.splitlines())


def checks() -> list[Check]:
    """Return every draft beside each of its weak versions."""
    return [Check(draft, name, weak(draft)) for draft in drafts() for name, weak in WEAKNESSES.items()]


def ask(scorer: Scorer, progress: Progress) -> list[Outcome]:
    """Score all checks; each is a group of two, so a judge sees the draft and its weak version.

    Args:
        scorer: any.
        progress: told of each batch.
    """
    asked = checks()
    progress.begin(2 * len(asked), sum(len(c.draft.story) + len(c.weak) for c in asked))
    rewards: dict[tuple[str, int], float | None] = {}
    for batch in scorer.score(_requests(asked)):
        rewards.update({(row.id, row.candidate): row.reward for row in batch})
        progress.advance(batch, sum(len(_pair(asked[int(row.id)])[row.candidate]) for row in batch))
    return [Outcome(check, _right(rewards[str(n), 0], rewards[str(n), 1])) for n, check in enumerate(asked)]


def ask_null(null: NullScorer) -> list[Outcome]:
    """Return what a null scorer makes of the checks; which of the two it sees first is drawn from the check."""
    outcomes = []
    for check in checks():
        name = f"{check.draft.id} {check.weakness}"
        turn = random.Random(digest("sense order", name)).choice((1, -1))
        draft, weak = null(name, check.draft.premise, _pair(check)[::turn])[::turn]
        outcomes.append(Outcome(check, _right(draft, weak)))
    return outcomes


def table_of(name: str, outcomes: Sequence[Outcome]) -> Table:
    """Return the share of checks in which the draft wins, by weakness and by length, with 95% intervals."""
    groups: list[tuple[str, Callable[[Outcome], bool]]] = [
        *((weakness, lambda o, w=weakness: o.check.weakness == w) for weakness in WEAKNESSES),
        *(
            (f"weak version {length}", lambda o, n=length: o.check.length == n)
            for length in ("shorter", "as long", "longer")
        ),
        ("all", lambda _: True),
    ]
    rows = []
    for title, belongs in groups:
        own, unlike = ([o for o in outcomes if belongs(o) and o.check.draft.kind == kind] for kind in ("own", "unlike"))
        rows.append([title, _share(own), _share(unlike), f"{len(own)} + {len(unlike)}"])
    missing = sum(outcome.right is None for outcome in outcomes)
    notes = [
        "Percent of checks in which the coherent draft gets the higher reward (a tie is half), with 95% intervals."
    ]
    notes += [f"{missing} of {len(outcomes)} checks have no reward and are left out."] if missing else []
    columns = ("weak version", "premises like the sample's", "other premises", "n")
    return Table(columns, rows, title=f"Plain sense: {name}", notes=notes, rules_after=(len(WEAKNESSES),))


def warnings(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a sentence for each weakness that the scorer often prefers."""
    found = []
    for weakness in WEAKNESSES:
        own = [o.right for o in outcomes if o.check.weakness == weakness and o.right is not None]
        if own and (share := float(np.mean(own))) < EXPECTED:
            found.append(f"{weakness}: the draft wins {share:.0%} of {len(own)}; expected {EXPECTED:.0%} or more")
    return found


def _share(outcomes: Sequence[Outcome]) -> str:
    scored = [(o.right, o.check.draft.premise) for o in outcomes if o.right is not None]
    if not scored:
        return estimate(None, None)
    values = np.array([right for right, _ in scored])
    return estimate(float(values.mean()), share_interval(values, [premise for _, premise in scored]))


def _requests(asked: Sequence[Check]) -> Iterator[Request]:
    for number, check in enumerate(asked):
        pair = _pair(check)
        for place, story in enumerate(pair):
            yield Request(str(number), place, check.draft.premise, story, pair)


def _pair(check: Check) -> tuple[str, str]:
    return check.draft.story, check.weak


def _right(draft: float | None, weak: float | None) -> float | None:
    return None if draft is None or weak is None else float(draft > weak) + 0.5 * (draft == weak)


def _shuffled(draft: Draft, texts: Sequence[str], unit: Callable[[str], list[str]] = str.split) -> str:
    return shuffled("\n\n".join(texts), unit, random.Random(digest("sense", draft.id)))


def _other(draft: Draft, step: int = 1) -> Draft:
    """Return another draft of the same kind."""
    own = [other for other in drafts() if other.kind == draft.kind]
    return own[(own.index(draft) + step) % len(own)]


def _keywords(draft: Draft) -> str:
    found = dict.fromkeys(word.lower() for word in re.findall(r"\w{5,}", draft.story))
    return ", ".join(list(found)[:KEYWORDS])


def _half(draft: Draft) -> str:
    half, kept = count_words(draft.story) / 2, ""
    for end in SENTENCE_END.finditer(draft.story):
        if count_words(draft.story[: end.start()]) > half:
            break
        kept = draft.story[: end.start()]
    return kept


WEAKNESSES: dict[str, Callable[[Draft], str]] = {
    "words shuffled": lambda d: _shuffled(d, [d.story]),
    "words of two drafts shuffled": lambda d: _shuffled(d, [d.story, _other(d).story]),
    "sentences shuffled": lambda d: _shuffled(d, [d.story], SENTENCE_END.split),
    "first paragraph repeated": lambda d: repeated(d.story.split("\n\n")[0], count_words(d.story)),
    "first paragraph repeated to 400 words": lambda d: repeated(d.story.split("\n\n")[0], 400),
    "keywords": _keywords,
    "summary in five sentences": lambda d: d.summary,
    "draft for another premise": lambda d: _other(d).story,
    "two drafts for other premises": lambda d: f"{_other(d).story}\n\n{_other(d, 2).story}",
    "first half": _half,
    "premise copied": lambda d: d.premise,
    "premise copied to the draft's length": lambda d: repeated(d.premise, count_words(d.story)),
}
"""Name -> what makes the weak version of a draft."""
