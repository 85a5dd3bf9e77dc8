"""Edits that lower characterization: people lose their names, voices and reasons."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from storyalign.preferences.offline_edits.people import (
    Person,
    find_people,
    first_person,
    mentions,
    name_pattern,
    present_tense,
)
from storyalign.preferences.offline_edits.phrases import fitting, phrases
from storyalign.preferences.offline_edits.text import (
    Draft,
    Operator,
    Tale,
    bank,
    capitalize,
    count_words,
    is_chinese,
    is_dialogue,
    substitute,
)

_QUOTE = r"(?<=\")[^\"\n]+(?=\")|(?<=“)[^”\n]+(?=”)"
_SPOKEN_ENDS = ",.?!，。？！…—"
_NO_NOUN = (
    "and|or|but|to|in|on|at|as|with|for|from|by|into|the|a|an|was|had|when|while|that|who|up|down|out|off|back|over|through|"
    "again|before|after|until"
)
_OPPOSITE = {
    "he": "she", "she": "he", "him": "her", "his": "her", "himself": "herself", "herself": "himself", "hers": "his",
    "He": "She", "She": "He", "His": "Her", "Him": "Her",
}  # fmt: skip


def names_swapped(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """People mixed up: about half of the mentions carry somebody else's name."""
    people = [p for p in find_people(tale) if mentions(tale.story, p) >= 1][:3]
    if len(people) < 2 or sum(mentions(tale.story, p) for p in people) < 5:
        return None
    share = rng.uniform(0.5, 0.75)
    owner: dict[str, Person] = {form: p for p in people for form in p.forms}
    pattern = name_pattern(owner)

    def swap(match: re.Match[str]) -> str:
        if rng.random() > share:
            return match[0]
        return rng.choice([p for p in people if p != owner[match[0]]]).name

    text, changed = substitute(pattern, tale.story, swap)
    left = sum(1 for m in re.finditer(pattern, tale.story)) - changed
    return text if changed >= 2 and left >= 2 else None


def pronouns_mixed(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """He and she, or I and he, change places from sentence to sentence."""
    draft = Draft.of(tale)
    share, i_tell = rng.uniform(0.5, 0.75), first_person(tale)
    if i_tell and present_tense(tale):
        return None  # every verb would need another ending
    third = rng.choice(("he", "she"))
    changed, units = 0, []
    for unit in draft.units:
        if rng.random() < share:
            unit, n = _chinese_turn(unit, i_tell, rng) if is_chinese(tale) else _turn(unit, i_tell, third)
            changed += n
        units.append(unit)
    return draft.with_units(units) if changed >= (3 if is_chinese(tale) else 5) else None


def _turn(unit: str, i_tell: bool, third: str) -> tuple[str, int]:
    """Swap the pronouns of one sentence; the narrator's ``I`` becomes a third person outside quotations."""

    def her(match: re.Match[str]) -> str:
        return ("his" if match[2] else "him") + (match[2] or "")

    total = 0
    if i_tell:
        pieces = re.split(r"(\"[^\"]*\")", unit)
        for k in range(0, len(pieces), 2):
            pieces[k], n = _no_i(pieces[k], third, first=k == 0)
            total += n
        return "".join(pieces), total
    noun = rf"( (?!(?:{_NO_NOUN})\b)[a-z][\w-]+)?"
    text = re.sub(r"\bHer\b(?= [a-z])", "\x00", unit)
    text, n = substitute(
        r"\b(he|she|him|his|himself|herself|hers|He|She|His|Him)\b", text, lambda m: "\x01" + _OPPOSITE[m[0]]
    )
    text, m = substitute(rf"(?<!\x01)\b(her)\b{noun}", text, her)
    return text.replace("\x00", "His").replace("\x01", ""), n + m


def _no_i(text: str, third: str, first: bool) -> tuple[str, int]:
    forms = {"I": third, "me": {"he": "him", "she": "her"}[third], "my": {"he": "his", "she": "her"}[third]}
    forms.update(
        {"My": forms["my"].capitalize(), "myself": forms["me"] + "self", "I'd": f"{third}'d", "I'll": f"{third}'ll"}
    )
    forms.update({"I've": f"{third}'d", "I'm": f"{third}'s"})

    def other(match: re.Match[str]) -> str:
        new = forms[match[1]]
        starts = not text[: match.start()].strip() or text[: match.start()].rstrip().endswith((".", "!", "?"))
        new = new.capitalize() if starts and (first or text[: match.start()].strip()) else new
        verb = match[2] or ""
        if verb in (" am", " have", " do") and match[1] == "I":
            verb = {" am": " is", " have": " has", " do": " does"}[verb]
        return new + verb

    return substitute(r"\b(I'd|I'll|I've|I'm|I|me|myself|my|My)\b( am| have| do)?", text, other)


def _chinese_turn(unit: str, i_tell: bool, rng: random.Random) -> tuple[str, int]:
    other = {
        "他": "她",
        "她": "他",
        "我": rng.choice("他她") if i_tell else "我",
        "您": "你",
        "你": "他" if rng.random() < 0.5 else "您",
    }
    return substitute("[他她我您你](?!们)", unit, lambda m: other[m[0]])


def generic_dialogue(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """What people say replaced by what anybody might say."""
    quotes = [m for m in re.finditer(_QUOTE, _spoken(tale)) if m[0][-1] in _SPOKEN_ENDS]
    if len(quotes) < 2:
        return None
    lines, glue = list(bank("lines", "zh" if is_chinese(tale) else "en")), "" if is_chinese(tale) else " "
    chosen = set(rng.sample(range(len(quotes)), max(2, round(len(quotes) * rng.uniform(0.8, 1.0)))))
    text, end, stretch = [], 0, rng.uniform(0.7, 1.5)
    for k, quote in enumerate(quotes):
        if k not in chosen:
            continue
        said: list[str] = []
        wanted = count_words(quote[0]) * stretch
        while not said or (wanted > 3 and len(lines) > 6):
            said.append(fitting(lines, wanted, rng, among=4))
            lines.remove(said[-1])
            wanted -= count_words(said[-1])
        text += [tale.story[end : quote.start()], _end_like(glue.join(said), quote[0], _tagged(tale, quote))]
        end = quote.end()
    return "".join([*text, tale.story[end:]])


def dialogue_exchanged(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Each speaker says what another one should have said."""
    quotes = [m for m in re.finditer(_QUOTE, _spoken(tale)) if m[0][-1] in _SPOKEN_ENDS]
    if len(quotes) < 4:
        return None
    order = list(range(len(quotes)))
    for _ in range(10):
        rng.shuffle(order)
        if sum(a != b for a, b in enumerate(order)) >= 0.75 * len(order):
            break
    text, end = [], 0
    for quote, source in zip(quotes, order, strict=True):
        text += [tale.story[end : quote.start()], _end_like(quotes[source][0], quote[0], _tagged(tale, quote))]
        end = quote.end()
    return "".join([*text, tale.story[end:]])


def _spoken(tale: Tale) -> str:
    """Return the story with the narration between straight quotes blanked out, so that only speech matches."""
    if is_chinese(tale) or '"' not in tale.story:
        return tale.story
    pieces = tale.story.split('"')
    return '"'.join(p if k % 2 else re.sub(r"[^\n]", " ", p) for k, p in enumerate(pieces))


def _tagged(tale: Tale, quote: re.Match[str]) -> bool:
    """Return whether ``he said`` or the like follows."""
    return bool(
        re.match(r"\" (?:[a-z]|[\w' -]{1,30}? (?:said|asked|cried|says|asks|called)\b)", tale.story[quote.end() :])
    )


def _end_like(line: str, model: str, tagged: bool) -> str:
    """Return a line with the closing mark and the first letter that its place in the sentence needs."""
    soft, hard = "，,", "。."
    last, wanted = line[-1], model[-1]
    if (wanted in soft or tagged) and last in hard + soft:
        line = line[:-1] + ("，" if last in "。，" else ",")
    elif wanted in "。.？！?!" and last in soft:
        line = line[:-1] + ("。" if last == "，" else ".")
    return (
        line[0].lower() + line[1:]
        if model[0].islower() and not re.match(r"I\b|[A-Z]\w+ [A-Z]", line)
        else capitalize(line)
    )


def motives_flattened(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Sentences that show why people act replaced by sentences that say nothing of them."""
    draft = Draft.of(tale)
    units = draft.units
    places = [i for i in range(1, len(units)) if not is_dialogue(units[i]) and count_words(units[i]) > 4]
    if len(places) < 4:
        places = [i for i in range(1, len(units)) if count_words(units[i]) > 4]
    count = min(len(places), max(4, round(len(units) * rng.uniform(0.3, 0.5))))
    if count < 3:
        return None
    flat, stretch = phrases("flat", tale, rng), rng.uniform(0.8, 1.45)
    for i in rng.sample(places, count):
        wanted = round(count_words(units[i]) * stretch)
        units[i] = fitting(flat, wanted, rng, among=7)
        flat.remove(units[i])
        if count_words(units[i]) < wanted - 6 and rng.random() < 0.8:
            more = fitting(flat, wanted - count_words(units[i]), rng, among=7)
            flat.remove(more)
            units[i] += draft.glue + more
    return draft.with_units(units)


CHARACTERIZATION: dict[str, Operator] = {
    f.__name__: f for f in (names_swapped, pronouns_mixed, generic_dialogue, dialogue_exchanged, motives_flattened)
}
