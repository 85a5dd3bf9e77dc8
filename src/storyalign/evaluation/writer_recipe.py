"""Recipes for having stories written: how many, how long, by whom (``recipes/writers/*.yaml``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from storyalign.llm.endpoint import Endpoint
from storyalign.settings import Count, checked, from_entry, read_recipe


@checked
@dataclass(frozen=True, slots=True)
class WriterRecipe:
    """What to have written."""

    writer: Endpoint
    n: Count = 16
    """Stories a premise."""
    words: Count | None = None
    """The length to ask for; None sends the premise as it is."""

    def changed(self, *, n: int | None, words: int | None, url: str | None, model: str | None) -> WriterRecipe:
        """Return the recipe with what the user said on the command line."""
        writer = replace(self.writer, url=url or self.writer.url, model=model or self.writer.model)
        return WriterRecipe(writer, n or self.n, words if words is not None else self.words)


def read_writer_recipe(path: str | Path) -> WriterRecipe:
    """Read a recipe.

    Raises:
        RecipeError: the file cannot be read, or a setting is unknown, missing or wrong.
    """
    return read_recipe(path, lambda content: from_entry(WriterRecipe, content))
