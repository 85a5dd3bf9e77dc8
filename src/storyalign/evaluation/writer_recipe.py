"""Recipes for having stories written: how many, how long, by whom (``recipes/writers/*.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from storyalign.errors import DataError, RecipeError
from storyalign.llm.endpoint import Endpoint

_FIELDS = {"n", "words", "writer"}


@dataclass(frozen=True, slots=True)
class WriterRecipe:
    """What to have written."""

    n: int
    """Stories a premise."""
    words: int | None
    """The length to ask for; None sends the premise as it is."""
    endpoint: Endpoint

    def changed(self, *, n: int | None, words: int | None, url: str | None, model: str | None) -> WriterRecipe:
        """Give the recipe with what the user said on the command line."""
        endpoint = replace(self.endpoint, url=url or self.endpoint.url, model=model or self.endpoint.model)
        return WriterRecipe(n or self.n, words if words is not None else self.words, endpoint)


def read_writer_recipe(path: str | Path) -> WriterRecipe:
    """Read a recipe.

    Raises:
        DataError: the file cannot be read.
        RecipeError: a field is unknown, missing or wrong.
    """
    try:
        content = yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); see recipes/writers/best_of_n.yaml") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from error
    if not isinstance(content, Mapping) or set(content) - _FIELDS or not isinstance(content.get("writer"), Mapping):
        raise RecipeError(f"{path}: expected n, words and writer (url, model, ...), and nothing else")
    n, words = content.get("n", 16), content.get("words")
    for name, value in (("n", n), ("words", words)):
        if not (_is_count(value) or (name == "words" and value is None)):
            raise RecipeError(f"{path}: {name} is {value!r}; expected a whole number above 0")
    return WriterRecipe(n, words, Endpoint.from_recipe("writer", content["writer"]))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
