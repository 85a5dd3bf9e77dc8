"""Edits that lower relevance: a good story, but not the one that the premise asks for."""

from __future__ import annotations

import random
from collections.abc import Sequence

from storyalign.preferences.offline_edits.nouns import key_nouns, neighbour, other_names, swap_words
from storyalign.preferences.offline_edits.people import rename
from storyalign.preferences.offline_edits.text import Draft, Operator, Tale, count_words, is_chinese


def other_story(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The story of another premise with another theme, in as many paragraphs."""
    return _whole([d for d in donors if d.theme is None or d.theme != tale.theme], tale, rng)


def same_theme_story(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The story of another premise with the same theme, in as many paragraphs."""
    return _whole([d for d in donors if d.theme is not None and d.theme == tale.theme], tale, rng)


def borrowed_names(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Another premise's story, told of people and places with this premise's names."""
    donor = _donor(tale, donors, rng)
    names = other_names(donor, tale) if donor else {}
    if not donor or len(names) < 2 - is_chinese(tale):
        return None
    return Draft.of(tale).with_units(Draft.of(Tale(donor.premise, rename(donor.story, names), donor.language)).units)


def opening_of_another(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """This story's opening, then the body of another premise's story."""
    donor = _donor(tale, donors, rng)
    if not donor:
        return None
    units, others = Draft.of(tale).units, Draft.of(donor).units
    keep = rng.randint(1, max(1, int(len(units) * 0.25)))
    skip = rng.randint(0, max(1, int(len(others) * 0.3)))
    return Draft.of(tale).with_units([*units[:keep], *others[skip:]])


def cast_replaced(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The same events, but with other people, in another place and about other things than the premise names."""
    donor = _donor(tale, donors, rng)
    if not donor:
        return None
    names, chinese = other_names(tale, donor), is_chinese(tale)
    ours = key_nouns(tale)
    theirs = [] if chinese else [n for n in key_nouns(donor) if n not in ours]
    words: dict[str, str] = {}
    for noun in ours:
        new = neighbour(noun, "zh" if chinese else "en", rng) or (theirs.pop(0) if theirs else None)
        if new and new not in words.values():
            words[noun] = new
    story, swapped = swap_words(tale.story, words, chinese)
    if not names or swapped + sum(story.count(n) for n in names) < 5:
        return None
    return rename(story, names)


def premise_repeated(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The premise in its own words at the start or at the end, and for the rest another premise's story."""
    donor = _donor(tale, donors, rng)
    if not donor:
        return None
    premise = Draft.of(Tale(tale.premise, tale.premise, tale.language)).units
    names = {} if is_chinese(tale) else other_names(donor, tale)
    body = Draft.of(Tale(donor.premise, rename(donor.story, names), donor.language)).units
    goal = rng.uniform(0.92, 1.08) * count_words(tale.story)
    while len(body) > 2 and sum(map(count_words, (*premise, *body))) > goal:
        body.pop(rng.choice((0, -1)))
    return Draft.of(tale).with_units([*premise, *body] if rng.random() < 0.5 else [*body, *premise])


def _whole(donors: Sequence[Tale], tale: Tale, rng: random.Random) -> str | None:
    donor = _donor(tale, donors, rng)
    return Draft.of(tale).with_units(Draft.of(donor).units) if donor else None


def _donor(tale: Tale, donors: Sequence[Tale], rng: random.Random) -> Tale | None:
    same = [d for d in donors if d.language == tale.language and d.story != tale.story and d.premise != tale.premise]
    return rng.choice(same) if same else None


RELEVANCE: dict[str, Operator] = {
    f.__name__: f
    for f in (other_story, same_theme_story, borrowed_names, opening_of_another, premise_repeated, cast_replaced)
}
