"""The language of a text, for corpora that do not say it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from storyalign.errors import MissingExtraError
from storyalign.text import UNKNOWN_LANGUAGE

LANGUAGES = ("en", "zh", "ja", "ko", "de", "es", "fr", "it", "nl", "pl", "pt", "ru")
"""What is told apart; each more costs time and memory."""

LOOKED_AT = 300
"""Characters from the beginning of a text that are enough to tell these languages apart."""

_HAN = re.compile("[\u3400-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7af]")


def detect_language(text: str) -> str:
    """Return the language of a text: an ISO 639-1 code of ``LANGUAGES``, or ``und``.

    Scripts that only one language uses decide at once; lingua tells the others apart.

    >>> detect_language("她在海边等了一夜。")
    'zh'

    Raises:
        MissingExtraError: lingua is not installed.
    """
    head = text[:LOOKED_AT]
    if not any(character.isalpha() for character in head):
        return UNKNOWN_LANGUAGE
    if not head.isascii():
        han, kana, hangul = (len(script.findall(head)) for script in (_HAN, _KANA, _HANGUL))
        if (han + kana + hangul) * 5 > len(head):
            if hangul > han + kana:
                return "ko"
            return "ja" if kana * 10 > han + kana else "zh"
    found = _detector().detect_language_of(head)
    return UNKNOWN_LANGUAGE if found is None else str(found.iso_code_639_1.name).lower()


@cache
def _detector() -> Any:
    try:
        from lingua import IsoCode639_1, LanguageDetectorBuilder
    except ModuleNotFoundError as error:
        raise MissingExtraError("construct", "lingua-language-detector") from error
    codes = [getattr(IsoCode639_1, code.upper()) for code in LANGUAGES]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*codes).with_low_accuracy_mode().build()
