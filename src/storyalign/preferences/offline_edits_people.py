"""Who a story is about: names of people and of other things, found by rules alone."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from storyalign.preferences.offline_edits_text import Tale, is_chinese, outside_quotes

_WORD = re.compile(r"[^\W\d_](?:[\w]|['’-](?=\w))*")
_TITLES = {"Mr", "Mrs", "Ms", "Dr", "St", "Miss", "Sir", "Lady", "Lord", "Father", "Mother", "Sister", "Brother", "Captain", "Colonel", "General", "Governor", "Inspector", "Landlord", "Burgomaster", "Mama", "Papa", "Widow", "Haji", "Lola", "Master", "Aunt", "Uncle", "Grandmother", "Grandfather", "King", "Queen", "Clerk", "Judge", "Professor", "Doctor", "Majesty", "Old", "Young", "Technician", "Officer", "President", "Sergeant", "Lieutenant", "Major", "Prince", "Princess"}
_NO_NAMES = _TITLES | {"I", "God", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December", "Easter", "Christmas", "Lent", "Pentecost", "English", "Irish", "Greek", "German", "Germans", "Turkish", "French", "Spanish", "Dutch", "Chinese", "Persian", "Latin", "Christ", "Judas", "Virgin", "BC", "AD", "OK", "New", "Year", "Eve", "No", "Yes", "Junction", "Station", "Bay", "Castle", "River", "Street", "City", "Island", "Famous", "Errors", "Death"}
_PLACE_BEFORE = {"in", "at", "from", "near", "to", "of", "off", "the", "outside", "inside", "across", "through", "toward", "towards", "into", "around", "for", "on"}
_SPEECH = {"said", "says", "asked", "asks", "cried", "called", "answered", "told", "replied", "thought", "whispered", "shouted", "added"}
_SURNAMES = set(
    "王李张刘陈杨黄赵吴周徐孙朱胡郭何罗宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜范"
    "方石姚谭廖邹熊陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文祝柳谷巴祁庞樊颜倪严牛俞季"
)
_NICK = "小老阿大"
_NICK_TAIL = "爷嫂婶伯叔娘爹"
_NO_CHINESE_NAMES = {"小心", "小时", "小学", "小声", "小孩", "小路", "老人", "老师", "老板", "老伴", "老家", "老是", "老天", "大人", "大家", "大声", "大夫", "大概", "大水", "大旱", "大赛", "大门", "大洋", "阿姨", "石头", "江边", "江里", "江面", "白纸", "白天", "文书", "常常", "方便", "许多", "许是", "任何", "余下", "万一", "石阶", "石匠", "白表", "易碎", "何况", "何必", "何时", "段路", "钟头", "钱庄", "大徒", "小半", "老了", "大了", "小的", "大的", "老艄", "老裁", "雷声", "龙王", "牛车", "文字", "方向", "程度", "常年", "武功", "田里", "田地", "汤里", "毛笔", "白发", "夏天", "秦朝", "唐朝"}
_ACTS = "说问道答喊骂笑把将从在站坐蹲走跑看望没不也又就却只抬低摸拿放指抱点摇叹回转红搓冲嘴：和跟给"


@dataclass(frozen=True, slots=True)
class Person:
    """One person of a story."""

    name: str
    """The form that the story uses most, without a title."""
    forms: tuple[str, ...]
    """All forms, longest first."""


@lru_cache(maxsize=4096)
def find_people(tale: Tale) -> tuple[Person, ...]:
    """Find the people who are named in the story, the one with most mentions first."""
    return tuple(_chinese_people(tale) if is_chinese(tale) else _english_people(tale))


@lru_cache(maxsize=4096)
def find_places(tale: Tale) -> tuple[str, ...]:
    """Find capitalised names of the premise that are no people: places, ships, institutions. English only."""
    if is_chinese(tale):
        return ()
    known = {w for p in find_people(tale) for f in p.forms for w in f.split()}
    found = Counter(w for w, _, first in _capitals(tale.premise) if not first and w not in known)
    return tuple(sorted(found, key=lambda w: (-found[w], w)))


def mentions(text: str, person: Person) -> int:
    """Count how often a text names a person."""
    return len(_pattern([*person.forms]).findall(text))


def rename(text: str, names: Mapping[str, str]) -> str:
    """Replace whole names by other names, all at once."""
    if not names:
        return text
    return _pattern(list(names)).sub(lambda m: names[m[0]], text)


def _pattern(names: list[str]) -> re.Pattern[str]:
    body = "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True))
    ascii_edges = all(not re.search("[\u4e00-\u9fff]", n) for n in names)
    return re.compile(rf"(?<![\w-])(?:{body})(?![\w-])" if ascii_edges else body)


def _capitals(text: str) -> list[tuple[str, str, bool]]:
    """Capitalised words with the word before and whether they open a sentence or quotation."""
    found, before, end = [], "", 0
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        first = end == 0 or (bool(re.search(r"[.!?:\"“\n—]\s*$|\"", between)) and before not in _TITLES)
        word = re.sub(r"['’]s$", "", match[0])
        if (
            word[:1].isupper()
            and word not in _NO_NAMES
            and word[:2] not in ("I'", "I’")
            and not (word[1:] and word.isupper())
        ):
            found.append((word, before, first))
        before, end = match[0], match.end()
    return found


def _english_people(tale: Tale) -> list[Person]:
    text = f"{tale.premise}\n{tale.story}"
    inside = {w for w, _, first in _capitals(text) if not first}
    lower = {w for w in _WORD.findall(text) if w.islower()}
    person: Counter[str] = Counter()
    place: Counter[str] = Counter()
    words = [(re.sub(r"['’]s$", "", w), w) for w in _WORD.findall(text)]
    for i, (word, raw) in enumerate(words):
        if word not in inside or word.lower() in lower:
            continue
        before = words[i - 1][1] if i else ""
        after = words[i + 1][1] if i + 1 < len(words) else ""
        if before in _SPEECH or before in _TITLES or after in _SPEECH:
            person[word] += 3
        elif before.lower() in _PLACE_BEFORE:
            place[word] += 1
        elif raw != word or after.endswith("ed") or before[:1].isupper() or after[:1].isupper() or after.islower():
            person[word] += 1
    names = {w for w in person if person[w] > place[w]}
    groups: dict[str, set[str]] = {}
    for match in re.finditer(r"[^\W\d_][\w'’-]*(?:\s[^\W\d_][\w'’-]*)+", text):
        run = [re.sub(r"['’]s$", "", w) for w in match[0].split()]
        for a, b in itertools.pairwise(run):
            if a in names and b in names:
                joined = groups.get(a, {a}) | groups.get(b, {b})
                groups.update(dict.fromkeys(joined, joined))
    people: dict[frozenset[str], Person] = {}
    for word in sorted(names):
        group = frozenset(groups.get(word, {word}))
        if group in people:
            continue
        counts = {w: len(re.findall(rf"(?<!\w){re.escape(w)}(?!\w)", tale.story)) for w in sorted(group)}
        if not any(counts.values()):
            continue
        full = re.findall(
            rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(group)))})(?:\s(?:{'|'.join(map(re.escape, sorted(group)))})(?!\w))+",
            text,
        )
        forms = sorted({*group, *full}, key=lambda f: (-len(f), f))
        people[group] = Person(max(counts, key=lambda w: (counts[w], w)), tuple(forms))
    return sorted(people.values(), key=lambda p: (-mentions(tale.story, p), p.name))


def _chinese_people(tale: Tale) -> list[Person]:
    text = f"{tale.premise}\n{tale.story}"
    found: dict[str, int] = {}
    for size in (2, 3):
        for start in range(len(text) - size + 1):
            piece = text[start : start + size]
            if (
                not re.fullmatch("[\u4e00-\u9fff]+", piece)
                or piece in _NO_CHINESE_NAMES
                or piece[:2] in _NO_CHINESE_NAMES
            ):
                continue
            if piece[0] in _SURNAMES or (size == 2 and (piece[0] in _NICK or piece[1] in _NICK_TAIL)):
                found[piece] = len(re.findall(f"(?<![一两三几这那每青]){piece}", text))
    acting = {p for p, n in found.items() if n >= 2 and re.search(f"{p}(?:[{_ACTS}]|……)", text)}
    names = {
        p
        for p in acting
        if not any(q != p and p in q and found[q] >= 0.6 * found[p] for q in acting)
        and not any(q != p and q in p and found[p] < 0.6 * found[q] for q in acting)
    }
    people: list[Person] = []
    for name in sorted(names, key=lambda n: (-found[n], n)):
        if any(name in p.forms for p in people):
            continue
        forms = [name]
        if len(name) == 3 and text.count(name[1:]) > text.count(name):
            forms.append(name[1:])
        people.append(Person(name, tuple(forms)))
    return people


@lru_cache(maxsize=4096)
def first_person(tale: Tale) -> bool:
    """Tell whether the narrator says ``I``."""
    narration = outside_quotes(tale.story)
    if is_chinese(tale):
        return narration.count("我") >= 2
    return len(re.findall(r"\b(?:I|my|me)\b", narration)) >= 4


@lru_cache(maxsize=4096)
def present_tense(tale: Tale) -> bool:
    """Tell whether the narration is in the present tense. English only."""
    narration = outside_quotes(tale.story)
    past = len(re.findall(r"\b(?:was|were|had|did|said|could|went|came|\w+ed)\b", narration))
    now = len(re.findall(r"\b(?:is|are|has|does|says|can|goes|comes|asks|looks|takes|turns|puts)\b", narration))
    return now > past
