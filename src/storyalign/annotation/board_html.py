"""One group as HTML: the premise, the stories under letters, the form for the verdict; ``board.js`` brings it to life.

Everything that tells stories apart but their text stays on the server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from storyalign.annotation.exchange import letter, seats_of
from storyalign.annotation.store import Claim
from storyalign.annotation.verdicts import HIGHEST, LOWEST, Verdict
from storyalign.text import length_of
from storyalign.web.story_html import message, story_block, text

ASKED = {
    "rank": ("Score and order the stories", "Give each story a score from 1 to 10, then check the order: best on top."),
    "confirm": ("Is this order right?", "Judges put the stories in this order, best on top. Does it hold?"),
    "human-best": ("Which story is the best?", "Pick the one you would put first. The others need no order."),
    "best-of-n": ("Order the stories", "Place the stories one by one, the best first. You can move them later."),
}
"""Mode -> title and what to do."""

KEYS = (
    ("A to P", "open a story"),
    ("← →", "the story before, the story after"),
    ("1 to 9, 0", "score the open story, 0 is ten"),
    ("Shift + ↑ ↓", "move the open story in the order"),
)


def board_html(claim: Claim, disputed: Sequence[Verdict] = ()) -> str:
    """Draw a group for its annotator.

    Args:
        claim: the group, with the draft to go on from.
        disputed: the two verdicts that a senior has to settle between.
    """
    task = claim.task
    seats = seats_of(task, claim.annotator, claim.kind)
    given = [seats.index(candidate) for candidate in task.ranking] if task.mode == "confirm" and task.ranking else []
    state = {"mode": task.mode, "n": len(seats), "given": given, "draft": claim.draft, "token": token_of(claim)}
    tabs = "".join(
        f'<button type="button" role="tab" id="an-tab-{s}" data-open="{s}" aria-controls="an-story-{s}" '
        f'aria-selected="false">{letter(s)}<span class="an-tick" aria-hidden="true"></span>'
        '<span class="an-hidden" data-read>not opened yet</span></button>'
        for s in range(len(seats))
    )
    stories = "".join(_story(s, task.stories[candidate], task.mode) for s, candidate in enumerate(seats))
    return (
        f'<section class="an-board" data-state="{text(json.dumps(state))}">{_note(claim, disputed, seats)}'
        f'<p class="an-label">The premise</p><p class="sa-premise" dir="auto">{text(task.prompt)}</p>'
        f'<div class="an-columns"><div class="an-reading"><div class="an-tabs" role="tablist" aria-label="Stories">'
        f'{tabs}</div>{stories}<div class="an-walk"><button type="button" data-step="-1">← Before</button>'
        '<button type="button" data-step="1">Next story →</button></div></div>'
        f"{_form(task.mode)}</div></section>"
    )


def token_of(claim: Claim) -> str:
    """Name the group that a page is about, so that an old page never answers for a new group."""
    return f"{claim.kind}/{claim.task.id}"


def finished_html(judged: int, *, senior: bool, empty: bool, waiting: int) -> str:
    """Return why there is no group: the store is empty, or nothing is left for this person."""
    if empty:
        return message("empty", "There are no groups yet", "Add some: storyalign annotate TASKS.jsonl --store ...")
    if senior:
        return message(
            "empty",
            "Nothing to settle",
            "No two annotators disagree on a group right now. Look again when they have gone on.",
        )
    rest = f"{waiting:,} groups wait for other people." if waiting else "Every group has the verdicts that it needs."
    thanks = f"You judged {judged:,} {'group' if judged == 1 else 'groups'}. Thank you." if judged else ""
    return message("empty", "Nothing is left for you", *filter(None, (thanks, rest)))


def _note(claim: Claim, disputed: Sequence[Verdict], seats: Sequence[int]) -> str:
    if claim.kind == "check":
        return message("note", "You may know this group", "It comes back once, in a new order. Judge it afresh.")
    if claim.kind != "senior":
        return ""
    said = [
        f"{('First', 'Second')[place] if place < 2 else 'Another'} annotator: {_said(verdict, seats)}"
        for place, verdict in enumerate(disputed)
    ]
    return message("note", "Two annotators disagree; your verdict stands", *said)


def _said(verdict: Verdict, seats: Sequence[int]) -> str:
    if verdict.verdict == "unsure":
        return "could not decide"
    order = [letter(seats.index(candidate)) for candidate in verdict.ranking or ()]
    return f"{order[0]} is the best" if verdict.mode == "human-best" else " > ".join(order)


def _story(seat: int, story: str, mode: str) -> str:
    name = letter(seat)
    if mode == "rank":
        scale = "".join(
            f'<button type="button" role="radio" aria-checked="false" data-seat="{seat}" data-score="{score}">'
            f"{score}</button>"
            for score in range(LOWEST, HIGHEST + 1)
        )
        below = (
            f'<div class="an-scale"><span id="an-scale-{seat}">Your score for {name}</span>'
            f'<div role="radiogroup" aria-labelledby="an-scale-{seat}">{scale}</div>'
            '<span class="an-ends"><span>weak</span><span>excellent</span></span></div>'
        )
    elif mode == "best-of-n":
        below = f'<button type="button" class="an-place" data-place="{seat}">Place {name} next</button>'
    elif mode == "human-best":
        below = f'<button type="button" class="an-place" data-pick="{seat}">{name} is the best</button>'
    else:
        below = ""
    return (
        f'<article class="an-story" role="tabpanel" id="an-story-{seat}" aria-labelledby="an-tab-{seat}" hidden>'
        f'<header><h3>Story {name}</h3><span class="sa-facts">{text(length_of(story))}</span></header>'
        f'<div class="an-scroll" tabindex="0" role="region" aria-label="Text of story {name}">'
        f"{story_block(story)}</div>{below}</article>"
    )


def _form(mode: str) -> str:
    title, what = ASKED[mode]
    undecided = "I can't decide, keep this order" if mode == "confirm" else "I can't decide"
    change = (
        '<button type="button" class="an-change" data-change>Change the order</button>' if mode == "confirm" else ""
    )
    keys = "".join(f"<dt>{text(key)}</dt><dd>{text(does)}</dd>" for key, does in KEYS)
    return (
        f'<aside class="an-form" aria-label="Your verdict"><h3>{title}</h3><p class="sa-facts">{what}</p>'
        '<ol class="an-order" aria-label="Order, best first"></ol>'
        '<p class="an-missing sa-facts" role="status" aria-live="polite"></p>'
        '<div class="an-warning" role="alert" hidden></div>'
        f'<div class="an-buttons"><button type="button" class="an-save" data-save>Save</button>{change}'
        f'<button type="button" class="an-unsure" data-unsure>{undecided}</button></div>'
        f'<details class="an-keys"><summary>Keys</summary><dl>{keys}</dl></details></aside>'
    )
