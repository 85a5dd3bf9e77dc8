"""Who a story is about: names of people and of places, found by rules alone, and who tells it when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from storyalign.preferences.offline_edits.text import Tale, bank, bank_words, is_chinese, outside_quotes

_WORD = re.compile(r"[^\W\d_](?:[\w]|['’-](?=\w))*")
_PLACE_BEFORE = re.compile(
    r"in|at|from|near|to|of|off|the|outside|inside|across|through|towards?|into|around|for|on", re.IGNORECASE
)
_SPEECH = r"(?:said|says|asked|asks|cried|called|answered|told|replied|thought|whispered|shouted|added)"
_ACTS = (
    "说问道答喊骂笑把将从在站坐蹲走跑看望没不也又就却只抬低摸拿放指抱点摇叹回转红搓冲嘴"
    "拍咬夹嚼塞掏推拉哭扯握捧端换添递接撬：和跟给"
)
_NICK, _NICK_TAIL = "小老阿大", "爷嫂婶伯叔娘爹"


@dataclass(frozen=True, slots=True)
class Person:
    """One person of a story."""

    name: str
    """The form that the story uses most, without a title."""
    forms: tuple[str, ...]
    """All forms, longest first."""


@lru_cache(maxsize=4096)
def find_people(tale: Tale) -> tuple[Person, ...]:
    """Return the people named in the story, most mentioned first."""
    people = _chinese_people(tale) if is_chinese(tale) else _english_people(tale)
    return tuple(sorted(people, key=lambda p: (-mentions(tale.story, p), p.name)))


@lru_cache(maxsize=4096)
def find_places(tale: Tale) -> tuple[str, ...]:
    """Return capitalised names in the premise that are not people: places, ships, institutions. English only."""
    if is_chinese(tale):
        return ()
    known = {w for p in find_people(tale) for f in p.forms for w in f.split()}
    found = sorted({w for w in _names_inside_sentences(tale.premise) if w not in known})
    if not found:
        return ()
    word = f"(?:{'|'.join(map(re.escape, found))})"
    return tuple(dict.fromkeys(re.findall(rf"(?<![\w-]){word}(?:[ -]{word})*(?![\w-])", tale.premise)))


def mentions(text: str, person: Person) -> int:
    """Return how often a text names a person."""
    return len(re.findall(name_pattern(person.forms), text))


def rename(text: str, names: Mapping[str, str]) -> str:
    """Replace whole names by other names, all at once."""
    return re.sub(name_pattern(names), lambda m: names[m[0]], text) if names else text


def name_pattern(names: Iterable[str]) -> str:
    """Return a pattern that matches any of the names, longest first; as whole words where a script separates words."""
    body = "|".join(re.escape(n) for n in sorted(names, key=lambda n: (-len(n), n)))
    return body if re.search("[\u4e00-\u9fff]", body) else rf"(?<![\w-])(?:{body})(?![\w-])"


@lru_cache(maxsize=4096)
def first_person(tale: Tale) -> bool:
    """Return whether the narrator says ``I``."""
    narration = outside_quotes(tale.story)
    if is_chinese(tale):
        return narration.count("我") >= 2
    return len(re.findall(r"\b(?:I|my|me)\b", narration)) >= 4


@lru_cache(maxsize=4096)
def present_tense(tale: Tale) -> bool:
    """Return whether the narration is in the present tense. English only."""
    narration = outside_quotes(tale.story)
    past = len(re.findall(r"\b(?:was|were|had|did|said|could|went|came|\w+ed)\b", narration))
    now = len(re.findall(r"\b(?:is|are|has|does|says|can|goes|comes|asks|looks|takes|turns|puts)\b", narration))
    return now > past


def _bare(word: str) -> str:
    return re.sub(r"['’]s$", "", word)


def _names_inside_sentences(text: str) -> list[str]:
    """Return capitalised words that do not start a sentence or a quotation, without titles, days and months."""
    found, before, end = [], "", 0
    for match in _WORD.finditer(text):
        between, word = text[end : match.start()], _bare(match[0])
        opens = end == 0 or (re.search(r"[.!?:\n—]\s*$|[\"“]", between) and before not in bank_words("titles", "en"))
        before, end = match[0], match.end()
        if (
            opens
            or len(word) == 1
            or not word[0].isupper()
            or word[:2] in ("I'", "I’")
            or (word[1:] and word.isupper())
        ):
            continue
        if word not in bank_words("titles", "en") and word not in bank_words("no_names", "en"):
            found.append(word)
    return found


def _english_people(tale: Tale) -> list[Person]:
    text = f"{tale.premise}\n{tale.story}"
    names = _person_words(text)
    any_name = name_pattern(names)[len(r"(?<![\w-])") : -len(r"(?![\w-])")]
    runs = re.findall(rf"(?<!\w){any_name}(?:\s{any_name}(?!\w))+", text) if names else []
    same: dict[str, set[str]] = {name: {name} for name in names}
    for run in runs:
        for a, b in pairwise(run.split()):
            joined = same[a] | same[b]
            same.update(dict.fromkeys(joined, joined))
    people = []
    for group in sorted({frozenset(g) for g in same.values()}, key=sorted):
        counts = {w: len(re.findall(rf"(?<!\w){re.escape(w)}(?!\w)", tale.story)) for w in sorted(group)}
        if any(counts.values()):
            forms = {*group, *(run for run in runs if group & set(run.split()))}
            name = max(counts, key=lambda w: (counts[w], w))
            people.append(Person(name, tuple(sorted(forms, key=lambda f: (-len(f), f)))))
    return people


def _person_words(text: str) -> list[str]:
    """Return capitalised words that act, speak, own or follow a title more often than ``in`` or ``from``."""
    inside, tokens = set(_names_inside_sentences(text)), _WORD.findall(text)
    lower = {w for w in tokens if w.islower()}
    person: Counter[str] = Counter()
    for before, raw, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        word = _bare(raw)
        if word not in inside or word.lower() in lower:
            continue
        if re.fullmatch(_SPEECH, before) or re.fullmatch(_SPEECH, after) or before in bank_words("titles", "en"):
            person[word] += 3
        elif _PLACE_BEFORE.fullmatch(before):
            person[word] -= 1
        elif raw != word or before[:1].isupper() or after[:1].isupper() or after.islower():
            person[word] += 1 + after.endswith("ed")
    return sorted(w for w, score in person.items() if score > 0)


def _chinese_people(tale: Tale) -> list[Person]:
    text = f"{tale.premise}\n{tale.story}"
    surnames, no_names = "".join(bank("surnames", "zh")), bank_words("no_names", "zh")
    found: dict[str, int] = {}
    for size in (2, 3):
        for start in range(len(text) - size + 1):
            piece = text[start : start + size]
            if not re.fullmatch("[\u4e00-\u9fff]+", piece) or piece[:2] in no_names:
                continue
            if piece[0] in surnames or (size == 2 and (piece[0] in _NICK or piece[1] in _NICK_TAIL)):
                found[piece] = len(re.findall(f"(?<![一两三几这那每青]){piece}", text))
    acting = {p for p, n in found.items() if n >= 2 and re.search(f"{p}(?:[{_ACTS}]|……)", text)}
    names = [p for p in sorted(acting, key=lambda p: (-found[p], p)) if not _part_or_whole(p, acting, found)]
    people: list[Person] = []
    for name in (_whole_name(n, text) for n in names):
        if not any(name in p.forms for p in people):
            short = len(name) == 3 and text.count(name[1:]) > text.count(name)
            people.append(Person(name, (name, name[1:]) if short else (name,)))
    return people


def _whole_name(name: str, text: str) -> str:
    """Lengthen a name that is always followed by the same character, as foreign names are: 巴赫 to 巴赫拉姆."""
    while len(name) < 6:
        following = {text[m.end() : m.end() + 1] for m in re.finditer(name, text)}
        if text.count(name) < 3 or len(following) > 1 or not re.fullmatch("[\u4e00-\u9fff]", min(following)):
            break
        name += min(following)
    return name


def _part_or_whole(name: str, names: set[str], found: Mapping[str, int]) -> bool:
    """Return whether a string is only part of a name, or a name plus what happened to follow it."""
    part = any(name in q and q != name and found[q] >= 0.6 * found[name] for q in names)
    return part or any(q in name and q != name and found[name] < 0.6 * found[q] for q in names)
