"""Ready-made sentences that some offline edits insert into a story.

One text file per language and bank in ``banks/``, one phrase per line. ``{who}``, ``{whose}`` and ``{whom}`` stand for
one person of the story, ``{other}`` for another one, ``[went/goes]`` for past and present tense.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache, lru_cache

from storyalign.preferences.offline_edits.people import find_people, first_person, mentions, present_tense
from storyalign.preferences.offline_edits.text import Tale, bank, capitalize, count_words, is_chinese

_FIRST_PRESENT = {"is": "am", "has": "have", "does": "do", "goes": "go", "realises": "realise"}
_NARRATOR = {"en": "I", "zh": "我"}
_OTHERS = {"en": ("somebody else", "the other one", "an old friend"), "zh": ("那个人", "另一个人", "旁边的人")}
_NOBODY = {"en": ("somebody", "the one in question"), "zh": ("那人", "当事人")}


def phrases(name: str, tale: Tale, rng: random.Random) -> list[str]:
    """Return all phrases of a bank in random order, filled in with the people and tense of a tale."""
    language = "zh" if is_chinese(tale) else "en"
    found = [_fill(phrase, tale, rng) for phrase in _in_tense(name, language, language == "en" and present_tense(tale))]
    rng.shuffle(found)
    return found


def fitting(candidates: Sequence[str], words: float, rng: random.Random, among: int = 5) -> str:
    """Return one of the phrases whose lengths are closest to ``words``."""
    return rng.choice(sorted(candidates, key=lambda p: abs(count_words(p) - words))[:among])


@cache
def _in_tense(name: str, language: str, present: bool) -> tuple[str, ...]:
    return tuple(
        re.sub(r"\[([^/\]]+)/([^\]]+)\]", r"\2" if present else r"\1", phrase) for phrase in bank(name, language)
    )


@lru_cache(maxsize=4096)
def _cast(tale: Tale) -> tuple[str, ...]:
    """The names of the three people that premise and story mention most; a narrator and silent people are left out."""
    people = sorted(find_people(tale), key=lambda p: -mentions(tale.premise + tale.story, p))[:3]
    return tuple(p.name for p in people if not first_person(tale) or mentions(tale.story, p) > 1)


def _fill(phrase: str, tale: Tale, rng: random.Random) -> str:
    language = "zh" if is_chinese(tale) else "en"
    names = list(_cast(tale))
    if first_person(tale):
        who = _NARRATOR[language]
    else:
        who = names.pop(rng.randrange(min(2, len(names)))) if names else rng.choice(_NOBODY[language])
    other = rng.choice(names or _OTHERS[language])
    if language == "zh":
        return phrase.format(who=who, other=other)
    i_tell = who == "I"
    text = phrase.format(who=who, other=other, whose="my" if i_tell else f"{who}'s", whom="me" if i_tell else who)
    if i_tell and present_tense(tale):
        text = re.sub(r"\bI (\w+)\b", lambda m: f"I {_first_present(m[1])}", text)
    return capitalize(text)


def _first_present(verb: str) -> str:
    if verb in _FIRST_PRESENT:
        return _FIRST_PRESENT[verb]
    if verb.endswith(("ches", "shes", "sses", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
