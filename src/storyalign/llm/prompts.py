"""The prompts, one text file each in ``prompts/``, and filling them without touching what is filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from storyalign.errors import RecipeError
from storyalign.text import digest

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template; ``{name}`` marks a place to fill."""

    name: str
    template: str

    @property
    def digest(self) -> str:
        """Hash of the template's text; part of every signature."""
        return digest(self.template)

    def fill(self, **values: str) -> str:
        """Put the values in, in one pass: braces, ``$1`` or ``%s`` inside a value stay as they are.

        Raises:
            RecipeError: template and values do not name the same places.
        """
        wanted = set(_PLACEHOLDER.findall(self.template))
        if wanted != set(values):
            raise RecipeError(f"prompt {self.name}: places {sorted(wanted)} against values {sorted(values)}")
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.template)


@cache
def load_prompt(name: str) -> Prompt:
    """Load ``prompts/<name>.txt``."""
    return Prompt(name, files(__package__).joinpath("prompts", f"{name}.txt").read_text("utf-8"))


def fence_tag(texts: Sequence[str]) -> str:
    """Return a short tag that stands in none of the texts, always the same one for the same texts.

    Text blocks are fenced with it, so that no story can close its own block or open another.
    """
    material = digest(*texts)
    round_number = 0
    while any((tag := digest(material, str(round_number))[:8]) in text for text in texts):
        round_number += 1
    return tag


def fenced(title: str, text: str, tag: str) -> str:
    """Set a text, unchanged, between two fences that carry the tag."""
    return f"[{title} begins {tag}]\n{text}\n[{title} ends {tag}]"


def rating_request(premise: str, story: str) -> str:
    """Ask for one score from 1 to 10 for one story."""
    tag = fence_tag((premise, story))
    return load_prompt("rate_story").fill(premise=fenced("premise", premise, tag), story=fenced("story", story, tag))


def criteria_request(premise: str, story: str) -> str:
    """Ask for six scores from 1 to 5 for one story."""
    tag = fence_tag((premise, story))
    return load_prompt("rate_story_by_criteria").fill(
        premise=fenced("prompt", premise, tag), story=fenced("story", story, tag)
    )


def ratings_request(premise: str, stories: Sequence[str]) -> str:
    """Ask for ratings of all stories of a group; they are shown in the given order and numbered from 1."""
    return _group_request("rate_group", premise, stories)


def choice_request(premise: str, stories: Sequence[str]) -> str:
    """Ask which story is best; they are shown in the given order and numbered from 1."""
    return _group_request("choose_best_story", premise, stories)


def writing_request(premise: str, words: int | None) -> str:
    """Ask for one story of about so many words; without a number the premise alone is sent, as it says all itself."""
    if words is None:
        return premise
    return load_prompt("write_story").fill(words=str(words), premise=fenced("idea", premise, fence_tag([premise])))


def schema(name: str, properties: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """Make the ``response_format`` of a strict JSON schema; all properties are required."""
    body = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": body}}


def _group_request(prompt: str, premise: str, stories: Sequence[str]) -> str:
    tag = fence_tag((premise, *stories))
    shown = "\n\n".join(fenced(f"story {n}", story, tag) for n, story in enumerate(stories, start=1))
    return load_prompt(prompt).fill(premise=fenced("premise", premise, tag), stories=shown, count=str(len(stories)))
