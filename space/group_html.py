"""A group of stories side by side: hidden while the visitor guesses, then with the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from blind_choice import Tally
from ranking_html import signed

from storyalign.choices import ranked_highest
from storyalign.records import Instance
from storyalign.text import length_of
from storyalign.web.story_html import name, story_block, text

SAMPLE = "storyalign-sample"
"""The embedded sample's name as a corpus; its source is simulated, so it is not shown."""

SOURCE_NAMES = {"human_llm": "one human, three models", "llm_llm": "four models"}


def blind_html(instance: Instance, order: Sequence[int]) -> str:
    """Draw a group without anything that tells its stories apart but themselves."""
    columns = "".join(
        f'<article class="sa-candidate"><div class="sa-head"><h3>{letter(seat)}</h3>'
        f"{_length(instance, candidate)}</div>{_scrolling(instance.stories[candidate], seat)}"
        f'<button type="button" class="sa-choose" data-seat="{seat}">Choose {letter(seat)}</button></article>'
        for seat, candidate in enumerate(order)
    )
    return _group(instance, "Which one would you choose?", columns)


def open_html(
    instance: Instance,
    order: Sequence[int],
    rewards: Mapping[str, Sequence[float | None]],
    picked: int | None = None,
) -> str:
    """Draw a group with writers, the preferred story and what scorers said.

    Args:
        instance: the group.
        order: candidates in the order of their seats.
        rewards: scorer -> rewards, the chosen story first.
        picked: the candidate that the visitor chose.
    """
    columns = "".join(_open_column(instance, seat, candidate, rewards, picked) for seat, candidate in enumerate(order))
    return _group(instance, _answer(instance, order, picked), columns) + _verdicts(instance, order, rewards)


def tally_html(tally: Tally) -> str:
    """Draw the running score."""
    n = len(tally.answered)
    if not n:
        return '<p class="sa-tally">Your score against the models appears here after your first choice.</p>'
    entries: list[tuple[str, int | Fraction, int, str]] = [("You", tally.you, n, "sa-you")]
    entries += [(scorer, points, scored, "") for scorer, (points, scored) in sorted(tally.scorers.items())]
    entries.append(("blind guess", tally.chance, n, "sa-guess"))
    items = "".join(
        f'<li class="{css}"><span>{name(who)}</span> <strong>{_points(points)}</strong> of {scored}</li>'
        for who, points, scored, css in entries
    )
    return f'<ul class="sa-tally" aria-label="Score" aria-live="polite">{items}</ul>'


def letter(seat: int) -> str:
    """Name a seat: A, B, C, ..."""
    return chr(ord("A") + seat)


def _group(instance: Instance, line: str, columns: str) -> str:
    facts = [instance.id]
    if instance.dimension:
        facts.insert(0, f"judged on {instance.dimension}")
    if instance.corpus == SAMPLE:
        facts.insert(1, "synthetic sample")
    elif instance.source:
        facts.insert(1, SOURCE_NAMES.get(instance.source, instance.source))
    return (
        f'<section class="sa-group"><p class="sa-premise" dir="auto">{text(instance.prompt)}</p>'
        f'<p class="sa-facts">{" · ".join(map(text, facts))}</p><p class="sa-verdict" aria-live="polite">{line}</p>'
        f'<div class="sa-candidates">{columns}</div></section>'
    )


def _open_column(
    instance: Instance, seat: int, candidate: int, rewards: Mapping[str, Sequence[float | None]], picked: int | None
) -> str:
    writers = (instance.chosen_writer, *(instance.rejected_writers or [None] * len(instance.rejected)))
    badges = '<span class="sa-badge sa-good">preferred</span>' if candidate == 0 else ""
    if picked == candidate:
        badges += '<span class="sa-badge">your pick</span>'
    writer = f'<p class="sa-facts">by {name(writers[candidate] or "unknown")}</p>'
    rows = "".join(
        f"<tr><td>{name(scorer)}</td><td>{'–' if (r := own[candidate]) is None else signed(r)}</td></tr>"
        for scorer, own in rewards.items()
    )
    table = f'<table class="sa-rewards"><caption>Rewards</caption>{rows}</table>' if rows else ""
    chosen = " sa-first" if candidate == 0 else ""
    return (
        f'<article class="sa-candidate{chosen}"><div class="sa-head"><h3>{letter(seat)}</h3>{badges}'
        f"{_length(instance, candidate)}</div>{writer}{_scrolling(instance.stories[candidate], seat)}{table}</article>"
    )


def _answer(instance: Instance, order: Sequence[int], picked: int | None) -> str:
    right = letter(order.index(0))
    if picked is None:
        return f"{right} is the preferred story."
    if picked == 0:
        return f"<strong>Yes.</strong> {right} is the preferred story."
    return f"You picked {letter(order.index(picked))}. The preferred story is <strong>{right}</strong>."


def _verdicts(instance: Instance, order: Sequence[int], rewards: Mapping[str, Sequence[float | None]]) -> str:
    items = []
    for scorer, own in rewards.items():
        highest = ranked_highest(own)
        if not highest:
            items.append(f"<li>{name(scorer)} has no reward for one of them.</li>")
            continue
        tops = " and ".join(sorted(letter(order.index(place)) for place in highest))
        mark = "right" if highest == (0,) else "a tie" if 0 in highest else "wrong"
        items.append(f"<li>{name(scorer)} ranks {tops} highest: {mark}.</li>")
    return f'<ul class="sa-verdicts">{"".join(items)}</ul>' if items else ""


def _length(instance: Instance, candidate: int) -> str:
    return f'<span class="sa-length">{length_of(instance.stories[candidate])}</span>'


def _scrolling(story: str, seat: int) -> str:
    label = f"Story {letter(seat)}"
    return f'<div class="sa-scroll" tabindex="0" role="region" aria-label="{label}">{story_block(story)}</div>'


def _points(points: int | Fraction) -> str:
    return f"{float(points):.2f}".rstrip("0").rstrip(".")
