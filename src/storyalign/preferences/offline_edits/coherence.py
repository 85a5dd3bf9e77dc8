"""Edits that lower coherence: sentences stay good, what happens no longer follows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from storyalign.preferences.offline_edits.people import find_people, first_person, rename
from storyalign.preferences.offline_edits.phrases import fitting, phrases
from storyalign.preferences.offline_edits.text import Draft, Operator, Tale, count_words, is_dialogue


def scenes_out_of_order(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The story's runs of one to three sentences in another order."""
    draft = Draft.of(tale)
    units = draft.units
    if len(units) < 6:
        return None
    runs, start = [], 0
    while start < len(units):
        size = rng.choice((1, 1, 2, 2, 3))
        runs.append(list(range(start, min(start + size, len(units)))))
        start += size
    for _ in range(20):
        rng.shuffle(runs)
        order = [i for run in runs for i in run]
        steps = sum(b == a + 1 for a, b in itertools.pairwise(order))
        moved = sum(abs(i - k) >= 3 for k, i in enumerate(order))
        if moved >= 0.5 * len(units) and steps <= 0.55 * len(units):
            return draft.with_units([units[i] for i in order])
    return None


def effect_before_cause(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The outcome told near the start, so that what leads to it comes after it, and the story stops before its end."""
    units = Draft.of(tale).units
    if len(units) < 8:
        return None
    size = rng.randint(max(2, len(units) // 5), max(3, len(units) // 2))
    place = rng.randint(0, min(3, len(units) - size - 2))
    body, end = units[:-size], units[-size:]
    return Draft.of(tale).with_units([*body[:place], *end, *body[place:]])


def foreign_ending(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The last part replaced by the last part of another story, told of this story's people."""
    donor = _donor(tale, donors, rng)
    if not donor:
        return None
    units, others = Draft.of(tale).units, Draft.of(_recast(donor, tale)).units
    keep = rng.randint(int(len(units) * 0.4), int(len(units) * 0.6))
    take = rng.randint(int(len(others) * 0.35), int(len(others) * 0.6))
    if keep < 3 or take < 2 or len(units) - keep < 2:
        return None
    return Draft.of(tale).with_units([*units[:keep], *others[-take:]])


def foreign_middle(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The turning point dropped: the middle replaced by the middle of another story, told of this story's people."""
    donor = _donor(tale, donors, rng)
    if not donor:
        return None
    units, others = Draft.of(tale).units, Draft.of(_recast(donor, tale)).units
    start = rng.randint(max(2, int(len(units) * 0.25)), max(2, int(len(units) * 0.4)))
    stop = rng.randint(int(len(units) * 0.65), int(len(units) * 0.85))
    first = rng.randint(int(len(others) * 0.2), int(len(others) * 0.45))
    last = rng.randint(first + 2, max(first + 2, int(len(others) * 0.8)))
    if stop - start < 2 or last > len(others):
        return None
    return Draft.of(tale).with_units([*units[:start], *others[first:last], *units[stop:]])


def contradiction(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Statements that can't be true in this story, in place of sentences that led somewhere."""
    draft = Draft.of(tale)
    units = draft.units
    places = [i for i in range(2, len(units)) if not is_dialogue(units[i])] or list(range(2, len(units)))
    count = max(4, round(len(units) * rng.uniform(0.25, 0.4)))
    if len(places) < count:
        places = list(range(2, len(units)))
    if len(places) < count:
        return None
    claims, stretch = phrases("contradictions", tale, rng), rng.uniform(0.75, 1.3)
    for i in rng.sample(places, count):
        units[i] = fitting(claims, count_words(units[i]) * stretch, rng, among=8)
        claims.remove(units[i])
    return draft.with_units(units)


def _donor(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> Tale | None:
    same = [d for d in donors if d.language == tale.language and d.story != tale.story]
    return rng.choice(same) if same else None


def _recast(donor: Tale, tale: Tale) -> Tale:
    """Rename the donor's people to this story's people, as far as both have any."""
    ours = [p.name for p in find_people(tale)]
    names = {form: name for person, name in zip(find_people(donor), ours, strict=False) for form in person.forms}
    story = rename(donor.story, names)
    return (
        Tale(tale.premise, story, tale.language)
        if not first_person(donor)
        else Tale(donor.premise, story, tale.language)
    )


COHERENCE: dict[str, Operator] = {
    f.__name__: f for f in (scenes_out_of_order, effect_before_cause, foreign_ending, foreign_middle, contradiction)
}
