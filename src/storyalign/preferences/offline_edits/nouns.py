"""Key nouns of a premise, and kinds of things, for edits that swap or blur what a story is about."""

from __future__ import annotations

import random
import re
from functools import cache, lru_cache

from storyalign.preferences.offline_edits.people import find_people, find_places
from storyalign.preferences.offline_edits.text import Tale, bank, bank_words, is_chinese, substitute

_DETERMINER = r"(?:the|a|an|his|her|their|its|my|our|your|this|one|each|every|no|any|some|another)"
_AFTER = (
    r"(?=[.,;:!?\"]|\s+(?:is|was|are|were|has|had|of|and|or|to|that|who|which|in|on|at|for|from|by|with|as|but|will|would|"
    r"could|into|over|under|because|when|while|before|after|until)\b|$)"
)
_MASS = {"food", "drink", "stuff", "clothes", "weather"}


@lru_cache(maxsize=4096)
def key_nouns(tale: Tale) -> tuple[str, ...]:
    """Return the nouns that premise and story share, singular, in the order of the premise.

    In Chinese, where words have no borders, these are the members of ``kinds`` that the story names.
    """
    if is_chinese(tale):
        return tuple(m for m in members("zh") if m in tale.story)
    names = {w.lower() for p in find_people(tale) for f in p.forms for w in f.split()}
    found: dict[str, None] = {}
    for match in re.finditer(rf"\b{_DETERMINER}\s+(?:[a-z-]+\s+)?([a-z]{{3,}}){_AFTER}", tale.premise):
        noun = match[1]
        single = noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
        if {noun, single} & bank_words("no_nouns", "en") or noun in names:
            continue
        if re.search(rf"\b{single}s?\b", tale.story):
            found.setdefault(single)
    premise, story = set(re.findall(r"\w+", tale.premise)), set(re.findall(r"\w+", tale.story))
    found.update((m, None) for m in members("en") if {m, f"{m}s"} & premise and {m, f"{m}s"} & story)
    return tuple(found)


def neighbour(noun: str, language: str, rng: random.Random) -> str | None:
    """Return another thing of the same kind, or None if the kind of the noun is unknown."""
    for _, group in kinds(language):
        if noun in group:
            return rng.choice([m for m in group if m != noun])
    return None


@cache
def kinds(language: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return groups of similar things, each with the general word for them, such as ``bird``: heron, owl."""
    colon = "：" if language == "zh" else ":"
    lines = (line.split(colon) for line in bank("kinds", language))
    return tuple((general.strip(), tuple(dict.fromkeys(members.split()))) for general, members in lines)


def members(language: str, *generals: str) -> list[str]:
    """Return the members of all groups with one of these general words, or of all groups."""
    return [m for general, group in kinds(language) if not generals or general in generals for m in group]


def swap_words(text: str, new_words: dict[str, str], chinese: bool) -> tuple[str, int]:
    """Replace whole words, plurals included, and correct ``a`` and ``an``.

    Returns:
        The text and how many places changed.
    """
    if not new_words:
        return text, 0
    body = _any_of(frozenset(new_words))
    if chinese:
        return re.subn(body, lambda m: new_words[m[0]], text)

    def swap(match: re.Match[str]) -> str:
        new = _plural(new_words[match[2]]) if match[3] else new_words[match[2]]
        return _article(match[1] or "", new) + new

    verb = r"(?<!\bto )(?<!'ll )(?<!will )(?<!would )(?<!could )(?<!not )"
    return re.subn(rf"{verb}\b([Aa]n? )?({body})(s?)\b(?!['’])", swap, text)


@lru_cache(maxsize=4096)
def _any_of(words: frozenset[str]) -> str:
    return "|".join(re.escape(w) for w in sorted(words, key=lambda w: (-len(w), w)))


def _plural(noun: str) -> str:
    return re.sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"


def _article(article: str, following: str) -> str:
    if article.strip().lower() not in ("a", "an"):
        return article
    return article[0] + ("n " if following[0].lower() in "aeiou" else " ")


def blur_nouns(text: str, new_words: dict[str, str], rng: random.Random) -> tuple[str, int]:
    """Replace nouns after a determiner by general words, often without the adjective before them. English only.

    Returns:
        The text and how many places changed.
    """
    if not new_words:
        return text, 0
    body = _any_of(frozenset(new_words))

    def blur(match: re.Match[str]) -> str:
        determiner, adjective, noun, plural = match[1], match[2] or "", match[3], match[4]
        general = new_words[noun]
        if determiner in ("of", "with") and general not in _MASS:
            return match[0]
        general = _plural(general) if plural and general not in _MASS else general
        if rng.random() < 0.6:
            adjective = ""
        if determiner.lower() in ("a", "an"):
            if general in _MASS:
                determiner = "Some" if determiner[0] == "A" else "some"
            else:
                determiner = _article(determiner + " ", adjective or general).strip()
        return f"{determiner} {adjective}{general}"

    text, changed = substitute(
        rf"\b({_DETERMINER[3:-1]}|The|A|An|His|Her|Their|My|of|with) ([a-z]+ )?({body})(s?)\b(?!['’-])", text, blur
    )
    return re.sub(rf"\b({_any_of(frozenset(new_words.values()))}) \1\b", r"\1", text), changed


@lru_cache(maxsize=65536)
def other_names(tale: Tale, donor: Tale) -> dict[str, str]:
    """Map the people and places of a tale to those of the donor, as long as the donor has any left."""
    theirs = [p.name for p in find_people(donor)]
    names = {f: new for p, new in zip(find_people(tale), theirs, strict=False) for f in p.forms}
    names.update(zip(find_places(tale), find_places(donor), strict=False))
    return {old: new for old, new in names.items() if old != new}
