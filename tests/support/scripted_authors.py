"""A scripted endpoint that plays all parts of a construction: it invents premises, writes stories and rates them.

Every reply follows from the request alone, so an interrupted run and a whole one see the same.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import yaml

from storyalign.files import read_jsonl, write_jsonl
from storyalign.records import DIMENSIONS
from storyalign.text import digest, judged_texts
from tests.support.scripted_llm_server import prompt_of

WRITERS = ("writer-a", "writer-b", "writer-c", "writer-d")
JUDGES = ("judge-a", "judge-b", "judge-c", "judge-d")
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "dar", "fel", "gor", "hin", "jul")
_STORY = re.compile(r"\[story (\d+) begins (\w+)\]\n(.*?)\n\[story \1 ends \2\]", re.S)
_PREMISE = re.compile(r"\[(?:premise|seed) begins (\w+)\]\n(.*?)\n\[(?:premise|seed) ends \1\]", re.S)


def prose(seed: str, words: int) -> str:
    """Make words that no other seed makes in this order."""
    pick = random.Random(seed)
    return " ".join("".join(pick.choices(SYLLABLES, k=2)) for _ in range(words)).capitalize() + "."


def answer(body: dict[str, Any], _number: int = 0, story_words: int = 120) -> str:
    """Play the part that the prompt asks for."""
    said = prompt_of(body)
    if said.startswith("Invent "):
        count = int(said.split()[1])
        return json.dumps({"seeds": [prose(f"{digest(said)}/{body.get('seed')}/{n}", 12) for n in range(count)]})
    if said.startswith(("Here is a bare idea", "Here is the premise")):
        return prose(said[:20] + premise_in(said), 22)
    if said.startswith("You look through premises"):
        return json.dumps({"empty": False, "inconsistent": False, "sensitive": False})
    if said.startswith("Write a whole short story"):
        return prose(f"{body['model']}/{body.get('seed')}/{premise_in(said)}", story_words)
    shown = [(int(number), story) for number, _, story in _STORY.findall(said)]
    return json.dumps({"ratings": [{"story": n, **scores(body["model"], story)} for n, story in shown]})


def premise_in(said: str) -> str:
    found = _PREMISE.search(said)
    assert found is not None
    return found[2]


def scores(judge: str, story: str) -> dict[str, float]:
    """Rate a story: a quality of its own, some taste of the judge's, and a dimension in which it is strong."""
    quality = random.Random(story).uniform(3, 7.5)
    taste = random.Random(f"{judge}/{story}").uniform(-1.2, 1.2)
    strong = random.Random(f"strong/{story}").choice(DIMENSIONS)
    named = {name: round(quality + taste / 2 + (1.5 if name == strong else 0), 1) for name in DIMENSIONS}
    return {**named, "overall": round(quality + taste, 1)}


def write_recipe(folder: Path, url: str, **changes: Any) -> Path:
    """Write a recipe for the scripted endpoint; ``changes`` update its sections."""
    endpoint = {"url": url, "max_concurrency": 8, "first_pause": 0.01, "tries": 3, "price": {"prompt": 1, "reply": 2}}
    names = ("planner", *WRITERS, *JUDGES)
    recipe: dict[str, Any] = {
        "seed": 7,
        "endpoints": {name: {**endpoint, "model": f"{name}-1"} for name in names},
        "premises": {
            "endpoint": "planner", "check": "planner", "themes": "themes.yaml", "calls_per_theme": 1,
            "seeds_per_call": 2, "license": "cc0-1.0",
        },
        "human_premises": {"files": ["human.jsonl"], "wanted": 3},
        "candidates": {"writers": list(WRITERS), "human_llm_writers": list(WRITERS[:3]), "words": 120},
        "ratings": {"judges": list(JUDGES)},
        "settling": {},
    }  # fmt: skip
    for section, fields in changes.items():
        recipe[section] = {**recipe[section], **fields}
    themes = {
        "families": [
            {"label": "first", "about": "one thing", "themes": ["a", "b"]},
            {"label": "second", "about": "another", "themes": ["c"]},
        ],
        "turns": {"conflict": "a conflict.", "reversal": "a reversal."},
        "styles": ["plain", "dry"],
    }
    (folder / "themes.yaml").write_text(yaml.safe_dump(themes), encoding="utf-8")
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    return path


def write_human_stories(folder: Path, count: int, words: int = 130) -> None:
    write_jsonl(
        folder / "human.jsonl",
        (
            {
                "id": f"human-{n}", "prompt": prose(f"prompt/{n}", 15), "story": prose(f"human/{n}", words),
                "writer": "human", "corpus": "writingprompts", "language": "en", "license": "mit",
            }
            for n in range(count)
        ),
    )  # fmt: skip


def write_verdicts(out: Path, path: Path, unsure: int) -> None:
    """Judge all tasks: so many human stories ``unsure``, all else confirmed; groups to rank get the writers' order."""
    verdicts = []
    for line in read_jsonl(out / "tasks.jsonl"):
        task = line.row
        texts = judged_texts(task["prompt"], (candidate["story"] for candidate in task["candidates"]))
        row = {
            "id": task["id"],
            "texts": texts,
            "mode": task["mode"],
            "verdict": "confirmed",
            "ranking": task["ranking"],
        }
        if task["mode"] == "human-best":
            row["verdict"] = "unsure" if unsure > 0 else "confirmed"
            row["ranking"] = None if unsure > 0 else [task["human"]]
            unsure -= 1
        elif task["mode"] == "rank":
            row |= {"verdict": "reordered", "ranking": [3, 1, 0, 2]}
        verdicts.append(row)
    write_jsonl(path, verdicts)
