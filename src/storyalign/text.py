"""What the kit knows about text: words, sentences, identity."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from xxhash import xxh3_64_intdigest

_CJK_RANGES = (
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003134f"  # Han, supplementary planes
)
_CJK = re.compile(f"[{_CJK_RANGES}]")
_WORD = re.compile(rf"[{_CJK_RANGES}]|[^\W_][^\s{_CJK_RANGES}]*")
"""One character of Chinese or Japanese, or a letter or digit and what follows it up to a space or such a character."""

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_ASCII = re.compile("[\x00-\x7f]+")
_LOWER = bytes(range(128)).lower() + bytes(range(128, 256))
_NO_LETTER = bytes(code for code in range(128) if not chr(code).isalnum())

TEXT_RULE = "nfc-trimmed-lf"
"""Name of what ``same_text`` does, part of every reward's signature; change it with the function."""

_ENDS = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
    "\u200b\u2060\ufeff"  # zero-width space, word joiner, byte order mark
)

UNKNOWN_LANGUAGE = "und"
"""ISO 639's code for an undetermined language; what a row has that names none."""


def same_text(text: str) -> str:
    r"""Return the one form in which models and judges read a premise or a story, whichever way it came in.

    Line ends become ``\n``, the Unicode form NFC; white space, byte order marks and zero-width spaces at both ends go.
    Nothing else changes.

    >>> same_text("\ufeffA light.\r\nCafe\u0301.\n\n")
    'A light.\nCafé.'
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.strip(_ENDS)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def count_words(text: str) -> int:
    """Return the number of words, where a Chinese or Japanese character is one word.

    Other words end at white space or at such a character and hold at least one letter or digit.

    >>> count_words("The sea was calm.")
    4
    >>> count_words("海很平静。")
    4
    """
    return len(_WORD.findall(text))


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII, in order.

    >>> beyond_ascii("“Café?” she said.")
    '“é”'
    """
    return "" if text.isascii() else _ASCII.sub("", text)


def script_language(text: str) -> str:
    """Return the language that the script suggests: ``ja`` with kana, ``zh`` with a fifth of Han letters, else ``en``.

    Enough to choose fonts and sentence rules.
    """
    letters = len(_LETTER.findall(text))
    han, kana = len(_HAN.findall(text)), len(_KANA.findall(text))
    if letters and kana * 10 >= letters:
        return "ja"
    return "zh" if letters and han * 5 >= letters else "en"


def length_of(text: str) -> str:
    """Return the length of a text in words, or in characters where those are counted.

    >>> length_of("The sea was calm."), length_of("海很平静。")
    ('4 words', '4 characters')
    """
    return say_length(count_words(text), script_language(text))


def say_length(words: int, language: str) -> str:
    """Return a count of words with its unit."""
    return f"{words:,} {'words' if language == 'en' else 'characters'}"


def distinct_words(text: str) -> set[str]:
    """Return the distinct words of a text, in lower case and without punctuation; a CJK character is a word.

    >>> sorted(distinct_words("The sea, the sea! 海"))
    ['sea', 'the', '海']
    """
    return set(words_of(text))


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and without punctuation; a CJK character is a word.

    >>> words_of("The sea, the sea! 海狗")
    ['the', 'sea', 'the', 'sea', '海', '狗']
    """
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", _CJK.sub(r" \g<0> ", text).casefold())


def split_sentences(text: str, language: str = "en") -> list[str]:
    """Return the sentences of a text in order, trimmed, without empty ones.

    Args:
        text: one story; paragraphs end sentences.
        language: an ISO 639-1 code; unknown codes fall back to English rules, ``und`` to those of the script.
    """
    from sentencex import segment

    language = script_language(text) if language == UNKNOWN_LANGUAGE else language
    return [s for paragraph in text.splitlines() for part in segment(language, paragraph) if (s := part.strip())]


def folded(text: str) -> str:
    """Return a text without its differences of case, width and composition (NFKC, case folding)."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def lone_surrogate(text: str) -> str | None:
    r"""Return which half of a character stands alone in a text, and where, counted from 1; None if none does.

    >>> lone_surrogate("ab\ud83d"), lone_surrogate("ab")
    ('a lone surrogate, U+D83D, at character 3', None)
    """
    lone = _SURROGATE.search(text)
    return lone and f"a lone surrogate, U+{ord(lone[0]):04X}, at character {lone.start() + 1}"


def text_key(text: str) -> int:
    """Return a 64-bit key that texts share if they differ only in spaces, tabs and line breaks.

    For the stories of one row: an edit may change nothing but punctuation, and still be one to judge. Whether two rows
    have the same text is ``letters_key``'s question.
    """
    return xxh3_64_intdigest(text.encode("utf-8", "surrogatepass").translate(None, b" \t\n\r\v\f"))


def letters_key(text: str) -> int:
    """Return a 64-bit key that two rows' texts share if they are the same text: across splits, sets and near-copies.

    Texts are the same if they have the same letters and digits in the same order, whatever the case, the punctuation,
    the white space and the Unicode form. Texts with no letter or digit are the same by ``text_key``.

    >>> letters_key("It was n't `` late '' .") == letters_key("It wasn’t “LATE”!")
    True
    """
    letters = text
    if not text.isascii():
        letters = unicodedata.normalize("NFKC", text)
        for character in set(beyond_ascii(letters)):
            if (form := _letters_of(character)) != character:
                letters = letters.replace(character, form)
    kept = letters.encode("utf-8", "surrogatepass").translate(_LOWER, _NO_LETTER)
    return xxh3_64_intdigest(kept) if kept else text_key(text)


@cache
def _letters_of(character: str) -> str:
    return "".join(filter(str.isalnum, character.casefold()))


def words_key(words: Iterable[str]) -> int:
    """Return the ``letters_key`` of a text from its words in their order, folded and without punctuation."""
    return xxh3_64_intdigest("".join(words).encode("utf-8", "surrogatepass"))


def content_id(prefix: str, *parts: str) -> str:
    """Return a stable id that depends on the content alone: ``prefix-`` and 16 hexadecimal digits.

    Parts are length-prefixed before hashing, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    return f"{prefix}-{digest(*parts)[:16]}"


def digest(*parts: str) -> str:
    """Return 64 hexadecimal digits: SHA-256 over the length-prefixed texts in UTF-8."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hasher.update(len(data).to_bytes(8, "big") + data)
    return hasher.hexdigest()


def judged_texts(prompt: str, stories: Iterable[str]) -> str:
    """Return the digest of what a person judged: the premise and the stories, in the order of the group."""
    return digest(prompt, *stories)
