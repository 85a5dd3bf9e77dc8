"""Edits that lower fluency: what is told stays, the language breaks."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from storyalign.preferences.offline_edits.people import find_people, find_places
from storyalign.preferences.offline_edits.text import (
    Draft,
    Operator,
    Tale,
    capitalize,
    decapitalize,
    is_chinese,
    is_dialogue,
    substitute,
)

_WRONG = {
    "was": ("were", "be"), "were": ("was", "is"), "is": ("are", "be"), "are": ("is",), "has": ("have", "having"),
    "have": ("has",), "had": ("has", "have", "having"), "does": ("do",), "do": ("does",), "did": ("done", "does"),
    "this": ("these",), "that": ("those",), "these": ("this",), "those": ("that",), "a": ("an",), "an": ("a",),
    "him": ("he",), "her": ("she",), "them": ("they",), "me": ("I",), "his": ("him",), "their": ("them",),
    "my": ("me",),
    "came": ("come", "comed"), "went": ("goed", "gone"), "took": ("taked", "taken"), "saw": ("seed", "seen"),
    "knew": ("knowed", "known"), "gave": ("gived", "given"), "said": ("say", "sayed"), "told": ("telled", "tells"),
    "stood": ("standed", "stand"), "sat": ("sitted", "sit"), "held": ("holded", "hold"), "ran": ("runned", "run"),
    "found": ("finded", "find"), "thought": ("thinked", "think"), "brought": ("bringed",), "could": ("can",),
    "would": ("will", "woulds"), "says": ("say",), "goes": ("go",), "takes": ("take",), "looks": ("look",),
    "comes": ("come",), "men": ("mans",), "women": ("womans",), "children": ("childs",), "people": ("peoples",),
    "feet": ("foots",), "teeth": ("tooths",), "in": ("on", "at"), "on": ("in", "at"), "at": ("in",), "for": ("to",),
    "of": ("from",), "with": ("by",), "to": ("at",), "from": ("of",),
}  # fmt: skip
"""English words, and forms that are wrong in their place."""

_SUBJECTS = {"He": "Him", "She": "Her", "They": "Them", "I": "Me", "We": "Us"}
_NO_PAST = {"hundred", "indeed", "need", "bleed", "speed", "breed", "exceed", "kindred", "naked", "wicked", "sacred"}
_FUNCTION = (
    "the|a|an|of|to|in|on|at|for|with|and|but|or|as|that|was|were|is|are|had|has|have|by|from|into|his|her|its|their|my|it|"
    "he|she|they|so|then|when|who|which"
)
_HAN = "[\u4e00-\u9fff]"
_CHINESE_FUNCTION = "的了着在把被就也都又是还和从里上"
_MEASURES = "个只条张块把件座碗本位根枚"
_WRONG_CHINESE = {
    "了": "着过", "着": "了过", "过": "着了", "的": "地得", "地": "的得", "得": "的地", "把": "被", "被": "把",
    "在": "从",
    "从": "在", "给": "对", "对": "给", "就": "才", "也": "却", "不": "没", "没": "不", "里": "上", "上": "里",
}  # fmt: skip


def broken_agreement(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Verb forms, pronoun cases, articles and prepositions that don't fit; in Chinese particles and measure words."""
    if is_chinese(tale):
        text, changed = _broken_chinese(tale.story, rng.uniform(0.45, 0.8), rng)
        return text if changed >= 8 else None
    share, extra = rng.uniform(0.3, 0.6), rng.choice((-1, 0, 1))

    def wrong(match: re.Match[str]) -> str:
        word = match[0]
        if rng.random() > share:
            return word
        if word in _SUBJECTS and tale.story[: match.start()].endswith((". ", "\n")):
            return _SUBJECTS[word]
        if word in _WRONG:
            return rng.choice(_WRONG[word])
        stem = re.fullmatch(r"([a-z]{3,})ed", word)
        if not stem or word in _NO_PAST:
            return word
        if extra > 0 and rng.random() < 0.6:
            return rng.choice(("did ", "was ", "has been ")) + word
        return stem[1] + ("es" if stem[1].endswith("i") and rng.random() < 0.5 else "ing")

    text, changed = substitute(r"[^\W\d_][\w'’-]*", tale.story, wrong)
    if extra < 0:
        text, dropped = substitute(
            r"\b(?:had|was|were|is|are) (?=[a-z])", text, lambda m: "" if rng.random() < share else m[0]
        )
        changed += dropped
    return text if changed >= 8 else None


def _broken_chinese(story: str, share: float, rng: random.Random) -> tuple[str, int]:
    def wrong(match: re.Match[str]) -> str:
        c = match[0]
        if rng.random() > share:
            return c
        if c in _MEASURES and story[match.start() - 1] in "一二两三四五六七八九十几半这那":
            return rng.choice([m for m in _MEASURES if m != c])
        if c not in _WRONG_CHINESE:
            return c
        return rng.choice(_WRONG_CHINESE[c]) + (rng.choice("了的着") if c in "了的着" and rng.random() < 0.3 else "")

    return substitute(f"(?<={_HAN}){_HAN}", story, wrong)


def repeated_clauses(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Clauses said twice in a row, and sentences said again where another sentence stood."""
    draft, chinese = Draft.of(tale), is_chinese(tale)
    units = draft.units
    plain = [i for i, u in enumerate(units) if not is_dialogue(u)]
    pairs = [(i, j) for i in plain for j in plain if i < j <= i + 3]
    if chinese:
        plain = list(range(len(units)))
    if len(plain) < 4:
        return None
    direction = rng.choice((-1, 1))
    pairs = [(i, j) for i, j in pairs if (len(units[i]) - len(units[j])) * direction > 0]
    again = rng.sample(pairs, min(len(pairs), rng.choice((1, 2, 2, 3))))
    for i, j in again:
        units[j] = units[i]
    stutters = rng.sample(plain, min(len(plain), rng.randint(2, 4) if direction > 0 else rng.randint(1, 3)))
    for i in stutters:
        units[i] = _stutter(units[i], chinese, _names(tale), rng)
    changed = sum(a != b for a, b in zip(units, draft.units, strict=True))
    return draft.with_units(units) if changed >= 3 else None


def _stutter(unit: str, chinese: bool, names: Sequence[str], rng: random.Random) -> str:
    comma, glue = ("，", "") if chinese else (",", " ")
    clauses = re.split(r"(?<=[，；：])" if chinese else r"(?<=[,;:]) ", unit)
    whole = [k for k, c in enumerate(clauses) if not is_dialogue(c) and len(c) > 3]
    if not whole:
        return unit
    i = rng.choice(whole)
    body = clauses[i].rstrip("，；：。！？,;:.!?")
    end = clauses[i][len(body) :]
    words = list(body) if chinese else body.split(" ")
    size = rng.randint(3, 7)
    if rng.random() < 0.6 or len(words) <= size:
        clauses[i] = f"{body}{comma}{glue}{decapitalize(glue.join(words[-size:]), names)}{end}"
    else:
        clauses[i] = f"{glue.join(words[:size])}{comma}{glue}{decapitalize(body, names)}{end}"
    return glue.join(clauses)


def run_ons(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Sentences that run into each other, without a stop or strung together by the same word."""
    draft, chinese, names = Draft.of(tale), is_chinese(tale), _names(tale)
    joiners = rng.choice(
        (("，", "", "，"), ("，然后", "，", "，接着又"), ("", ""))
        if chinese
        else ((", ", " ", ", "), (" and then ", ", and ", ", "), (" ", " so ", " "), (" ", ", "))
    )
    short, share = rng.random() < 0.5, rng.uniform(0.6, 1.0)
    paragraphs, joined = [], 0
    for paragraph in draft.paragraphs:
        out = [paragraph[0]]
        for unit in paragraph[1:]:
            if out[-1][-1] not in ".。" or unit[0] in '"“「' or rng.random() > share:
                out.append(unit)
                continue
            following = re.sub(r"^(?:He|She|They|It|Then|I) (?=\w)", "", unit) if short else unit
            out[-1] = out[-1][:-1] + rng.choice(joiners) + (unit if chinese else decapitalize(following, names))
            joined += 1
        paragraphs.append(draft.glue.join(out))
    loose = "[，、]" if chinese else r"(?<=[a-z]),(?= [a-z])|;(?= )"
    keep = rng.uniform(0.1, 0.7)
    text, dropped = substitute(loose, draft.gap.join(paragraphs), lambda m: m[0] if rng.random() < keep else "")
    return text if joined + dropped >= 5 else None


def fragments(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Sentences cut by full stops in the wrong places."""
    share = rng.uniform(0.2, 0.45)
    if is_chinese(tale):
        pattern, stop = rf"(?<={_HAN})([的了在把从就也和着不一])(?={_HAN})", "。"
    else:
        pattern = r"\b(the|of|and|to|with|in|on|for|that|was|had|at|from|her|his|as|but|who),? ([a-z])"
        stop = ". "

    def cut(match: re.Match[str]) -> str:
        if rng.random() > share:
            return match[0]
        return match[1] + stop + (match[2].upper() if match.lastindex == 2 else "")

    text, cuts = substitute(pattern, tale.story, cut)
    return text if cuts >= 6 else None


def function_words_astray(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Small words missing in some places and doubled in others."""
    chinese = is_chinese(tale)
    drop, double = rng.choice(((0.3, 0.0), (0.2, 0.1), (0.1, 0.2), (0.0, 0.25), (0.15, 0.15)))
    scale = rng.uniform(0.7, 1.2) * (2.2 if chinese else 1)

    def astray(match: re.Match[str]) -> str:
        chance = rng.random()
        if chance < drop * scale:
            return ""
        return match[0] * 2 if chance < (drop + double) * scale else match[0]

    pattern = f"(?<={_HAN})[{_CHINESE_FUNCTION}](?={_HAN})" if chinese else rf"(?<= )(?:{_FUNCTION}) (?=\w)"
    text, changed = substitute(pattern, tale.story, astray)
    return text if changed >= 7 else None


def scrambled_word_order(tale: Tale, _donors: Sequence[Tale], rng: random.Random) -> str | None:
    """Words in the wrong order within the clauses of many sentences."""
    draft, chinese, names = Draft.of(tale), is_chinese(tale), _names(tale)
    share = rng.uniform(0.7, 1.0) if chinese else rng.uniform(0.4, 0.8)
    units = [_scramble(u, chinese, names, rng) if rng.random() < share else u for u in draft.units]
    changed = sum(a != b for a, b in zip(units, draft.units, strict=True))
    return draft.with_units(units) if changed >= max(3, len(units) // 4) else None


def _scramble(unit: str, chinese: bool, names: Sequence[str], rng: random.Random) -> str:
    if chinese:
        return re.sub(f"{_HAN}{{5,}}", lambda m: _shuffled(re.findall("..?", m[0]), "", 3, rng), unit)

    def clause(match: re.Match[str]) -> str:
        words = match[0].split(" ")
        if len(words) < 4:
            return match[0]
        before = unit[: match.start()]
        quoted = before.endswith('"') or before.rstrip().endswith(('."', '!"', '?"'))
        starts = not before or quoted or before.rstrip().endswith((".", "!", "?"))
        words[0] = decapitalize(words[0], names)
        mixed = _shuffled(words, " ", rng.choice((3, 4, 5)), rng)
        return capitalize(mixed) if starts else mixed

    return re.sub(r"[\w'’-]+(?: [\w'’-]+)+", clause, unit)


def _shuffled(pieces: Sequence[str], glue: str, size: int, rng: random.Random) -> str:
    out: list[str] = []
    for start in range(0, len(pieces), size):
        run = list(pieces[start : start + size])
        rng.shuffle(run)
        out += run
    return glue.join(out)


def _names(tale: Tale) -> list[str]:
    return [w for p in find_people(tale) for f in p.forms for w in f.split()] + list(find_places(tale))


FLUENCY: dict[str, Operator] = {
    f.__name__: f
    for f in (broken_agreement, repeated_clauses, run_ons, fragments, function_words_astray, scrambled_word_order)
}
