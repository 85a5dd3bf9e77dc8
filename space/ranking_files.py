"""A ranking as downloads: JSON with everything, CSV for a spreadsheet."""

from __future__ import annotations

import base64
import csv
import io
from typing import Any

import orjson
from ranking import RankedStory, Ranking

COLUMNS = (
    "place",
    "name",
    "reward",
    "beats_next",
    "words",
    "tokens",
    "sentences",
    "burstiness",
    "kurtosis",
    "truncated",
    "detail",
    "opening",
)


def ranking_row(story: RankedStory) -> dict[str, Any]:
    """Return one story of a ranking as plain values."""
    return {
        "place": story.place,
        "name": story.name,
        "reward": story.scored.reward,
        "beats_next": story.beats_next,
        "words": story.facts.words,
        "tokens": story.scored.n_tokens,
        "sentences": story.facts.sentences,
        "burstiness": story.facts.burstiness,
        "kurtosis": story.facts.kurtosis,
        "truncated": story.scored.truncated,
        "detail": story.scored.detail,
    }


def ranking_json(ranking: Ranking) -> bytes:
    """Write a ranking with all its texts as JSON."""
    value = {
        "premise": ranking.premise,
        "scorer": ranking.scorer,
        "signature": ranking.signature or None,
        "stories": [{**ranking_row(story), "story": story.text} for story in ranking.stories],
        "warnings": list(ranking.warnings),
    }
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def ranking_csv(ranking: Ranking) -> bytes:
    """Write a ranking as CSV with a byte-order mark (spreadsheets need it for Chinese) and openings of the stories."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS)
    writer.writeheader()
    for story in ranking.stories:
        row = {**ranking_row(story), "opening": " ".join(story.text.split())[:80]}
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return buffer.getvalue().encode("utf-8-sig")


def data_link(content: bytes, mime: str) -> str:
    """Put a file into a link of its own, so that the server keeps nothing of a visitor's."""
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _cell(value: Any) -> Any:
    """Keep a spreadsheet from running a text as a formula."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
