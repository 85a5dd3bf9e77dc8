"""The pool of premises: filters with reasons, human review, and the premises that come with a story."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from storyalign.benchmark.recipe import Recipe
from storyalign.corpus.duplicates import TextIndex
from storyalign.files import Line
from storyalign.llm.steps import Dropped, Row
from storyalign.records import BadRow
from storyalign.text import UNKNOWN_LANGUAGE, content_id, count_words, distinct_words, judged_texts

KEPT = ("family", "theme", "turn", "style", "seed", "made_by")
"""What a premise remembers of its way."""


def filter_premises(rows: Iterable[Row], recipe: Recipe, verdicts: Mapping[str, bool]) -> Iterator[Row | Dropped]:
    """Keep what can carry a story; every other row gets its reason.

    Args:
        rows: premises with ``prompt``, and where known ``plain`` (the wording before restyling) and ``faults``.
        recipe: the bounds.
        verdicts: whether people keep a premise, by the digest of its text (``reviewed_text``); the others stay.
    """
    settings = recipe.premises
    index = TextIndex(settings.near_duplicate)
    passed: list[Row] = []
    for row in rows:
        reason = _fault(row, recipe) or (None if verdicts.get(reviewed_text(row), True) else "rejected by a person")
        if reason is None and (match := index.find_or_add(row["id"], row["prompt"])) is not None:
            reason = f"{'exact' if match.exact else 'near'} duplicate of {match.key}"
        if reason is None:
            passed.append(_pool_row(row, recipe))
        else:
            yield Dropped(row["id"], reason)
    wanted = {row["id"] for row in evenly(passed, settings.wanted)}
    for row in passed:
        yield row if row["id"] in wanted else Dropped(row["id"], "more than wanted")


def _fault(row: Row, recipe: Recipe) -> str | None:
    settings, text = recipe.premises, row["prompt"]
    words = count_words(text)
    if words < settings.fewest_words:
        return "empty: fewer words than a premise needs"
    if words > 2 * settings.most_words:
        return "too long"
    for fault in row.get("faults", ()):
        return str(fault)
    plain = row.get("plain")
    if plain is not None and _overlap(plain, text) >= settings.too_literal:
        return "too literal: restyling changed next to nothing"
    return None


def _overlap(first: str, second: str) -> float:
    one, other = distinct_words(first), distinct_words(second)
    return len(one & other) / max(len(one | other), 1)


def _pool_row(row: Row, recipe: Recipe) -> Row:
    settings = recipe.premises
    return {
        "id": row["id"],
        "prompt": row["prompt"],
        "source": "llm_llm",
        "corpus": row.get("corpus") or "llm_premises",
        "language": row.get("language") or settings.language,
        "license": row.get("license") or settings.license,
        **{key: row[key] for key in KEPT if key in row},
    }


def evenly(rows: list[Row], wanted: int | None) -> list[Row]:
    """Take so many rows, family by family in turn, each in the order given."""
    if wanted is None or len(rows) <= wanted:
        return rows
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row.get("family", "")].append(row)
    taken: list[Row] = []
    place = 0
    while len(taken) < wanted:
        taken += [members[place] for members in families.values() if place < len(members)]
        place += 1
    return taken[:wanted]


def own_premise(row: Mapping[str, Any]) -> Row:
    """Take a premise from a file: ``prompt``, and where they are there id, family, language, licence and corpus.

    Raises:
        BadRow: the row has no prompt.
    """
    prompt = row.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise BadRow("prompt is missing or empty")
    known = {key: row[key] for key in (*KEPT, "corpus", "language", "license") if row.get(key) is not None}
    own = row.get("id")
    row_id = content_id("premise", prompt) if own in (None, "") else str(own)
    return {"id": row_id, "prompt": prompt.strip(), **known}


def human_premises(read: Callable[[], Iterable[Row]], recipe: Recipe) -> Iterator[Row | Dropped]:
    """Draw premises that come with a story by a person; of several stories for one premise, the first.

    Args:
        read: opens the human stories, with ``id``, ``prompt``, ``story``, ``writer``, ``corpus``, ``language`` and
            ``license``. They are read twice, so that memory holds no story.
        recipe: how many, and how short a story may be.
    """
    settings = recipe.human_premises
    index = TextIndex(recipe.premises.near_duplicate)
    reasons: dict[str, str] = {}
    passed: list[tuple[int, str]] = []
    for row in read():
        if not str(row.get("prompt") or "").strip():
            reasons[row["id"]] = "no premise"
        elif count_words(row["story"]) < settings.fewest_words:
            reasons[row["id"]] = f"human story under {settings.fewest_words} words"
        elif (match := index.find_or_add(row["id"], row["prompt"])) is not None:
            reasons[row["id"]] = f"{'exact' if match.exact else 'near'} duplicate of {match.key}"
        else:
            passed.append((recipe.seed_for("human", row["id"]), row["id"]))
    drawn = {row_id for _, row_id in sorted(passed)[: settings.wanted]}
    for row in read():
        if row["id"] in drawn:
            yield _human_row(row)
        else:
            yield Dropped(row["id"], reasons.get(row["id"], "not drawn"))


def _human_row(row: Row) -> Row:
    return {
        "id": row["id"],
        "prompt": row["prompt"],
        "source": "human_llm",
        "human_story": row["story"],
        "human_writer": row.get("writer") or "human",
        "corpus": row.get("corpus") or "unknown",
        "language": row.get("language") or UNKNOWN_LANGUAGE,
        "license": row.get("license") or "unknown",
        "author_key": row.get("author_key"),
    }


def review_sheet(rows: Iterable[Row], seed: int) -> list[dict[str, str]]:
    """Return the rows of a table for people who look through premises: an empty ``keep`` to fill with yes or no.

    ``texts`` is the digest of the very premise that is looked at.
    """
    sheet = [
        {
            "id": row["id"],
            "family": row.get("family", ""),
            "premise": _cell(row["prompt"]),
            "keep": "",
            "note": "",
            "texts": reviewed_text(row),
        }
        for row in rows
    ]
    random.Random(seed).shuffle(sheet)  # so that nobody tires of the same family at the end
    return sheet


def reviewed_text(row: Row) -> str:
    """Return the digest of a premise's text: an answer about it meets no other premise."""
    return judged_texts(row["prompt"], ())


def _cell(text: str) -> str:
    """Keep a spreadsheet from running a text that looks like a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def review_verdicts(lines: Iterable[Line]) -> dict[str, bool]:
    """Read a filled-in table: rows that nobody filled in say nothing.

    Returns:
        Whether to keep a premise, by the digest of its text.

    Raises:
        RowError: a column is missing, ``keep`` is neither yes nor no, or a premise has both; names file and line.
    """
    verdicts: dict[str, bool] = {}
    for line in lines:
        if missing := {"id", "keep", "texts"} - set(line.row):
            raise line.error(f"no column {' and '.join(sorted(missing))}; found {', '.join(line.row)}")
        word, premise = str(line.row["keep"]).strip().lower(), str(line.row["texts"]).strip()
        if not word:
            continue
        if word not in _YES and word not in _NO:
            raise line.error(f"keep is {word!r}; write yes or no, or leave it empty")
        if not premise:
            raise line.error("texts is empty, the digest of the reviewed premise; fill in a new to_review.csv")
        if verdicts.setdefault(premise, word in _YES) != (word in _YES):
            raise line.error("an earlier row of the same premise has the other answer")
    return verdicts


_YES, _NO = ("yes", "y", "1", "true", "keep"), ("no", "n", "0", "false", "drop")
