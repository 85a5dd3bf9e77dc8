"""Which numbers in a card's text are backed by a file, and which by nothing."""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

CONSTANTS = frozenset({*map(float, range(11)), 0.25, 0.5, 25.0, 50.0, 95.0, 100.0})
"""Numbers of the method, not of the data: small counts, chance among four and two, the level of intervals."""

_NUMBER = re.compile(r"(?<![\w.,:/@#$-])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w/:]|\.\d|-\w)", re.IGNORECASE)
_SKIP = re.compile(
    r"```.*?```|`[^`\n]*`"  # code
    r"|<!--.*?-->|</?[a-zA-Z][^>\n]*>"  # HTML
    r"|\]\([^)]*\)|https?://\S+"  # addresses
    r"|\b\d+(?:\.\d+){2,}\S*"  # versions
    r"|\b(?:19|20)\d\d-\d\d-\d\d\b|\b(?:19|20)\d\d\b(?!,\d)",  # dates and years
    re.DOTALL,
)


class LooseNumber(NamedTuple):
    """A number in the text that nothing stands behind."""

    number: str
    line: int
    context: str


def numbers_without_file(body: str, facts: Collection[float]) -> list[LooseNumber]:
    """Find the numbers of a card that no fact rounds to.

    A fact backs a number that it rounds to at the number's own decimals, as it is or as a percentage. Code, addresses,
    versions, years, list markers, and names with digits in them (``Qwen3-8B``) are no figures.

    Args:
        body: Markdown without the front matter.
        facts: all numbers that may be named.

    >>> numbers_without_file("1,133 instances, 74.2% right, 812 not", [1133, 0.742])
    [LooseNumber(number='812', line=1, context='1,133 instances, 74.2% right, 812 not')]
    """
    known = _known(facts)
    blanked = _SKIP.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), body)
    loose = []
    for number, (line, text) in enumerate(zip(blanked.split("\n"), body.split("\n"), strict=True), start=1):
        figures = re.sub(r"^\s*\d+[.)]\s", " ", line)
        for match in _NUMBER.finditer(figures):
            if not _backed(match.group(), known):
                loose.append(LooseNumber(match.group(), number, " ".join(text.split())[:80]))
    return loose


def values_without_file(values: Iterable[float], facts: Collection[float]) -> list[float]:
    """Find the values that no fact rounds to, as they are or as a percentage."""
    known = _known(facts)
    return [value for value in values if not _backed(str(value), known)]


def scalars(value: Any) -> Iterator[float]:
    """Give every number in a nested value, as JSON and YAML files hold them; lengths of lists count as well."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from scalars(item)
    elif isinstance(value, list | tuple):
        yield float(len(value))
        for item in value:
            yield from scalars(item)
    elif isinstance(value, str):
        yield from (float(found.replace(",", "")) for found in _NUMBER.findall(value))


def _known(facts: Collection[float]) -> list[float]:
    return sorted({*map(abs, facts), *(100 * abs(fact) for fact in facts), *CONSTANTS})


def _backed(number: str, known: list[float]) -> bool:
    plain = number.replace(",", "").rstrip(".")
    value = abs(float(plain))
    decimals = len(plain.partition(".")[2]) if "e" not in plain.lower() else 12
    half = 0.5 * 10.0**-decimals + 1e-9
    at = bisect.bisect_left(known, value - half)
    return at < len(known) and known[at] <= value + half
