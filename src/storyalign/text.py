"""What the kit knows about text: words, sentences, identity."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

_CJK = re.compile(
    "[\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003134f]"  # Han, supplementary planes
)

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")

_ASCII = re.compile("[\x00-\x7f]+")
_FEW = 100
"""Different characters beyond ASCII that are replaced one after the other."""

_SPACES = bytes(0x20 if chr(code).isspace() else code for code in range(128)) + bytes(128)
_NO_WORD = bytes(code for code in range(128) if not chr(code).isalnum() and not chr(code).isspace())

UNKNOWN_LANGUAGE = "und"
"""ISO 639's code for an undetermined language; what a row has that names none."""

_WORD = re.compile(r"[^\W_]\S*")
"""A letter or digit and what follows it; punctuation alone, as between two characters, is no word."""


def count_words(text: str) -> int:
    """Count words: each Chinese or Japanese character is one word, everything else is split by white space.

    >>> count_words("The sea was calm.")
    4
    >>> count_words("海很平静。")
    4
    """
    # Two ways to the same number; the first is several times as fast, and most texts are such.
    if (plain := _plain(text)) is not None:
        return len(plain.translate(None, _NO_WORD).split())
    spaced, characters = _CJK.subn(" ", text)
    return characters + len(_WORD.findall(spaced))


def beyond_ascii(text: str) -> str:
    """Give the characters of a text that are not ASCII, in their order.

    >>> beyond_ascii("“Café?” she said.")
    '“é”'
    """
    return "" if text.isascii() else _ASCII.sub("", text)


def _plain(text: str) -> bytes | None:
    """Write a text in ASCII that has the same words; None where that takes long, or a character is a word."""
    beyond = beyond_ascii(text)
    different = set(beyond)
    if len(different) > _FEW or _CJK.search(beyond):
        return None
    for character in different:
        text = text.replace(character, "a" if character.isalnum() else " " if character.isspace() else "-")
    # What bytes.split takes for no space, and str.split does.
    return text.encode().translate(_SPACES)


def script_language(text: str) -> str:
    """Guess the language from the script: ``ja`` with kana, ``zh`` where a fifth of the letters is Han, else ``en``.

    Enough to choose fonts and sentence rules.
    """
    letters = len(_LETTER.findall(text))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if letters and kana * 10 >= letters:
        return "ja"
    return "zh" if letters and han * 5 >= letters else "en"


def length_of(text: str) -> str:
    """Say how long a text is, in words, or in characters where these are counted.

    >>> length_of("The sea was calm."), length_of("海很平静。")
    ('4 words', '4 characters')
    """
    return say_length(count_words(text), script_language(text))


def say_length(words: int, language: str) -> str:
    """Name the unit of a count of words."""
    return f"{words:,} {'words' if language == 'en' else 'characters'}"


def distinct_words(text: str) -> set[str]:
    """Give the different words of a text, in lower case and without punctuation; a CJK character is a word.

    >>> sorted(distinct_words("The sea, the sea! 海"))
    ['sea', 'the', '海']
    """
    return set(words_of(text))


def words_of(text: str) -> list[str]:
    """Give the words of a text in order, in lower case and without punctuation; a CJK character is a word.

    >>> words_of("The sea, the sea! 海狗")
    ['the', 'sea', 'the', 'sea', '海', '狗']
    """
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", _CJK.sub(r" \g<0> ", text).casefold())


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Split a text into sentences, in order, white space trimmed, empty ones left out.

    Args:
        text: one story; paragraphs end sentences.
        language: an ISO 639-1 code; unknown codes fall back to English rules, ``und`` to those of the script.
    """
    from sentencex import segment

    language = script_language(text) if language == UNKNOWN_LANGUAGE else language
    return [s for paragraph in text.splitlines() for part in segment(language, paragraph) if (s := part.strip())]


def text_key(text: str) -> int:
    """Give a 64-bit key that texts share if they differ in spaces, tabs and line breaks alone."""
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass").translate(None, b" \t\n\r\v\f"))


def content_id(prefix: str, *parts: str) -> str:
    """Give a stable id that depends on the content alone: ``prefix-`` and 16 hexadecimal digits.

    Parts are length-prefixed before hashing, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    return f"{prefix}-{digest(*parts)[:16]}"


def digest(*parts: str) -> str:
    """Hash texts to 64 hexadecimal digits (SHA-256 over length-prefixed UTF-8)."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big") + data)
    return hasher.hexdigest()


def judged_texts(prompt: str, stories: Iterable[str]) -> str:
    """Hash what a person judged: the premise and the stories, in the order in which the group lists them."""
    return digest(prompt, *stories)
