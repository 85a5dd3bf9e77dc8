"""Edits that lower creativity: the same events, told or ended as they have been a thousand times."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from storyalign.preferences.offline_edits.nouns import blur_nouns, kinds, members, swap_words
from storyalign.preferences.offline_edits.people import present_tense
from storyalign.preferences.offline_edits.phrases import fitting, phrases
from storyalign.preferences.offline_edits.text import (
    Draft,
    Operator,
    Tale,
    bank,
    count_words,
    is_chinese,
    is_dialogue,
    substitute,
)

_UNIT = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen"
)
_TENS = r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?"
_HUNDREDS = rf"(?:a|one|{_UNIT}|{_TENS}) (?:hundred|thousand)(?: and (?:{_TENS}|{_UNIT}))?"
_WHOSE = r"(?<![Aa] )(?<![Aa]n )\b((?:the|his|her|their|my|these|those) )?"
_NUMBER = rf"{_WHOSE}(?:{_HUNDREDS}|{_TENS}|{_UNIT}|\d[\d,.]*\d)\b(?!-)"
_MONTH = ("a certain month", "some month or other", "the season")


def stock_phrases(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Worn-out phrases in place of the story's own sentences."""
    draft = Draft.of(tale)
    units = draft.units
    places = [i for i, u in enumerate(units) if not is_dialogue(u)]
    if len(places) < 5 or rng.random() < 0.3:
        places = list(range(len(units)))
    count = min(len(places), max(4, round(len(units) * rng.uniform(0.3, 0.5))))
    if count < 3:
        return None
    stock, stretch = phrases("stock", tale, rng), rng.uniform(0.75, 1.35)
    for i in rng.sample(places, count):
        wanted = round(count_words(units[i]) * stretch)
        units[i] = fitting(stock, wanted, rng, among=10)
        stock.remove(units[i])
        if count_words(units[i]) < wanted - 5:
            more = fitting(stock, wanted - count_words(units[i]), rng, among=10)
            stock.remove(more)
            units[i] += draft.glue + more
    return draft.with_units(units)


def dream_ending(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The ending replaced: it was all a dream."""
    return _other_ending(tale, "dream", rng)


def moral_ending(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """The ending replaced: all is well, and here is the lesson."""
    return _other_ending(tale, "moral", rng)


def _other_ending(tale: Tale, kind: str, rng: random.Random) -> str | None:
    draft = Draft.of(tale)
    units = draft.units
    cut = rng.randint(max(2, int(len(units) * 0.5)), max(2, int(len(units) * 0.75)))
    if len(units) - cut < 2:
        return None
    openings, closings = phrases(f"{kind}_open", tale, rng), phrases(f"{kind}_close", tale, rng)
    ending = [openings.pop(), closings.pop()]
    wanted = draft.words(cut, len(units)) * rng.uniform(0.75, 1.25)
    while sum(map(count_words, ending)) < wanted - 5 and closings and len(ending) < 8:
        ending.append(fitting(closings, wanted - sum(map(count_words, ending)), rng))
        closings.remove(ending[-1])
    return draft.with_units([*units[:cut], *ending])


def flattened_details(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Names of things, numbers, places and colours blurred into general words."""
    share = rng.uniform(0.7, 1.0)
    if is_chinese(tale):
        return _flattened_chinese(tale, share, rng)
    words = {m: general for general, group in kinds("en") for m in group if general not in ("colour", "month")}
    story, blurred = blur_nouns(tale.story, words, rng)
    dull = rng.choice((("nice",), ("certain", "normal"), ("", "")))
    colours = "|".join(members("en", "colour"))
    story, faded = substitute(rf"\b({colours}) (?=[a-z])", story, lambda m: f"{rng.choice(dull)} ".lstrip())
    months = "|".join(members("en", "month"))
    story, undated = substitute(rf"\b([Ii]n|[Oo]f) (?:{months})\b", story, lambda m: f"{m[1]} {rng.choice(_MONTH)}")
    many = rng.choice((("several", "a few"), ("many", "some"), ("a number of", "some", "a lot of")))

    def vague(match: re.Match[str]) -> str:
        if rng.random() > share:
            return match[0]
        return f"{match[1]}{rng.choice(('few', 'many', 'several'))}" if match[1] else rng.choice(many)

    story, counted = substitute(_NUMBER, story, vague)
    story = re.sub(r"(?:^|(?<=\n)|(?<=[.] ))\"?[a-z]", lambda m: m[0].upper(), story)
    changed = blurred + faded + undated + counted
    return story if changed >= 6 else None


def _flattened_chinese(tale: Tale, share: float, rng: random.Random) -> str | None:
    words = {m: general for general, group in kinds("zh") for m in group}
    story, swapped = swap_words(tale.story, words, chinese=True)
    pattern = "[两二三四五六七八九十百千半]+(?=[个块张条只把支天年碗根担吊粒遍斤寸尺份枚封层])"
    few = ("几", "好几", "一些")
    story, counted = substitute(pattern, story, lambda m: rng.choice(few) if rng.random() < share else m[0])
    return story if swapped + counted >= 5 else None


def tired_similes(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Worn-out similes hung on many sentences, some in place of what they ended with."""
    draft, chinese = Draft.of(tale), is_chinese(tale)
    similes = list(bank("similes", "zh" if chinese else "en"))
    rng.shuffle(similes)
    comma, stop = ("，", "。") if chinese else (", ", ".")
    shorter = rng.random() < 0.5
    units = draft.units
    places = [i for i, u in enumerate(units) if u.endswith(stop) and count_words(u) > 4]
    count = min(len(places), rng.randint(6, 9))
    if count < 4:
        return None
    for i in rng.sample(places, count):
        simile = similes.pop()
        body = units[i][:-1]
        head, found, tail = body.rpartition(comma)
        if shorter and found and count_words(head) >= 4 and count_words(tail) >= 4 and not is_dialogue(tail):
            body = head
        elif shorter and not is_dialogue(units[i]) and rng.random() < 0.6:
            units[i] = _bare_simile(tale, simile, rng)
            continue
        units[i] = f"{body}{comma}{simile}{stop}"
    return draft.with_units(units)


def _bare_simile(tale: Tale, simile: str, rng: random.Random) -> str:
    if is_chinese(tale):
        return rng.choice(("这一切都", "心里", "眼前的景象", "那感觉")) + simile + "。"
    verb = "is" if present_tense(tale) else "was"
    return f"{rng.choice(('It', 'Everything', 'All of it', 'The feeling', 'The scene'))} {verb} {simile}."


CREATIVITY: dict[str, Operator] = {
    f.__name__: f for f in (stock_phrases, dream_ending, moral_ending, flattened_details, tired_similes)
}
