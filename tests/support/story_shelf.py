"""A small Douban-style export: titles, abstracts, genres, author columns, reads; English and Chinese."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

from storyalign.files import write_jsonl

NOUNS = "lamp letter harbour clock orchard ferry violin snow map bridge mirror kettle tower sparrow coat well".split()  # noqa: SIM905
VERBS = "kept lost mended sold hid painted carried buried counted followed opened burnt".split()  # noqa: SIM905
NAMES = "Ada Bruno Clara Dmitri Edda Farid Gerda Hugo Ines Jonas".split()  # noqa: SIM905
ZH = "守灯人把信收进抽屉海面很平静他听见钟声从远处传来雪落在旧桥上她没有回头船在雾里慢慢走远"
GENRES = ("mystery", "romance", "science fiction")


def english(seed: str, paragraphs: int = 8) -> str:
    pick = random.Random(seed)

    def sentence() -> str:
        name, verb, noun, other = pick.choice(NAMES), pick.choice(VERBS), pick.choice(NOUNS), pick.choice(NOUNS)
        day = pick.randrange(1000)
        return f"{name} {verb} the {noun} of day {day} beside the {other}, and nobody asked {pick.choice(NAMES)} why."

    return "\n\n".join(" ".join(sentence() for _ in range(4)) for _ in range(paragraphs))


def chinese(seed: str, paragraphs: int = 8) -> str:
    pick = random.Random(seed)
    return "\n\n".join("。".join("".join(pick.choices(ZH, k=14)) for _ in range(5)) + "。" for _ in range(paragraphs))


def story_row(number: int, **changes: Any) -> dict[str, Any]:
    zh = number % 4 == 3
    text = chinese(f"story {number}") if zh else english(f"story {number}")
    row = {
        "id": f"shelf-{number}",
        "prompt": "",
        "story": text,
        "title": f"第{number}夜" if zh else f"Night {number}",
        "abstract": f"第{number}个守灯人的故事。" if zh else f"What keeper {number} saw, and whom the keeper told.",
        "category": GENRES[number // 4 % len(GENRES)],
        "author_key": f"author-{number % 7}",
        "engagement": float(3 ** (number % 9)),
        "engagement_kind": "reads",
        "corpus": "shelf",
        "language": "zh" if zh else "en",
        "license": "cc-by-4.0",
    }
    return {**row, **changes}


def write_shelf(path: Path, count: int) -> Path:
    write_jsonl(path, (story_row(number) for number in range(count)))
    return path


def write_export(path: Path, count: int) -> Path:
    """The same stories as the platform would export them: a CSV with its own columns."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        table = csv.writer(handle)
        table.writerow(["title", "abstract", "content", "category", "author", "reads"])
        for row in map(story_row, range(count)):
            reads = f"{int(row['engagement']):,}"
            table.writerow([row[k] for k in ("title", "abstract", "story", "category", "author_key")] + [reads])
    return path
