"""What the kit knows about text: words, sentences, identity."""

from __future__ import annotations

import hashlib
import re

_CJK = re.compile(
    "[\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003134f]"  # Han, supplementary planes
)

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")

_WORD = re.compile(r"[^\W_]\S*")
"""A letter or digit and what follows it; punctuation alone, as between two characters, is no word."""


def count_words(text: str) -> int:
    """Count words: each Chinese or Japanese character is one word, everything else is split by white space.

    >>> count_words("The sea was calm.")
    4
    >>> count_words("海很平静。")
    4
    """
    spaced, characters = _CJK.subn(" ", text)
    return characters + len(_WORD.findall(spaced))


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
        language: an ISO 639-1 code; unknown codes fall back to English rules.
    """
    from sentencex import segment

    return [s for paragraph in text.splitlines() for part in segment(language, paragraph) if (s := part.strip())]


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
