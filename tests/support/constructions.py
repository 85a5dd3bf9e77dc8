"""A scripted writer and judge for whole runs of ``storyalign construct``, and the recipe that names it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from tests.support.scripted_llm_server import prompt_of
from tests.support.story_shelf import chinese, english

_WORDS = re.compile(r"about (\d+) words")
_PART = re.compile(r"\[part begins (\w+)\]\n(.*?)\n\[part ends \1\]", re.S)


def clever(body: dict[str, Any], _number: int = 0) -> str:
    """Write what the prompt asks for; the text depends on the request alone, so a second run gets the same one."""
    asked = prompt_of(body)
    seed = f"{body['model']}/{body.get('seed')}/{asked}"
    if "Decide which story a demanding reader" in asked:
        return judge(asked)
    if part := _PART.search(asked):
        paragraphs = part[2].split("\n\n")
        paragraphs[0] = f"Edited {len(paragraphs[0])}. " + " ".join(reversed(paragraphs[0].split(" ")))
        return "\n\n".join(paragraphs)
    if "Think of a writing premise" in asked:
        return f"A keeper who trusts nobody, a night like no other, and a debt: {english(seed, 1)[:60]}."
    words = int(_WORDS.findall(asked)[-1])
    is_chinese = len(re.findall("[一-鿿]", asked)) > 100
    return chinese(seed, max(2, words // 75)) if is_chinese else english(seed, max(2, words // 75))


def judge(asked: str) -> str:
    """Prefer the story that is first in the alphabet, but for every fifth pair the one that stands first."""
    stories = re.findall(r"\[story \d begins (\w+)\]\n(.*?)\n\[story \d ends \1\]", asked, re.S)
    texts = [text for _, text in stories]
    if sum(map(len, texts)) % 5 == 0:
        return '{"best": 1}'
    return f'{{"best": {1 + texts.index(min(texts))}}}'


def write_recipe(path: Path, url: str, *stories: Path, **sections: Any) -> Path:
    """Write a small recipe with all four constructions."""
    fast = {"url": url, "tries": 2, "first_pause": 0.05, "timeout": 60.0, "max_concurrency": 8}
    recipe = {
        "stories": list(map(str, stories)),
        "endpoints": {name: {**fast, "model": name} for name in ("small", "large", "other")},
        "back_generation": {"endpoint": "large", "target": 12, "min_ratio": 2.0, "min_count": 3},
        "rewriting": {"writers": ["large", "other"], "target": 20, "per_story": 2},
        "guided_continuation": {"writers": ["large", "other"], "target": 10},
        "llm_pairs": {
            "target": 12,
            "words": 200,
            "min_words": 60,
            "pairings": [{"smaller": "small", "larger": "large"}],
        },
        "mix": {"targets": {"rewriting": 16}, "total": None, "validation_share": 0.1},
        **sections,
    }
    path.write_text(yaml.safe_dump(recipe, allow_unicode=True), encoding="utf-8")
    return path
