"""Recipes with one thing wrong each: one line that names the file, the setting, what is expected and what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from storyalign.benchmark.recipe import Recipe
from storyalign.errors import RecipeError
from storyalign.evaluation.story_writers import WriterRecipe, read_writer_recipe
from storyalign.preferences.recipe import PreferenceRecipe
from storyalign.settings import read_recipe

ROOT = Path(__file__).parents[1]


def changed(content: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    *sections, last = place.split("/")
    inner = content
    for name in sections:
        inner = inner[name]
    inner[last] = value
    return content


STORYRMB = [
    ("candidates/temperature", "hot", "candidates.temperature must be a number from 0 to 2 or null, got 'hot'"),
    ("candidates/temperature", 2.5, "candidates.temperature must be a number from 0 to 2 or null, got 2.5"),
    ("candidates/temperature", float("nan"), "candidates.temperature must be a number from 0 to 2 or null, got nan"),
    ("candidates/tempreature", 1, "candidates.tempreature is unknown; did you mean temperature?"),
    ("candidates/writers", "GPT-4o", "candidates.writers must be a list, got str"),
    ("candidates/writers", [1], "candidates.writers.0 must be a string, got int"),
    ("premises/seeds_per_call", "8", "premises.seeds_per_call must be an integer of 1 or more, got '8'"),
    ("premises/seeds_per_call", 0, "premises.seeds_per_call must be an integer of 1 or more, got 0"),
    ("premises/seeds_per_call", True, "premises.seeds_per_call must be an integer of 1 or more, got True"),
    ("premises/too_literal", 2, "premises.too_literal must be a number from 0 to 1, got 2"),
    ("settling/tau", "c", "settling.tau must be one of a, b, got 'c'"),
    ("seed", "x", "seed must be an integer, got 'x'"),
    ("endpoints/GPT-4o", None, "endpoints.GPT-4o must be a mapping, got null"),
    ("endpoints/GPT-4o/model", "", "endpoints.GPT-4o.model must be a string that is not empty, got an empty string"),
    ("endpoints/GPT-4o/price", {"prompt": 1}, "endpoints.GPT-4o.price.reply is missing"),
    ("endpoints/GPT-4o/price/reply", -1, "endpoints.GPT-4o.price.reply must be a number of 0 or more, got -1"),
    ("endpoints/GPT-4o/timeout", 0, "endpoints.GPT-4o.timeout must be a number above 0, got 0"),
    ("endpoints/GPT-4o/key_variable", 123456789, "endpoints.GPT-4o.key_variable must be a string or null, got int"),
    ("judges", {}, "judges is unknown; known are "),
]
PREFERENCES = [
    ("seed", "x", "seed must be an integer, got 'x'"),
    ("stories", [1], "stories.0 must be a string, got int"),
    ("mixx", {}, "mixx is unknown; did you mean mix?"),
    ("rewriting/temperature", "hot", "rewriting.temperature must be a number from 0 to 2 or null, got 'hot'"),
    ("rewriting/kinds/tone", "1", "rewriting.kinds.tone must be a number, got '1'"),
    ("rewriting/targets", 3, "rewriting.targets is unknown; did you mean target?"),
    ("rewriting/writers", 3, "rewriting.writers must be a list, got int"),
    ("guided_continuation/chosen", "both", "guided_continuation.chosen must be one of guided, human, got 'both'"),
    ("llm_pairs/pairings", [{"smaller": "llama_8b"}], "llm_pairs.pairings.0.larger is missing"),
    ("mix/total", "10", "mix.total must be an integer or null, got '10'"),
    ("mix/total", 10, "mix: targets add up to 46,000, more than total (10)"),
    ("back_generation", 7, "back_generation must be a mapping, got int"),
    ("endpoints/llama_8b", None, "endpoints.llama_8b must be a mapping, got null"),
]
WRITER = [
    ("n", 0, "n must be an integer of 1 or more, got 0"),
    ("n", "16", "n must be an integer of 1 or more, got '16'"),
    ("wrods", 3, "wrods is unknown; did you mean words?"),
    ("writer", "gpt", "writer must be a mapping, got str"),
    ("writer/temperature", "hot", "writer.temperature must be a number from 0 to 2 or null, got 'hot'"),
]
CASES = [
    *(("storyrmb.yaml", Recipe.from_mapping, *case) for case in STORYRMB),
    *(("preferences.yaml", PreferenceRecipe.from_mapping, *case) for case in PREFERENCES),
    *(("writers/best_of_n.yaml", None, *case) for case in WRITER),
]


@pytest.mark.parametrize(("name", "parse", "place", "value", "message"), CASES, ids=[f"{c[0]}-{c[4]}" for c in CASES])
def test_one_thing_wrong(name: str, parse: Any, place: str, value: Any, message: str, tmp_path: Path) -> None:
    recipe = yaml.safe_load((ROOT / "recipes" / name).read_text("utf-8"))
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump(changed(recipe, place, value)), encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        read_writer_recipe(path) if parse is None else read_recipe(path, parse)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_shipped_recipes_are_read() -> None:
    storyrmb = read_recipe(ROOT / "recipes/storyrmb.yaml", Recipe.from_mapping)
    assert storyrmb.candidates.writers == ("GPT-4o", "Gemini-2.5-Pro", "Grok-4", "Qwen-Long")
    assert (storyrmb.endpoints["GPT-4o"].price.reply, storyrmb.settling.tau) == (10.0, "a")
    preferences = read_recipe(ROOT / "recipes/preferences.yaml", PreferenceRecipe.from_mapping)
    assert preferences.llm_pairs is not None
    assert [pair.larger for pair in preferences.llm_pairs.pairings] == ["llama_70b", "r1_70b", "qwq_32b"]
    assert preferences.rewriters == ("llama_70b", "qwq_32b")
    writer = read_writer_recipe(ROOT / "recipes/writers/best_of_n.yaml")
    assert isinstance(writer, WriterRecipe)
    assert (writer.n, writer.words, writer.writer.seed) == (16, 800, 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "not valid YAML in UTF-8"), ("- a", "expected sections with settings"), (None, "cannot be read")],
)
def test_a_file_that_is_no_recipe(text: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(path, dict)


def test_several_wrong_settings_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("premises: {seeds_per_call: '8', wanted: 0}\nsettling: {tau: c}\nseed: x\n")
    with pytest.raises(RecipeError) as caught:
        read_recipe(path, Recipe.from_mapping)
    assert str(caught.value).count(" must be ") == 3
    assert str(caught.value).endswith("; and 1 more")
